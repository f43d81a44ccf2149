"""Comparison of alternatives to a spec, in private: a page, a recommendation, and its spec.

An alternative is the spec with another partition, form, strata or parameters of promises. Each one
is made from the source, answers the same queries and is attacked; none is published.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, count
from os import environ
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.alternatives import alternatives_of
from sfumato.flows.choice.reader import AlternativeReader
from sfumato.flows.choice.two_tables import alternatives_to_rows
from sfumato.flows.inputs.documents import parse_yaml, read_yaml
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.passphrases import passphrases, source_secrets
from sfumato.flows.inputs.resolved import (
    ResolvedRun,
    require_in_memory,
    require_whole,
    resolve_run,
)
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.candidates.wished import WishedTerms, frozen_terms
from sfumato.tasks.choose.alternative import Alternative, TriedOutcome
from sfumato.tasks.choose.comparison import KeptComparison, ask_few, compare
from sfumato.tasks.choose.draft import line_apart
from sfumato.tasks.choose.paired import PairedQuery
from sfumato.tasks.choose.recommend import Ranked, rank, recommend
from sfumato.tasks.forms.related.parameters import ApartParameters
from sfumato.tasks.microdata.table import Microdata, load
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.people.identity import fingerprint
from sfumato.tasks.private.references import refer
from sfumato.tasks.private.scratch import comparison_directory, scratch_directory
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.query.accuracy.noise import reference_of
from sfumato.tasks.report.steward.comparison import (
    ComparisonContent,
    names_by_reason,
    write_comparison_page,
)
from sfumato.tasks.schema.files import read_bytes, read_text
from sfumato.tasks.stages.deidentify import write_deidentified
from sfumato.tasks.stages.ingest import (
    write_ingested,
    write_related_source,
    write_source,
    write_with_related,
)
from sfumato.tasks.stages.verify import require_population

_ENDING = ".recommended"
KEPT_HOURS = 24 * 7  # hours for which the results of a comparison can be used again
_KEPT_FORMAT = 3  # of queries and outcomes on disk: those of another format are not used again
_FINALISTS = 6  # alternatives with the spec's promises that are asked all queries and attacked
_COMPARED = b"a comparison"  # key of the digests made here, in place of a line's secret key


def write_recommended(path: Path, instead: Mapping[str, Any], overrides: Overrides) -> Path:
    """Write a copy of a spec with other values of some keys, as `NAME.recommended.yaml` beside it.

    Text around the changed keys stays as it is, comments included, if the spec is in block style.
    An existing file is never overwritten: one with the same text is used, and beside any other file
    the copy gets a number (`NAME.recommended-2.yaml`).

    Args:
        path: the spec.
        instead: the new values by top-level key; None removes the key.
        overrides: the keys that the run changes; the copy is read with them, as a check.

    Returns:
        The path of the copy. Relative paths in it mean the same as in the spec.

    Raises:
        SpecError: if the copy is not a valid spec.
    """
    text = read_text(path)
    for key, value in instead.items():
        text = _replace_key(text, key, value)
    document = {k: v for k, v in {**read_yaml(path), **instead}.items() if v is not None}
    if not _says(text, document):  # an unusual style, as of flow mappings: comments are lost
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    stem = path.name.removesuffix(path.suffix) + _ENDING
    names = chain([f"{stem}.yaml"], (f"{stem}-{number}.yaml" for number in count(2)))
    place = next(candidate for name in names if _is_free(candidate := path.with_name(name), text))
    write_atomically(place, text.encode(), mode=0o644)
    read_spec(place, overrides)
    return place


def _is_free(place: Path, text: str) -> bool:
    """Return True if there is nothing at a place, or the same text already."""
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return False
    return not place.exists() or read_bytes(place) == text.encode()


def _says(text: str, document: Mapping[str, Any]) -> bool:
    """Return True if a text is YAML for a document."""
    try:
        return bool(parse_yaml(text) == document)
    except yaml.YAMLError:
        return False


def _replace_key(text: str, key: str, value: Any) -> str:
    """Return the text with another value of a top-level key; None removes the key."""
    dumped = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    line = "" if value is None else f"{key}: {dumped.strip()}\n"
    # the key's line, then the lines of its value: indented, items of a list, or blank
    block = re.compile(
        rf"^{re.escape(key)}:.*\n(?:(?:[ \t].*|-.*|)\n)*?(?=[^\s-]|\Z)", re.MULTILINE
    )
    replaced, times = block.subn(lambda _: line, text, count=1)
    return replaced if times else f"{text.rstrip()}\n{line}"


@dataclass(frozen=True)
class Compared:
    """Outcome of a comparison.

    Attributes:
        page: the path of the private page about it.
        ranked: the alternatives that keep their promises: the best first, or in the order in which
            they were tried if a parameter was swept.
        chosen: the alternative that is recommended; None if a parameter was swept, or if no
            alternative keeps the spec's own promises.
        spec: the path of the recommended spec; None if nothing is recommended.
        others: the names of alternatives with other promises, which are never recommended.
        refused: the reasons why alternatives are not admitted by the spec, by their names.
        of_two: whether the spec has two related tables.
    """

    page: Path
    ranked: list[Ranked]
    chosen: Ranked | None
    spec: Path | None
    others: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    of_two: bool = False

    def document(self) -> dict[str, Any]:
        """Return the comparison for JSON: figures of each alternative, and the recommended one."""
        ranked = [
            {
                "name": alternative.outcome.name,
                "width": alternative.width,
                "accuracy": alternative.outcome.typical,
                "guessed": alternative.guessed,
                "groups": alternative.outcome.groups,
                "suppressed": alternative.outcome.suppressed,
                **({"hides": hidden} if (hidden := _columns_hidden(alternative)) else {}),
                **({"chose": alternative.outcome.chose} if alternative.outcome.chose else {}),
                **({"promise": "another"} if alternative.outcome.name in self.others else {}),
            }
            for alternative in self.ranked
        ]
        return {
            "alternatives": ranked,
            "not-admitted": names_by_reason(self.refused),
            "recommended": None if self.chosen is None else self.chosen.outcome.name,
            "spec": None if self.spec is None else str(self.spec),
            "page": str(self.page),
        }


def _columns_hidden(alternative: Ranked) -> dict[str, float]:
    """Return the columns that an alternative hides in nearly all rows, with the shares."""
    return {
        name: alternative.outcome.hidden_shares[name]
        for name in alternative.outcome.emptied_columns
    }


@dataclass(frozen=True)
class AskedComparison:
    """Request for a comparison.

    Attributes:
        grid: the choices to be combined (see `read_grid`); empty for the usual alternatives.
        sql: the steward's own queries, in addition to those of the spec's workloads.
        processes: the number of alternatives that are tried at once.
        hours: the number of hours for which results are kept on disk.
        sweep: the name of a parameter of promises, if the grid only varies that one to show its
            cost: then nothing is recommended. Otherwise empty.
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
    request: AskedComparison,
    progress: Callable[[TriedOutcome, int, int], None],
) -> Compared:
    """Try alternatives to a spec on its source, and write a private page and the recommended spec.

    Alternatives that were tried on the same rows and queries before are not tried again, for the
    hours of the request.

    Args:
        path: the spec.
        overrides: the keys that the run changes.
        request: the alternatives and queries.
        progress: called with each new outcome, the number of alternatives done, and their total.

    Raises:
        SpecError: if the spec is wrong, there are no workloads or queries, or the spec admits no
            alternative.
        InputError: if the source is not as declared, a reference cannot be read, or another
            process compares the same.
        PromiseError: if a reference lacks people of the table.
    """
    resolved = require_whole(resolve_run(path, overrides))
    workloads = resolved.spec.evaluate.workloads
    if not workloads and not request.sql:
        raise SpecError(
            f"{path}: evaluate: compare needs queries. Write workloads in the spec, or "
            "name a file (--queries FILE)"
        )
    is_encrypted = resolved.spec.stages == "encrypted"
    processes = 1 if is_encrypted else request.processes  # the key is in this process alone
    choices = _Choices(*alternatives_of(path, overrides, request.grid))
    tried = [_as_in_a_release(alternative, resolved) for alternative in choices.tried]
    choices = replace(choices, tried=tried)
    form = resolved.terms.form
    both = form if isinstance(form, ApartParameters) else None
    with _rows_to_compare(resolved, choices.tried) as (table, scratch):
        if both is not None and not request.grid:
            reader = AlternativeReader(path, overrides, read_yaml(path))
            choices = choices.with_more(_Choices(*alternatives_to_rows(reader, load(table))))
        key = _key(resolved, table, request)
        with comparison_directory(resolved.line.work, key, request.hours) as place:
            comparison = KeptComparison(
                place, table, scratch, request.sql, by_values=both is None, both=both
            )
            finalists = None if request.sweep or both is not None else _FINALISTS
            outcomes = compare(comparison, choices.tried, workloads, processes, progress, finalists)
            queries = comparison.queries(workloads)
            ranked = rank(outcomes, [query.topic for query in queries])
            chosen = None if request.sweep else _recommend_own(ranked, choices.others)
            spec = None
            if chosen is not None:
                instead = choices.changes[chosen.outcome.name]
                spec = write_recommended(path, instead, overrides)
            compared = Compared(
                place / "report",
                _in_order_of_trial(ranked, outcomes) if request.sweep else ranked,
                chosen,
                spec,
                choices.others,
                choices.refused,
                both is not None,
            )
            return _with_page(compared, outcomes, queries, resolved, request.sweep, load(table))


@dataclass(frozen=True)
class _Choices:
    """The alternatives of a comparison.

    Attributes:
        tried: those that the spec admits.
        refused: the reasons why others are not admitted, by their names.
        changes: the keys of the spec that each admitted one changes, by its name.
    """

    tried: Sequence[Alternative]
    refused: Mapping[str, str]
    changes: Mapping[str, Mapping[str, Any]]

    @property
    def others(self) -> frozenset[str]:
        """The names of those with other promises, which are never recommended."""
        return frozenset(
            alternative.name for alternative in self.tried if alternative.other_promise
        )

    def with_more(self, others: "_Choices") -> "_Choices":
        """Return these and others."""
        return _Choices(
            [*self.tried, *others.tried],
            {**self.refused, **others.refused},
            {**self.changes, **others.changes},
        )


def _with_page(
    compared: Compared,
    outcomes: Sequence[TriedOutcome],
    queries: Sequence[PairedQuery],
    resolved: ResolvedRun,
    sweep: str,
    table: Microdata,
) -> Compared:
    """Write the page into the private directory that a comparison names, and name the page."""
    has_reference = not (compared.of_two or resolved.spec.over_people)
    workloads = resolved.spec.evaluate.workloads
    content = ComparisonContent(
        ranked=compared.ranked,
        chosen=compared.chosen,
        broken={outcome.name: outcome.refused for outcome in outcomes if outcome.refused},
        refused=compared.refused,
        queries=queries,
        spec=compared.spec,
        sweep=sweep,
        others=compared.others,
        reference=reference_of(workloads, table) if has_reference else None,
        of_two=compared.of_two,
    )
    place = private_directory(compared.page)
    return replace(compared, page=write_comparison_page(place, resolved.spec.title, content))


def _recommend_own(ranked: Sequence[Ranked], others: frozenset[str]) -> Ranked | None:
    """Return the recommended alternative, which has the spec's own promises."""
    return recommend([entry for entry in ranked if entry.outcome.name not in others])


@contextmanager
def _rows_to_compare(
    resolved: ResolvedRun, tried: Sequence[Alternative]
) -> Iterator[tuple[Path, Path]]:
    """Yield the stage of the rows, and the scratch directory, which goes at the end.

    Raises:
        InputError: if the source is not as declared, or a reference cannot be read.
        PromiseError: if a reference lacks people of the table.
    """
    is_encrypted = resolved.spec.stages == "encrypted"
    with (
        scratch_directory(environ) as scratch,
        sanitise_errors("compare"),
        source_secrets(resolved.spec.source, environ),
        encrypted_below(scratch) if is_encrypted else nullcontext(),
    ):
        table = _table(resolved, scratch)
        _require_populations(table, tried)
        yield table, scratch


@passphrases(environ)
def ask_few_alternatives(
    path: Path, overrides: Overrides, chosen: Callable[[Sequence[Alternative]], list[Alternative]]
) -> list[tuple[Alternative, TriedOutcome]]:
    """Try some of the usual alternatives on a few queries of the workloads, and keep nothing.

    Args:
        path: the spec, which has workloads.
        overrides: the keys that the run changes.
        chosen: returns the alternatives that are tried, given those that the spec admits.

    Raises:
        SpecError: if the spec is wrong, or admits no alternative.
        InputError: if the source is not as declared, or a reference cannot be read.
        PromiseError: if a reference lacks people of the table.
    """
    resolved = require_in_memory(resolve_run(path, overrides))
    admitted, _, _ = alternatives_of(path, overrides, {})
    tried = [_as_in_a_release(alternative, resolved) for alternative in chosen(admitted)]
    with _rows_to_compare(resolved, tried) as (table, scratch):
        place = private_directory(scratch / "comparison")
        comparison = KeptComparison(place, table, scratch, by_values=False)
        workloads = resolved.spec.evaluate.workloads
        outcomes = ask_few(comparison, tried, workloads, 1, lambda *_: None)
        return [(alternative, outcomes[alternative.name]) for alternative in tried]


def _as_in_a_release(alternative: Alternative, resolved: ResolvedRun) -> Alternative:
    """Return an alternative as a release would make it: with frozen choices, and with references.

    The line froze what its `auto` chose. Promises about a population get the files of their
    references, named by digests with a fixed key: a comparison needs no key of the line.
    """
    terms = frozen_terms(alternative.terms, resolved.line.private)
    promises, references = refer(terms.promises, resolved.base, lambda: _COMPARED)
    if references.files:
        terms = terms.model_copy(update={"promises": promises})
    choosing = alternative.choosing if isinstance(terms, WishedTerms) else None
    return replace(alternative, terms=terms, choosing=choosing, references=references)


def _require_populations(table: Path, tried: Sequence[Alternative]) -> None:
    """Make sure that references have all people of the table; each promise is checked once."""
    by_promise = {
        promise: alternative for alternative in tried for promise in alternative.terms.promises
    }
    for promise, alternative in by_promise.items():
        if alternative.references.file_for(promise) is not None:
            require_population(table, alternative.terms, promise, alternative.references)


def _in_order_of_trial(ranked: list[Ranked], outcomes: Sequence[TriedOutcome]) -> list[Ranked]:
    """Return the alternatives in the order in which they were asked for."""
    place = {outcome.name: number for number, outcome in enumerate(outcomes)}
    return sorted(ranked, key=lambda alternative: place[alternative.outcome.name])


def _table(resolved: ResolvedRun, scratch: Path) -> Path:
    """Write the de-identified rows into the scratch directory, and return their directory."""
    spec = resolved.spec
    run = private_directory(scratch / "run")
    with line_apart(resolved.line, scratch) as line:  # a copy: the line itself stays unchanged
        here = replace(resolved, line=line)
        whole = write_source(spec.source, spec.own_columns, here.base, run)
        ingested = write_ingested(whole, spec.source, spec.own_columns, spec.nulls, here.base, run)
        if spec.related is not None:
            of_related = spec.columns_with_key
            used = spec.columns_of_facts
            rows = write_related_source(spec.related, of_related, here.base, run, used)
            everyone = spec.related.model_copy(update={"cap": None})  # a limit is an alternative
            ingested = write_with_related(
                ingested, rows, everyone, of_related, spec.nulls, here.base, run, spec.facts
            )
        return write_deidentified(
            ingested, here.terms, here.identifiers, line.private, run, "units"
        )


def _key(resolved: ResolvedRun, table: Path, request: AskedComparison) -> str:
    """Return sixteen hexadecimal digits that identify the line, its rows and the queries."""
    workloads = [workload.model_dump(mode="json") for workload in resolved.spec.evaluate.workloads]
    microdata = load(table)
    # Related rows need names of their people: here their places in the table.
    places = None if microdata.related is None else np.arange(microdata.rows).astype("S16")
    rows = fingerprint(microdata, _COMPARED, places)
    identity = json.dumps([_KEPT_FORMAT, resolved.line.name, rows, workloads, request.sql])
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
