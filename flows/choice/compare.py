"""A comparison of alternatives to a spec, in private: one page, one decision, one spec."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, count
from os import environ
from pathlib import Path
from typing import Any

import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.alternatives import alternatives_of
from sfumato.flows.inputs.documents import parse_yaml, read_yaml
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.passphrases import passphrases, source_secrets
from sfumato.flows.inputs.resolved import ResolvedRun, require_in_memory, resolve_run
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.candidates.wished import WishedTerms, frozen_terms
from sfumato.tasks.choose.alternative import Alternative, TriedOutcome
from sfumato.tasks.choose.comparison import KeptComparison, compare
from sfumato.tasks.choose.draft import line_apart
from sfumato.tasks.choose.recommend import Ranked, rank, recommend
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.people.identity import fingerprint
from sfumato.tasks.private.references import refer
from sfumato.tasks.private.scratch import comparison_directory, scratch_directory
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.report.steward.comparison import (
    ComparisonContent,
    names_by_reason,
    write_comparison_page,
)
from sfumato.tasks.schema.files import read_bytes, read_text
from sfumato.tasks.stages.deidentify import write_deidentified
from sfumato.tasks.stages.ingest import write_ingested, write_source
from sfumato.tasks.stages.verify import require_population

_ENDING = ".recommended"
KEPT_HOURS = 24 * 7
_COMPARED = b"a comparison"


def write_recommended(path: Path, instead: Mapping[str, Any], overrides: Overrides) -> Path:
    """Write a spec with other keys in place of some, comments and all; a key that is None goes.

    Nothing is written over: another file of its name leaves it a number.

    Returns:
        Where it was written: beside the spec, whose paths it has.
    """
    text = read_text(path)
    for key, value in instead.items():
        text = _replaced(text, key, value)
    wanted = {k: v for k, v in {**read_yaml(path), **instead}.items() if v is not None}
    if not _says(text, wanted):  # it was written in a way that is not known here
        text = yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)
    stem = path.name.removesuffix(path.suffix) + _ENDING
    names = chain([f"{stem}.yaml"], (f"{stem}-{number}.yaml" for number in count(2)))
    place = next(found for name in names if _is_free(found := path.with_name(name), text))
    write_atomically(place, text.encode(), mode=0o644)
    read_spec(place, overrides)
    return place


def _is_free(place: Path, text: str) -> bool:
    """True where there is nothing, or the same text already."""
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return False
    return not place.exists() or read_bytes(place) == text.encode()


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return bool(parse_yaml(text) == wanted)
    except yaml.YAMLError:
        return False


def _replaced(text: str, key: str, value: Any) -> str:
    """The text with another value of a key at its top."""
    dumped = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    line = "" if value is None else f"{key}: {dumped.strip()}\n"
    block = re.compile(
        rf"^{re.escape(key)}:.*\n(?:(?:[ \t].*|-.*|)\n)*?(?=[^\s-]|\Z)", re.MULTILINE
    )
    found, times = block.subn(lambda _: line, text, count=1)
    return found if times else f"{text.rstrip()}\n{line}"


@dataclass(frozen=True)
class Compared:
    """What a comparison gave.

    Attributes:
        page: the private page about it.
        ranked: the alternatives that keep their promises, the best first.
        chosen: the one that is recommended, None where none keeps them.
        spec: the recommended spec, None where none is.
        others: the names of those that promise something else, which are never recommended.
        refused: why the spec does not admit others, by their names.
    """

    page: Path
    ranked: list[Ranked]
    chosen: Ranked | None
    spec: Path | None
    others: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The comparison for JSON: shares and counts of each alternative, and the best one."""
        ranked = [
            {
                "name": one.outcome.name,
                "width": one.width,
                "guessed": one.guessed,
                "groups": one.outcome.groups,
                "suppressed": one.outcome.suppressed,
                **({"chose": one.outcome.chose} if one.outcome.chose else {}),
                **({"promise": "another"} if one.outcome.name in self.others else {}),
            }
            for one in self.ranked
        ]
        return {
            "alternatives": ranked,
            "not-admitted": names_by_reason(self.refused),
            "recommended": None if self.chosen is None else self.chosen.outcome.name,
            "spec": None if self.spec is None else str(self.spec),
            "page": str(self.page),
        }


@dataclass(frozen=True)
class AskedComparison:
    """What is to be compared.

    Attributes:
        grid: of alternatives (see `alternatives_of`).
        sql: queries of the steward's own.
        processes: how many alternatives are tried at once.
        hours: for which the comparison is kept.
        sweep: the parameter of promises that alone differs, where its cost is asked for: nothing is
            recommended then.
    """

    grid: dict[str, object]
    sql: tuple[str, ...] = ()
    processes: int = 1
    hours: int = KEPT_HOURS
    sweep: str = ""


@passphrases(environ)
def compare_alternatives(
    path: Path,
    overrides: Overrides,
    asked: AskedComparison,
    progress: Callable[[TriedOutcome, int, int], None],
) -> Compared:
    """Compare alternatives to a spec on its source.

    Raises:
        SpecError: where the spec is wrong, asks for no workload, or admits none of them.
        InputError: where the source is not as declared, a reference cannot be read, or another
            process compares the same.
        PromiseError: where a reference lacks people of the table.
    """
    resolved = require_in_memory(resolve_run(path, overrides))
    workloads = resolved.spec.evaluate.workloads
    if not workloads and not asked.sql:
        raise SpecError(f"{path}: evaluate: compare needs workloads, or queries (--queries)")
    encrypted = resolved.spec.stages == "encrypted"
    processes = 1 if encrypted else asked.processes  # the key is in this process alone
    admitted, refused, changes = alternatives_of(path, overrides, asked.grid)
    tried = [_as_in_a_release(one, resolved) for one in admitted]
    with (
        scratch_directory(environ) as scratch,
        sanitise_errors("compare"),
        source_secrets(resolved.spec.source, environ),
        encrypted_below(scratch) if encrypted else nullcontext(),
    ):
        table = _table(resolved, scratch)
        _require_populations(table, tried)
        key = _key(resolved, table, asked)
        with comparison_directory(resolved.line.work, key, asked.hours) as place:
            comparison = KeptComparison(place, table, scratch, asked.sql)
            outcomes = compare(comparison, tried, workloads, processes, progress)
            ranked = rank(outcomes)
            others = frozenset(one.name for one in tried if one.other_promise)
            same = [one for one in ranked if one.outcome.name not in others]
            chosen = None if asked.sweep else recommend(same)
            name = None if chosen is None else chosen.outcome.name
            spec = None if name is None else write_recommended(path, changes[name], overrides)
            if asked.sweep:
                ranked = _as_asked(ranked, outcomes)
            broken = {one.name: one.refused for one in outcomes if one.refused}
            queries = comparison.queries(workloads)
            content = ComparisonContent(
                ranked, chosen, broken, refused, queries, spec, asked.sweep, others
            )
            report = private_directory(place / "report")
            page = write_comparison_page(report, resolved.spec.title, content)
            return Compared(page, ranked, chosen, spec, others, refused)


def _as_in_a_release(one: Alternative, resolved: ResolvedRun) -> Alternative:
    """An alternative with what the line has chosen before, and with the references of promises.

    These are called by digests of their own: a comparison needs no key of the line.
    """
    terms = frozen_terms(one.terms, resolved.line.private)
    promises, references = refer(terms.promises, resolved.base, lambda: _COMPARED)
    if references.files:
        terms = terms.model_copy(update={"promises": promises})
    choosing = one.choosing if isinstance(terms, WishedTerms) else None
    return replace(one, terms=terms, choosing=choosing, references=references)


def _require_populations(table: Path, tried: Sequence[Alternative]) -> None:
    """Refuse references that lack people of the table, once for all alternatives."""
    known = {promise: one for one in tried for promise in one.terms.promises}
    for promise, one in known.items():
        if one.references.file_for(promise) is not None:
            require_population(table, one.terms, promise, one.references)


def _as_asked(ranked: list[Ranked], outcomes: Sequence[TriedOutcome]) -> list[Ranked]:
    """The alternatives in the order in which they were asked for."""
    place = {outcome.name: number for number, outcome in enumerate(outcomes)}
    return sorted(ranked, key=lambda one: place[one.outcome.name])


def _table(resolved: ResolvedRun, scratch: Path) -> Path:
    """The stage of the rows that are to be published."""
    spec = resolved.spec
    run = private_directory(scratch / "run")
    with line_apart(resolved.line, scratch) as line:
        here = replace(resolved, line=line)
        whole = write_source(spec.source, spec.columns, here.base, run)
        ingested = write_ingested(whole, spec.source, spec.columns, spec.nulls, here.base, run)
        return write_deidentified(
            ingested, here.terms, here.identifiers, line.private, run, "units"
        )


def _key(resolved: ResolvedRun, table: Path, asked: AskedComparison) -> str:
    """What tells this source and these queries from others: sixteen hexadecimal digits."""
    workloads = [one.model_dump(mode="json") for one in resolved.spec.evaluate.workloads]
    rows = fingerprint(load(table), _COMPARED)
    told = json.dumps([resolved.line.name, rows, workloads, asked.sql])
    return hashlib.sha256(told.encode()).hexdigest()[:16]
