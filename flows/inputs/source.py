"""The source of a resolved spec read in this process, for commands that publish nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import environ
from pathlib import Path

import pyarrow as pa

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.verdicts import Finding, judge_rule
from sfumato.flows.inputs.passphrases import source_secrets
from sfumato.flows.inputs.resolved import ResolvedRun, require_whole, with_references
from sfumato.tasks.microdata.readers.declared import RelatedSource
from sfumato.tasks.microdata.source import Ingested, ingest, read, represented_rows
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.parts.divide import DeclaredRows, write_divided
from sfumato.tasks.private.people.coding import code_published
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.stages.ingest import FETCHED


def ingest_source(resolved: ResolvedRun) -> Ingested:
    """Read the rows that a run of a spec is about, with all declared columns.

    Of two tables these are people, with the rows that belong to them.

    Raises:
        SpecError: where the spec asks for parts.
        InputError: where the source is not as declared.
        TransientFault: where it cannot be reached.
    """
    spec = require_whole(resolved).spec
    with source_secrets(spec.source, environ), scratch_directory(environ) as scratch:
        place, environment = scratch / FETCHED, with_secrets(environ)
        if spec.related is None:
            return ingest(spec.source, spec.columns, spec.nulls, resolved.base, environment, place)
        return _ingest_two(resolved, spec.related, environment, place)


def _ingest_two(
    resolved: ResolvedRun, related: RelatedSource, environment: Mapping[str, str], place: Path
) -> Ingested:
    """Read people with their related rows."""
    from sfumato.tasks.microdata.related import match_related

    spec, base = resolved.spec, resolved.base
    whole = read(spec.source, spec.own_columns, base, environment, place)
    people = represented_rows(whole, spec.source, spec.own_columns, spec.nulls, base)
    columns = spec.columns_with_key
    with source_secrets(related.source, environ):
        read_rows = read(related.source, columns, base, environment, place, spec.columns_of_facts)
    rows = represented_rows(read_rows, related.source, columns, spec.nulls, base).microdata
    matched = match_related(
        people.microdata, whole[related.key], rows, related, columns, spec.facts, spec.nulls
    )
    return replace(people, microdata=matched.microdata)


def divide_source(resolved: ResolvedRun, run: Path, *, keep_rows: bool = False) -> Path:
    """Divide the source of a run in parts into a stage of `run`, as a release does.

    Args:
        resolved: the run.
        run: where the stage is written.
        keep_rows: whether rows stay when candidates are made of them.

    Raises:
        InputError: where the source is not as declared, or there is too little room.
        PromiseError: where what is declared of the source is broken.
    """
    spec = resolved.spec
    rows = DeclaredRows(spec.source, spec.columns, spec.nulls, resolved.base, resolved.unit)
    with source_secrets(spec.source, environ):
        return write_divided(rows, resolved.terms, resolved.line, run, _judge, keep_rows=keep_rows)


def _judge(table: pa.Table, rules: Sequence[Rule]) -> tuple[Finding, ...]:
    return tuple(judge_rule("source", rule, table) for rule in rules)


def coded_source(resolved: ResolvedRun, microdata: Microdata) -> Microdata:
    """Return all columns of a source, the published ones coded; the line remembers nothing.

    Raises:
        InputError: where a value cannot be coded, or a column holds free text.
        PromiseError: where the line has lost what its published versions were coded by.
    """
    terms, private = with_references(resolved).terms, resolved.line.private
    coded = code_published(
        microdata, terms.columns, terms.digest(), resolved.unit, private
    ).microdata
    own = [coded[c.name] if coded.has(c.name) else c for c in microdata.columns]
    return replace(microdata.keep(own), related=coded.related)
