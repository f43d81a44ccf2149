"""The kinds of input: how each is drawn from a number, and by which commands it is read.

A kind writes its files into an empty folder and gives the arguments of one command. The seeds
stand in `corpus`; those of Parquet and of manifests are made of them.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutate import bytes_of, cell_of, document_of, text_of

CORPUS = Path(__file__).parent / "corpus"
SPECS = ("permuted", "generalized", "redistributed", "split")  # there is a release of each
KEYS = ("labelled", "weighted", "households", "barred", "coded", "likely", "parted", "composed")
"""Specs of what came later, each with keys of its own."""
_MEASURED = (
    *("measure", "people.csv", "--qi", "age,town", "--sensitive", "wage"),
    *("--model", "{model: l-diversity, variant: distinct, l: 1}"),
)


_OUTSIDE = re.compile(rb"(uri: ['\"]?)(?=[/.~]|file:)")
"""Where a spec leaves its folder: no input publishes there."""


@dataclass(frozen=True)
class Case:
    """One input: the mutated file, and the command that is to read it."""

    file: str
    arguments: tuple[str, ...]


def read(name: str) -> str:
    """A seed's text."""
    return (CORPUS / name).read_text(encoding="utf-8")


def _seeds(folder: Path) -> None:
    for path in CORPUS.iterdir():
        shutil.copyfile(path, folder / path.name)


def _table(name: str, rng: Random) -> bytes:
    """A table of text with another cell or other bytes."""
    separator = ";" if name == "semicolons.csv" else ","
    if rng.random() < 0.6:
        return cell_of(read(name), rng, separator).encode("utf-8", "surrogatepass")
    return bytes_of((CORPUS / name).read_bytes(), rng)


def csv(folder: Path, rng: Random, _releases: Path) -> Case:
    """A source in CSV, read as declared or measured as it is."""
    _seeds(folder)
    file, spec = rng.choice([("people.csv", "permuted"), ("semicolons.csv", "split")])
    (folder / file).write_bytes(_table(file, rng))
    if file == "people.csv" and rng.random() < 0.5:
        return Case(file, _MEASURED)
    return Case(file, ("release", f"{spec}.yaml"))


def parquet(folder: Path, rng: Random, _releases: Path) -> Case:
    """A source in Parquet: of other types, with other columns, or damaged."""
    from tests.fuzz.tables import parquet_of

    _seeds(folder)
    (folder / "people.parquet").write_bytes(parquet_of(read("people.csv"), rng))
    if rng.random() < 0.5:
        return Case("people.parquet", ("measure", "people.parquet", *_MEASURED[2:]))
    spec = read("permuted.yaml").replace("people.csv", "people.parquet, format: parquet")
    (folder / "permuted.yaml").write_text(spec, encoding="utf-8")
    return Case("people.parquet", ("release", "permuted.yaml"))


def spec(folder: Path, rng: Random, _releases: Path) -> Case:
    """A release spec: another document, or another text."""
    import yaml

    from tests.fuzz.tables import write_parquet

    _seeds(folder)
    seed = rng.choice(SPECS + KEYS)
    name = f"{seed}.yaml"
    if seed == "parted":  # parts are read from Parquet alone
        write_parquet(folder / "homes.csv", folder / "homes.parquet")
    if rng.random() < 0.7:
        document = document_of(yaml.safe_load(read(name)), rng)
        content = yaml.safe_dump(document, allow_unicode=True, sort_keys=False).encode()
    elif rng.random() < 0.5:
        others = [read(f"{other}.yaml") for other in SPECS + KEYS]
        content = text_of(read(name), rng, others).encode("utf-8", "surrogatepass")
    else:
        content = bytes_of(read(name).encode(), rng)
    (folder / name).write_bytes(_OUTSIDE.sub(rb"\1here", content))
    return Case(name, ("release", name))


def manifest(folder: Path, rng: Random, releases: Path) -> Case:
    """A release's manifest, sealed again or not, and another of its files at times."""
    from sfumato.tasks.publication.manifest import digest

    shutil.copytree(releases / rng.choice(SPECS), folder / "release")
    path = folder / "release" / "datapackage.json"
    path.chmod(0o644)
    if rng.random() < 0.2:
        path.write_bytes(bytes_of(path.read_bytes(), rng))
    else:
        path.write_bytes(_reseal(json.loads(path.read_bytes()), rng, digest))
    if rng.random() < 0.3:
        other = rng.choice([p for p in sorted(path.parent.rglob("*")) if p.is_file()])
        other.chmod(0o644)
        other.write_bytes(bytes_of(other.read_bytes(), rng))
    query = ("query", "release", "SELECT town, COUNT(*), SUM(wage) FROM microdata GROUP BY town")
    return Case("release/datapackage.json", query if rng.random() < 0.5 else ("check", "release"))


def _reseal(document: Any, rng: Random, digest: Callable[[Any], str]) -> bytes:
    from sfumato.tasks.schema.files import canonical_json

    document = document_of(document, rng)
    if rng.random() < 0.8:
        try:
            document["sfumato"]["digest"] = digest(document)
            return canonical_json(document)
        except Exception:  # noqa: BLE001 - what cannot be sealed stays as it is
            pass
    return json.dumps(document).encode("utf-8", "surrogatepass")


def sql(folder: Path, rng: Random, releases: Path) -> Case:
    """A query, answered or rewritten for a database."""
    queries = read("queries.sql").splitlines()
    text = text_of(rng.choice(queries), rng, queries, 2)
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    dialect = rng.choice(["duckdb", "postgres", "sqlite", "mariadb"])
    rewriting = ("--rewrite", dialect) if rng.random() < 0.5 else ()
    release = releases / rng.choice(SPECS)
    (folder / "query.sql").write_text(text, encoding="utf-8", newline="")
    return Case("query.sql", ("query", str(release), "--file", "query.sql", *rewriting))


def hierarchy(folder: Path, rng: Random, _releases: Path) -> Case:
    """A hierarchy's file, shown, or used in a release."""
    _seeds(folder)
    (folder / "towns.csv").write_bytes(_table("towns.csv", rng))
    if rng.random() < 0.6:
        return Case("towns.csv", ("hierarchy", "generalized.yaml", "--column", "town"))
    return Case("towns.csv", ("release", "generalized.yaml"))


def target(folder: Path, rng: Random, _releases: Path) -> Case:
    """The file of a declared distribution."""
    _seeds(folder)
    seed = rng.choice(["target.csv", "target-by-band.csv"])
    (folder / "target.csv").write_bytes(_table(seed, rng))
    return Case("target.csv", ("release", "redistributed.yaml"))


Kind = Callable[[Path, Random, Path], Case]
KINDS: Mapping[str, Kind] = {
    "csv": csv,
    "parquet": parquet,
    "spec": spec,
    "manifest": manifest,
    "sql": sql,
    "hierarchy": hierarchy,
    "target": target,
}
