"""The tiny releases of the specification of the release format, valid ones and refused ones.

    python -m tests.guide.format_examples

writes them into the archive beside the specification, and prints their digests. The examples are
part of a published text: they are made again only when the text changes.
"""

import gzip
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from sfumato.tasks.forms.composed import form_named
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import software
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_parquet, read_tables, write_table
from sfumato.tasks.terms.terms import Declared
from sfumato.tasks.verification.integrity import digest
from tests.corpus.archives import extract
from tests.corpus.lines import CORPUS
from tests.guide.page import PAGES

FOLDER = PAGES / "reference" / "release-format"
ARCHIVE, PAGE = FOLDER / "examples.tar.gz", FOLDER / "examples.md"
EXPECTED = "expected.json"
_QUASI = ["age", "town"]
Rows = Mapping[str, list[tuple[Any, ...]]]
Row = dict[str, Any]


def column(name: str, role: str, type_: str, **more: Any) -> dict[str, Any]:
    """Return a column as a manifest has it."""
    return {"name": name, "role": role, "type": type_, "nulls": False, **more}


AGE = column("age", "quasi-identifier", "integer")
TOWN = column("town", "quasi-identifier", "string")
ILLNESS = column("illness", "sensitive", "string")
WAGE = column("wage", "sensitive", "decimal", scale=2)
HOURS = column("hours", "sensitive", "integer")
TOWNS = [["Alton", "north", "*"], ["Bury", "north", "*"], ["Cale", "south", "*"]]
YEARS = {**AGE, "hierarchy": {"intervals": [10, 20]}}


def promise(model: str, **parameters: Any) -> dict[str, Any]:
    """Return a promise as a manifest has it."""
    return {"model": model, "quasi-identifiers": _QUASI, **parameters}


def about_age(model: str, **parameters: Any) -> dict[str, Any]:
    """Return a promise about one quasi-identifier."""
    return {"model": model, "quasi-identifiers": ["age"], **parameters}


KINDS = [["flu", "breath", "*"], ["asthma", "breath", "*"], ["burn", "injury", "*"]]
EXAMPLES: Mapping[str, tuple[dict[str, Any], Rows]] = {
    "generalized": (
        {
            "columns": [YEARS, {**TOWN, "hierarchy": TOWNS}, ILLNESS],
            "promises": [
                promise("k-anonymity", k=3, sensitive="illness"),
                promise("l-diversity", variant="distinct", l=2, sensitive="illness"),
                promise("l-diversity", variant="entropy", l="1.8", sensitive="illness"),
                promise("l-diversity", variant="recursive", l=2, c=3, sensitive="illness"),
                promise("t-closeness", t="0.17", distance="equal", sensitive="illness"),
                promise("alpha-k", alpha="0.7", k=3, sensitive="illness"),
                promise("beta-likeness", beta=1, variant="enhanced", sensitive="illness"),
            ],
            "partition": {
                "method": "full-domain",
                "metric": "ncp",
                "suppression": 0,
                "suppressed": "drop",
            },
            "form": {"method": "generalized"},
        },
        {
            "microdata": [
                ("30-39", "north", "flu"),
                ("30-39", "north", "flu"),
                ("30-39", "north", "asthma"),
                ("40-49", "*", "flu"),
                ("40-49", "*", "asthma"),
                ("40-49", "*", "burn"),
            ]
        },
    ),
    "policy": (
        {
            "columns": [{**YEARS, "top": "40"}, {**TOWN, "hierarchy": TOWNS}, ILLNESS],
            "promises": [
                promise("k-anonymity", k=3, sensitive="illness"),
                promise("l-diversity", variant="distinct", l=2, sensitive="illness"),
            ],
            "partition": {
                "method": "full-domain",
                "metric": "ncp",
                "suppression": 0,
                "suppressed": "drop",
            },
            "form": {"method": "generalized"},
            "policy": {
                "name": "house-rules",
                "date": "2026-11-29",
                "sha256": "0" * 64,
                "rules": [
                    {"rule": "forms", "allowed": ["generalized", "suppressed"]},
                    {"rule": "highest-risk", "at-most": "0.34"},
                    {
                        "rule": "columns",
                        "kinds": {
                            "ages": {"shown": "ages", "at-most": 39, "meaning": "ages"},
                            "other": {"shown": "any", "meaning": "all other columns"},
                        },
                    },
                ],
                "columns": {"age": "ages", "town": "other", "illness": "other"},
            },
        },
        {
            "microdata": [
                ("30-39", "north", "flu"),
                ("30-39", "north", "flu"),
                ("30-39", "north", "asthma"),
                ("40-49", "*", "flu"),
                ("40-49", "*", "asthma"),
                ("40-49", "*", "burn"),
            ]
        },
    ),
    "suppressed": (
        {
            "columns": [AGE, {**TOWN, "nulls": True}, ILLNESS],
            "promises": [
                promise("k-anonymity", k=2, sensitive="illness"),
                promise("l-diversity", variant="distinct", l=2, sensitive="illness"),
            ],
            "partition": {"method": "forest"},
            "form": {"method": "suppressed", "linked": []},
            "formats": ["parquet", "csv"],
        },
        {
            "microdata": [
                ("34", "*", "flu"),
                ("34", "*", "asthma"),
                ("*", None, "burn"),
                ("*", None, 'a "b", c'),
            ]
        },
    ),
    "permuted": (
        {
            "columns": [AGE, TOWN, WAGE],
            "promises": [promise("ke-anonymity", k=3, e="100.5", sensitive="wage")],
            "partition": {"method": "ke", "objective": "sum"},
            "form": {"method": "permuted", "sensitive": "independent"},
            "formats": ["parquet", "csv"],
        },
        {
            "microdata": [
                (34, "Alton", "100.50", 0),
                (31, "Bury", "250.00", 0),
                (38, "Alton", "201.00", 0),
                (45, "Cale", "900.00", 1),
                (41, "Alton", "120.25", 1),
                (45, "Bury", "333.10", 1),
            ]
        },
    ),
    "split": (
        {
            "columns": [AGE, TOWN, ILLNESS, HOURS],
            "promises": [
                promise("l-diversity", variant="distinct", l=2, sensitive="illness"),
                promise("t-closeness", t="0.25", distance="ordered", sensitive="hours"),
            ],
            "partition": {"method": "anatomy"},
            "form": {"method": "split", "sensitive": "independent"},
        },
        {
            "qit": [
                (34, "Alton", 0),
                (31, "Bury", 0),
                (38, "Alton", 0),
                (45, "Cale", 1),
                (41, "Alton", 1),
                (45, "Bury", 1),
            ],
            "st_illness": [(0, "flu", 2), (0, "asthma", 1), (1, "flu", 2), (1, "burn", 1)],
            "st_hours": [(0, 20, 1), (0, 40, 2), (1, 20, 1), (1, 30, 1), (1, 40, 1)],
        },
    ),
    "ambiguous": (
        {
            "columns": [AGE, TOWN, ILLNESS],
            "promises": [
                promise(
                    "alpha-beta",
                    alpha="0.7",
                    beta="0.5",
                    presence="combined",
                    sensitive="illness",
                )
            ],
            "partition": {"method": "disjoint-cover", "residue": "refuse"},
            "form": {"method": "ambiguous", "sensitive": "independent"},
        },
        {
            "at_age": [(31, 0), (34, 0), (38, 0), (34, 1), (41, 1), (45, 1)],
            "at_town": [
                ("Alton", 0),
                ("Bury", 0),
                ("Cale", 0),
                ("Alton", 1),
                ("Bury", 1),
                ("Dover", 1),
            ],
            "st": [
                (0, "asthma", 1),
                (0, "flu", 1),
                (0, "burn", 1),
                (1, "flu", 1),
                (1, "asthma", 1),
                (1, "burn", 1),
            ],
        },
    ),
    "redistributed": (
        {
            "columns": [AGE, TOWN, HOURS],
            "promises": [
                promise(
                    "p-privacy", target="uniform", per="stratum", tolerance=0, sensitive="hours"
                ),
                promise("t-closeness", t=0, distance="ordered", sensitive="hours"),
            ],
            "partition": {"method": "stratum"},
            "form": {
                "method": "redistributed",
                "tree": "balanced",
                "arity": 2,
                "denominator": 16,
                "fakes": 0,
            },
        },
        {
            "qit": [(34, "Alton", 0), (31, "Bury", 0), (38, "Alton", 0), (45, "Cale", 0)],
            "st": [(0, 10, 20, 2), (0, 30, 40, 2)],
            "aims": [(0, 0)],
            "targets": [
                (0, 10, 40, 1),
                (0, 10, 20, 1),
                (0, 30, 40, 1),
                (0, 10, 10, 1),
                (0, 20, 20, 1),
                (0, 30, 30, 1),
                (0, 40, 40, 1),
            ],
        },
    ),
    "kinds": (
        {
            "columns": [
                YEARS,
                {**ILLNESS, "hierarchy": KINDS},
                column("bonus", "sensitive", "integer", nulls=True),
                column("weight", "insensitive", "integer", weight=True),
            ],
            "promises": [
                about_age("k-map", k=10, weight="weight"),
                about_age(
                    "l-diversity",
                    variant="entropy",
                    l="1.5",
                    sensitive="illness",
                    **{"dont-care": ["flu"]},
                ),
                about_age(
                    "l-diversity",
                    variant="recursive",
                    l=2,
                    c=2,
                    sensitive="illness",
                    **{"dont-care": ["flu"]},
                ),
                about_age(
                    "l-diversity",
                    variant="recursive",
                    l=2,
                    c=3,
                    sensitive="illness",
                    negative={"values": ["asthma"], "percent": 10},
                ),
                about_age("t-closeness", t="0.125", distance="hierarchical", sensitive="illness"),
                about_age("delta-disclosure", delta="0.5", sensitive="illness"),
                about_age(
                    "l-diversity", variant="distinct", l=1, sensitive="bonus", known=["illness"]
                ),
            ],
            "partition": {"method": "mondrian", "mode": "strict"},
            "form": {"method": "generalized"},
        },
        {
            "microdata": [
                ("30-39", "flu", 10, 3),
                ("30-39", "flu", None, 4),
                ("30-39", "asthma", 20, 5),
                ("30-39", "burn", 10, 6),
                ("40-59", "flu", None, 2),
                ("40-59", "asthma", 30, 3),
                ("40-59", "asthma", 30, 4),
                ("40-59", "burn", 10, 5),
            ]
        },
    ),
    "labels": (
        {
            "columns": [
                column("town", "quasi-identifier", "string", nulls=True),
                column(
                    "born", "quasi-identifier", "date", hierarchy={"dates": ["month", "decade"]}
                ),
                column("code", "quasi-identifier", "string", hierarchy={"prefixes": [4, 2]}),
                column("dose", "quasi-identifier", "float"),
                column("size", "quasi-identifier", "decimal", scale=2, nulls=True),
                column("treated", "quasi-identifier", "boolean"),
                column("seen", "quasi-identifier", "timestamp"),
                column("change", "quasi-identifier", "integer", hierarchy={"intervals": [5, 10]}),
            ],
            "promises": [
                {
                    "model": "k-anonymity",
                    "k": 2,
                    "quasi-identifiers": [
                        "town",
                        "born",
                        "code",
                        "dose",
                        "size",
                        "treated",
                        "seen",
                        "change",
                    ],
                }
            ],
            "partition": {"method": "mondrian", "mode": "strict"},
            "form": {"method": "generalized", "protects": "identities"},
            "formats": ["parquet", "csv"],
        },
        {
            "microdata": 2
            * [
                (
                    '{Alton, "a, b"} or null',
                    "1987-03",
                    "1305*",
                    "[0.5, 1e+20]",
                    "[1.00, 2.50] or null",
                    "{false, true}",
                    "[2024-01-01 00:00:00.000000, 2024-01-02 12:30:00.500000]",
                    "-5 to -1",
                ),
                (
                    '{"*"}',
                    "1990s",
                    "13***",
                    "1.5",
                    "*",
                    "true",
                    "2024-01-01 00:00:00.000000",
                    "20-29",
                ),
            ]
        },
    ),
}
COMPOSED = {"rule": "composed", "vacancies": "keep", "changes": "withhold", "share": "0.5"}
FIRST: Rows = {
    "microdata": [
        (34, "Alton", "100.50", 0),
        (31, "Bury", "250.00", 0),
        (38, "Alton", "201.00", 0),
    ],
    "vacant": [],
    "lineage": [(0, None, 3, 0)],
}
SECOND: Rows = {
    "microdata": [
        (34, "Alton", "250.00", 0),
        (38, "Alton", "100.50", 0),
        (45, "Cale", "900.00", 1),
        (41, "Alton", "120.25", 1),
        (45, "Bury", "333.10", 1),
    ],
    "vacant": [(0, "201.00")],
    "lineage": [(0, 0, 2, 1), (1, None, 3, 0)],
}


LABELLED: Rows = {
    "microdata": [
        ("30-39", "north", "flu", 0),
        ("30-39", "north", "flu", 0),
        ("30-39", "north", "asthma", 0),
        ("40-49", "*", "flu", 1),
        ("40-49", "*", "asthma", 1),
        ("40-49", "*", "burn", 1),
        ("40-49", "*", "flu", 1),
    ],
    "lineage": [(0, None, 3, 0), (1, None, 3, 1)],
}


def declaration(name: str, terms: Mapping[str, Any], published: int, **more: Any) -> Declared:
    """Return the declaration of an example; rows are those that it publishes."""
    counts = {
        "read": published,
        "dropped_by_filter": 0,
        "dropped_for_nulls": 0,
        "dropped_as_repeats": 0,
        "suppressed": 0,
        "published": published,
        "fakes": 0,
    }
    document = {
        "name": name,
        "title": f"An example: {name}",
        "unit": "identifier",
        "versions": "disjoint",
        "strata": [],
        "formats": ["parquet"],
        "rows": counts,
        "software": {**software(), "sfumato-page": "5"},
        **terms,
        **more,
    }
    return Declared.model_validate(document)


def tables_of(declared: Declared, rows: Rows) -> dict[str, pa.Table]:
    """Return tables with these rows, in canonical order."""
    form = form_named(
        declared.form.method, composed=declared.is_composed, vacant=declared.rows.vacant
    )
    made = {}
    for name, schema in form.schemas(declared.columns, declared.form).items():
        values = list(zip(*rows[name], strict=True)) or [()] * len(schema)
        arrays = [
            pa.array(part, pa.string() if pa.types.is_decimal(field.type) else field.type)
            for part, field in zip(values, schema, strict=True)
        ]
        casts = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
        made[name] = pa.table(casts, schema=schema)
    return dict(form.canonical(made))


def make(place: Path, declared: Declared, rows: Rows) -> str:
    """Write a release that is consistent in itself, kept promises or not; return its digest."""
    shutil.rmtree(place, ignore_errors=True)
    write_release(place, assess(declared, tables_of(declared, rows)))
    return stated_digest(place)


def stated_digest(place: Path) -> str:
    return str(json.loads((place / MANIFEST).read_bytes())["sfumato"]["digest"])


def count_published(rows: Rows) -> int:
    return len(next(iter(rows[name] for name in ("microdata", "qit") if name in rows), [0] * 6))


def make_valid(folder: Path) -> None:
    """Write the valid examples."""
    for name, (terms, rows) in EXAMPLES.items():
        make(folder / name, declaration(name, terms, count_published(rows)), rows)
    terms = {**EXAMPLES["permuted"][0], "versions": COMPOSED, "formats": ["parquet"]}
    before = make(folder / "composed-1", declaration("composed", terms, 3), FIRST)
    second = declaration("composed", terms, 5, predecessor=before)
    second = second.model_copy(update={"rows": second.rows.model_copy(update={"vacant": 1})})
    make(folder / "composed-2", second, SECOND)
    terms = {**EXAMPLES["generalized"][0], "versions": COMPOSED}
    terms["promises"] = terms["promises"][:2]
    declared = declaration("composed-labels", terms, 6)
    declared = declared.model_copy(update={"rows": declared.rows.model_copy(update={"vacant": 1})})
    make(folder / "composed-labels", declared, LABELLED)
    in_parts = CORPUS / "format-9" / "public" / "corpus-permuted" / "0002"
    shutil.copytree(in_parts, folder / "parts")


def reseal(place: Path, change: Callable[[dict[str, Any]], Any] | None = None) -> None:
    """List every file with its true size and hash, change the manifest, and seal it again."""
    opened = open_release(place)
    document = manifest(place, opened.declared, opened.manifest["sfumato"]["observed"])
    if change is not None:
        change(document)
    document["sfumato"]["digest"] = digest(document)
    (place / MANIFEST).write_bytes(canonical_json(document))


def promise_otherwise(name: str, **parameters: Any) -> Callable[[Path], None]:
    """Return how to make an example again with another promise, measured and written throughout."""

    def write(place: Path) -> None:
        terms, rows = EXAMPLES[name]
        promises = {"promises": [promise(**parameters)]}
        make(place, declaration(name, {**terms, **promises}, count_published(rows)), rows)

    return write


def rewrite_table(
    name: str, table: str, change: Callable[[list[Row]], Any]
) -> Callable[[Path], None]:
    """Return how to make an example, change the rows of a Parquet file, and seal it again."""

    def rewrite(place: Path) -> None:
        file = place / "data" / f"{table}.parquet"
        published = read_parquet(file)
        rows = published.to_pylist()
        change(rows)
        write_table(pa.Table.from_pylist(rows, schema=published.schema), file)

    return edit_files(name, rewrite)


def edit_files(
    name: str, change: Callable[[Path], Any], *, seal: bool = True
) -> Callable[[Path], None]:
    """Return how to make an example, change its files, and list and seal them again."""

    def write(place: Path) -> None:
        terms, rows = EXAMPLES[name]
        make(place, declaration(name, terms, count_published(rows)), rows)
        change(place)
        if seal:
            reseal(place)

    return write


def state_otherwise(name: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Return how to make an example, change its manifest, and seal it again."""

    def write(place: Path) -> None:
        terms, rows = EXAMPLES[name]
        make(place, declaration(name, terms, count_published(rows)), rows)
        reseal(place, change)

    return write


def _replace(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        content = (place / file).read_bytes()
        assert old.encode() in content
        (place / file).write_bytes(content.replace(old.encode(), new.encode(), 1))

    return change


def _exchange(rows: list[Row]) -> None:
    rows[0], rows[1] = rows[1], rows[0]


REFUSED: Mapping[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "01-hash": (
        edit_files("permuted", _replace("data/microdata.csv", "Alton", "Elton"), seal=False),
        ("hash-differs", "csv-differs"),
    ),
    "02-csv": (
        edit_files("permuted", _replace("data/microdata.csv", "Alton", "Elton")),
        ("csv-differs",),
    ),
    "03-digest": (
        edit_files("permuted", _replace(MANIFEST, "An example", "An Example"), seal=False),
        ("digest-wrong", "manifest-schema"),
    ),
    "04-canonical": (
        edit_files("permuted", _replace(MANIFEST, '{"$schema":', '{ "$schema":'), seal=False),
        ("manifest-not-canonical",),
    ),
    "05-missing": (
        edit_files("permuted", lambda place: (place / "validation.json").unlink(), seal=False),
        ("file-missing", "resources-wrong"),
    ),
    "06-unexpected": (
        edit_files(
            "permuted", lambda place: (place / "data" / "m.csv").write_text("a\n"), seal=False
        ),
        ("file-unexpected", "resources-wrong"),
    ),
    "07-order": (
        rewrite_table("generalized", "microdata", _exchange),
        ("order-wrong",),
    ),
    "08-label": (
        rewrite_table("generalized", "microdata", lambda rows: rows[0].update(age="30-38")),
        ("label-unreadable", "promise-broken", "observed-wrong"),
    ),
    "09-label": (
        rewrite_table("generalized", "microdata", lambda rows: rows[5].update(town="west")),
        ("label-unreadable", "promise-broken", "observed-wrong", "order-wrong"),
    ),
    "10-k": (
        promise_otherwise("generalized", model="k-anonymity", k=4, sensitive="illness"),
        ("promise-broken", "promise-scope", "validation-wrong"),
    ),
    "11-entropy": (
        promise_otherwise(
            "generalized", model="l-diversity", variant="entropy", l=2, sensitive="illness"
        ),
        ("promise-broken", "validation-wrong"),
    ),
    "12-recursive": (
        promise_otherwise(
            "generalized", model="l-diversity", variant="recursive", l=2, c=2, sensitive="illness"
        ),
        ("promise-broken", "validation-wrong"),
    ),
    "13-t": (
        promise_otherwise(
            "generalized", model="t-closeness", t="0.16", distance="equal", sensitive="illness"
        ),
        ("promise-broken", "validation-wrong"),
    ),
    "14-scope": (
        promise_otherwise(
            "split", model="l-diversity", variant="distinct", l=2, sensitive="illness"
        ),
        ("promise-scope",),
    ),
    "15-form": (
        promise_otherwise("permuted", model="k-anonymity", k=2, sensitive="wage"),
        ("promise-scope",),
    ),
    "16-observed": (
        state_otherwise("permuted", lambda d: d["sfumato"]["observed"][0]["observed"].update(k=4)),
        ("observed-wrong",),
    ),
    "17-format": (
        state_otherwise("permuted", lambda d: d["sfumato"].update(format=5)),
        ("format-wrong",),
    ),
    "18-default": (
        state_otherwise("permuted", lambda d: d["sfumato"].update(csv={"formulas": "keep"})),
        ("manifest-schema",),
    ),
    "19-rows": (
        state_otherwise("permuted", lambda d: d["sfumato"]["rows"].update(read=7)),
        ("counts-contradict",),
    ),
    "20-groups": (
        rewrite_table("split", "st_illness", lambda rows: rows[0].update(count=2)),
        ("count-wrong", "tables-disagree", "observed-wrong"),
    ),
    "21-admitted": (
        rewrite_table("ambiguous", "at_town", lambda rows: rows.pop(0)),
        ("promise-broken", "observed-wrong", "order-wrong", "help-table-differs"),
    ),
    "22-target": (
        rewrite_table("redistributed", "targets", lambda rows: rows[1].update(weight=3)),
        ("promise-broken", "observed-wrong", "order-wrong", "tables-disagree"),
    ),
    "23-nodes": (
        rewrite_table("redistributed", "st", lambda rows: rows[0].update(upper=30)),
        ("tables-disagree",),
    ),
    "24-validation": (
        edit_files("permuted", _replace("validation.json", '"observed":6', '"observed":7')),
        ("validation-wrong",),
    ),
    "25-newer": (
        state_otherwise("permuted", lambda d: d["sfumato"].update(format=1000)),
        ("format-newer",),
    ),
    "26-policy": (
        state_otherwise("policy", lambda d: d["sfumato"]["policy"]["rules"][0].update(more=1)),
        ("manifest-schema",),
    ),
    "27-policy-size": (
        state_otherwise(
            "policy", lambda d: d["sfumato"]["policy"]["rules"][1].update({"at-most": "0.3"})
        ),
        ("policy-broken", "validation-wrong"),
    ),
    "28-policy-kind": (
        state_otherwise(
            "policy",
            lambda d: d["sfumato"]["policy"]["rules"][2]["kinds"]["ages"].update({"at-most": 38}),
        ),
        ("policy-broken", "validation-wrong"),
    ),
}


def make_refused(folder: Path) -> None:
    """Write the examples that are refused."""
    for name, (write, _) in REFUSED.items():
        write(folder / name)


def expected_verdicts(folder: Path) -> dict[str, Any]:
    """Return what a verifier has to say of each example."""
    valid = {
        f"valid/{place.name}": {"verdict": "valid", "digest": stated_digest(place)}
        for place in sorted((folder / "valid").iterdir())
    }
    refused = {
        f"refused/{name}": {
            "verdict": "not judged" if reasons == ("format-newer",) else "refused",
            "reasons": list(reasons),
        }
        for name, (_, reasons) in REFUSED.items()
    }
    return {**valid, **refused}


def pack(folder: Path, archive: Path) -> None:
    """Pack a folder; equal files give equal bytes."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in _files(folder):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = path.stat().st_size
            tar.addfile(member, io.BytesIO(path.read_bytes()))
    archive.write_bytes(gzip.compress(content.getvalue(), mtime=0))


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file())


def unpack(folder: Path) -> Mapping[str, Any]:
    """Unpack the examples into a folder; return what is expected of them."""
    with tarfile.open(ARCHIVE) as tar:
        extract(tar, folder)
    document: Mapping[str, Any] = json.loads((folder / EXPECTED).read_bytes())
    return document


_BEGIN, _END = "<!-- examples -->", "<!-- end of examples -->"


def page_of(folder: Path) -> str:
    """Return the page of the examples, with the unpacked ones in it."""
    text = PAGE.read_text(encoding="utf-8")
    head, tail = text.partition(_BEGIN)[0], text.partition(_END)[2]
    document = json.loads((folder / EXPECTED).read_bytes())
    sections = [_section(place) for place in sorted((folder / "valid").iterdir())]
    refused = [
        f"| `{name}` | {', '.join(f'`{reason}`' for reason in verdict['reasons'])} |"
        for name, verdict in document.items()
        if "reasons" in verdict
    ]
    table = ["| Release | Reasons, any of which is right |", "|---|---|", *refused]
    whole = [*sections, "## E3 Refused releases", "\n".join(table)]
    return f"{head}{_BEGIN}\n\n" + "\n\n".join(whole) + f"\n\n{_END}{tail}"


def _section(place: Path) -> str:
    release = open_release(place)
    blocks = [f"### valid/{place.name}", f"Digest: `{stated_digest(place)}`"]
    if release.declared.made_of:
        return "\n\n".join([*blocks, "In parts, and composed: see the archive."])
    for name, table in read_tables(release.declared, place / "data").items():
        blocks.append(f"`data/{name}.parquet`, as CSV (T3):")
        blocks.append(f"```text\n{csv_of(table)}```")
    blocks.append(f'??? note "{MANIFEST}: the bytes between the fences, without a line feed"')
    manifest_text = (place / MANIFEST).read_text(encoding="utf-8")
    blocks.append(f"    ```text\n    {manifest_text}\n    ```")
    validation = (place / "validation.json").read_text(encoding="utf-8")
    blocks.append('??? note "validation.json"')
    blocks.append(f"    ```text\n    {validation}\n    ```")
    return "\n\n".join(blocks)


def csv_of(table: pa.Table) -> str:
    """Return a table as a CSV file has it."""
    content = io.BytesIO()
    pa.csv.write_csv(table, content)
    return content.getvalue().decode()


def main() -> None:
    """Write the archive, and the page with the same examples."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_valid(folder / "valid")
        make_refused(folder / "refused")
        text = json.dumps(expected_verdicts(folder), indent=1) + "\n"
        (folder / EXPECTED).write_text(text, encoding="utf-8")
        pack(folder, ARCHIVE)
        PAGE.write_text(page_of(folder), encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
