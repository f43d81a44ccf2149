"""The attacks on synthetic data by others: Anonymeter's and SDNist's, of the shipped releases.

Each has an environment of its own, which the Makefile makes; `ANONYMETER` and `SDNIST` name their
interpreters. Both read the same two tables as the figures beside theirs: what is published, and the
people whom it is about. Labels are compared as texts: SDNist gets people as they are, Anonymeter
those of whom the labels tell the only group, recoded to its labels. Anonymeter samples by itself,
three times, and looks among 20,000 conditions for 500 that one row meets, as the figures here do.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.records import matches, nearest, singling_out
from sfumato.tasks.attacks.records.records import ComparedRecords, compared_records
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.microdata.table import encode, key
from tests.attacks.test_records import exact_column
from tests.benchmarks.attacked_draws import publish_spec, targets_of_release
from tests.benchmarks.attacked_specs import SPECS
from tests.benchmarks.peers import Peer

TIMES = 3
_RECORDS = "records"  # what compared records are learned as
_HEAD = """
import json, sys, warnings
import pandas as pd
warnings.simplefilter("ignore")
task = json.loads(open(sys.argv[1], encoding="utf-8").read())
qi, sensitive, numbers = task["qi"], task["sensitive"], task["numbers"]
shown, people = (
    pd.read_csv(task[name], dtype=str, keep_default_na=False)[[*qi, sensitive]].astype(
        dict.fromkeys(numbers, float)
    )
    for name in ("shown", "people")
)

def tell(found):
    print("\\n" + json.dumps(found))
"""
_ANONYMETER = """
from anonymeter.evaluators.inference_evaluator import InferenceEvaluator
from anonymeter.evaluators.linkability_evaluator import LinkabilityEvaluator
from anonymeter.evaluators.singling_out_evaluator import SinglingOutEvaluator

def share(evaluator, **options):
    return evaluator.evaluate(**options).results(confidence_level=0).attack_rate.value

def once():
    out = SinglingOutEvaluator(people, shown, n_attacks=500, max_attempts=20_000)
    half = len(qi) // 2
    halves = LinkabilityEvaluator(people, shown, (qi[:half], qi[half:]), n_attacks=500)
    value = InferenceEvaluator(
        people, shown, qi, sensitive, regression=sensitive in numbers, n_attacks=500
    )
    return share(out), share(halves, n_jobs=1), share(value, n_jobs=1)

tell([once() for _ in range(task["times"])])
"""
_SDNIST = """
import sdnist.report  # imported last, it imports itself
from sdnist.metrics.apparent_match_dist import cellchange
from sdnist.metrics.unique_exact_matches import unique_exact_matches
exact, *_ = unique_exact_matches(people, shown)
agreeing, _, _, apparent = cellchange(people, shown, qi, [])
tell([exact / len(people), len(apparent) / len(people), float(agreeing.mean()) / 100])
"""
ANONYMETER = Peer("Anonymeter", "ANONYMETER", _ANONYMETER, _HEAD)
SDNIST = Peer("SDNist", "SDNIST", _SDNIST, _HEAD)
_MATCHES = (
    "record like nobody else's, and published as it is",
    "apparent match: alone with their quasi-identifiers",
    "own value in the apparent match, of these",
)


def main() -> None:
    """Print two tables in Markdown: matches, and attacks by samples."""
    results = [(spec, *_of_spec(spec)) for spec in SPECS]
    rows = [(spec.stem, *cells) for spec, *cells in results if any(cells)]
    matched = ("unique exact matches", "apparent matches", "right among these")
    _print("SDNist", matched, ((name, cells) for name, cells, _ in rows))
    sampled = ("singled out", "halves joined", "inferred")
    _print("Anonymeter", sampled, ((name, cells) for name, _, cells in rows))


def _print(peer: str, columns: Sequence[str], rows: Iterator[tuple[str, Sequence[str]]]) -> None:
    head = ["spec", *(part for name in columns for part in (f"{name}: {peer}", "here"))]
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for name, cells in rows:
        print("|", " | ".join((f"`{name}`", *cells)), "|")
    print(flush=True)


def _of_spec(spec: Path) -> tuple[Sequence[str], Sequence[str]]:
    """The cells of a spec in both tables; none where it publishes no records."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SFUMATO_WORK"] = f"{folder}/work"
        release, people = publish_spec(spec, Path(folder))
        target = targets_of_release(release, people)[0]
        if compared_records(target) is None:
            return (), ()
        return _match_peer(target, Path(folder)), _sample_peer(target, Path(folder))


def _match_peer(target: AttackedRelease, folder: Path) -> list[str]:
    theirs = SDNIST.run(_task(_export(target, _own(target)), folder / "as-they-are"))
    ours = {score.measure: score.share for score in matches.attack(target)}
    here = [ours.get(measure) for measure in _MATCHES]
    cells = [theirs, "", ""] if isinstance(theirs, str) else map(_percent, theirs)
    return [part for pair in zip(cells, map(_percent, here), strict=True) for part in pair]


def _sample_peer(target: AttackedRelease, folder: Path) -> list[str]:
    people = _own(target) if target.declared.form.shows == "rows" else _recode(target)
    if people is None:
        return ["not compared: labels admit people to several groups", *[""] * 5]
    both = _in_any_order(_export(target, people))
    theirs = ANONYMETER.run(_task(both, folder / "recoded"))
    here = [_percent(score.share) for score in _scores(target, both)]
    cells = [theirs, "", ""] if isinstance(theirs, str) else map(_range, *theirs)
    return [part for pair in zip(cells, here, strict=True) for part in pair]


@dataclass(frozen=True)
class Exported:
    """A published table and people's, of the same columns; texts, or numbers as they are."""

    shown: pa.Table
    people: pa.Table
    known: tuple[str, ...]
    sensitive: str

    @property
    def numbers(self) -> list[str]:
        """The columns that are numbers in both."""
        schema = self.shown.schema
        return [name for name in schema.names if not pa.types.is_string(schema.field(name).type)]


def _export(target: AttackedRelease, people: pa.Table) -> Exported:
    """Return what is published, as it is, beside people in the same columns."""
    known_names, sensitive = (
        tuple(target.declared.names_with_roles("quasi-identifier")),
        target.sensitive,
    )
    microdata = target.tables["microdata"].select([*known_names, sensitive])
    types = [
        field.type
        if field.type == people[field.name].type and _is_number(field.type)
        else pa.string()
        for field in microdata.schema
    ]
    schema = pa.schema(list(zip(microdata.column_names, types, strict=True)))
    return Exported(microdata.cast(schema), people.cast(schema), known_names, sensitive)


def _in_any_order(both: Exported) -> Exported:
    """The same, the published rows shuffled: of equally near ones Anonymeter takes some one."""
    order = np.random.default_rng(1).permutation(both.shown.num_rows)
    return replace(both, shown=both.shown.take(pa.array(order)))


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))


def _own(target: AttackedRelease) -> pa.Table:
    """People as they are."""
    names = [*target.declared.names_with_roles("quasi-identifier"), target.sensitive]
    return pa.table({name: target.people[name].array() for name in names})


def _recode(target: AttackedRelease) -> pa.Table | None:
    """People under the labels of their groups; None where these are not told of everybody."""
    group = group_of_people(target)
    if group is None:
        return None
    names = target.declared.names_with_roles("quasi-identifier")
    microdata = target.tables["microdata"].select(names)
    labels = [encode(name, "quasi-identifier", microdata[name]) for name in names]
    _, first, sizes = np.unique(
        key(labels, microdata.num_rows)[0], return_index=True, return_counts=True
    )
    assert np.array_equal(np.bincount(group, minlength=len(sizes)), sizes)
    own = target.people[target.sensitive].array()
    return microdata.take(first[group]).append_column(target.sensitive, own)


def _task(both: Exported, folder: Path) -> Path:
    """Both tables as CSV, and what is to be done with them as JSON."""
    folder.mkdir()
    for name, table in (("shown", both.shown), ("people", both.people)):
        pa.csv.write_csv(table, folder / f"{name}.csv")
    task: Mapping[str, Any] = {
        "shown": str(folder / "shown.csv"),
        "people": str(folder / "people.csv"),
        "qi": both.known,
        "sensitive": both.sensitive,
        "numbers": both.numbers,
        "times": TIMES,
    }
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    return folder / "task.json"


def _scores(target: AttackedRelease, both: Exported) -> Iterator[Score]:
    """Our figures of the same tables; equal rows are singled out once, as Anonymeter has it."""
    once = replace(both, shown=_different(both.shown), people=_different(both.people))
    for attack, tables in (
        (singling_out.attack, once),
        (nearest.link_halves, both),
        (nearest.infer, both),
    ):
        (score,) = attack(replace(target, learned={_RECORDS: _records(tables)}))
        yield score


def _different(table: pa.Table) -> pa.Table:
    return table.group_by(table.column_names).aggregate([])


def _records(both: Exported) -> ComparedRecords:
    columns = {
        name: exact_column(both.shown[name].combine_chunks(), both.people[name].combine_chunks())
        for name in both.shown.column_names
    }
    return ComparedRecords(
        tuple(columns[name] for name in both.known),
        columns[both.sensitive],
        both.shown.num_rows,
        both.people.num_rows,
        np.arange(both.shown.num_rows),  # each value where it stands
    )


def _range(*shares: float) -> str:
    least, most = _percent(min(shares)), _percent(max(shares))
    return least if least == most else f"{least} – {most}"


def _percent(share: float | None) -> str:
    return "" if share is None or np.isnan(share) else f"{100 * share:.1f}"


if __name__ == "__main__":
    sys.exit(main())
