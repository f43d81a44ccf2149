"""Alternatives to a spec of two related tables: promises, limits to rows, and one joined table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.related import KPeople, RelatedDiversity
from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.reader import AlternativeReader
from sfumato.flows.inputs.spec import ReleaseSpec
from sfumato.tasks.choose.alternative import Alternative
from sfumato.tasks.choose.two_tables import VARIANTS_OF_ROWS
from sfumato.tasks.microdata.table import Microdata

Document = Mapping[str, Any]
_LEAST = 2  # people of a group, and values
JOINED = "one joined table · mondrian · permuted"
"""The name of the alternative that publishes a row for each related row."""


def grids_of_two(document: Document, spec: ReleaseSpec) -> Iterator[Mapping[str, Any]]:
    """Yield the usual grids for two tables: cuts, and weaker and stronger promises.

    Args:
        document: the spec as it is written.
        spec: the same, read.
    """
    yield {"partition": [{"method": "mondrian"}, {"method": "mondrian", "mode": "relaxed"}]}
    others = _other_promises(document["promises"], spec.promises)
    if promises := [promise for promise in others if promise != document["promises"]]:
        yield {"promises": promises}


def _other_promises(
    written: Sequence[Document], promises: Sequence[PrivacyModel]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the promises with half and twice the k, with fewer values, and against insiders."""
    own = [dict(promise) for promise in written]
    kinds = [promise.name for promise in promises]
    for times in (0.5, 2):
        yield [
            {**promise, "k": max(_LEAST, int(promise["k"] * times))}
            if kind == "people"
            else promise
            for promise, kind in zip(own, kinds, strict=True)
        ]
    diverse = [isinstance(promise, RelatedDiversity) for promise in promises]
    if any(diverse):
        yield [
            {**promise, "l": max(_LEAST, promise["l"] - 1)} if is_diverse else promise
            for promise, is_diverse in zip(own, diverse, strict=True)
        ]
        yield [
            {**promise, "numbers": "known", "insiders": 1} if is_diverse else promise
            for promise, is_diverse in zip(own, diverse, strict=True)
        ]


def variants_of_rows(
    document: Document, spec: ReleaseSpec, table: Microdata
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield other values of keys of the table of rows: a name, and keys in place of the spec's.

    Args:
        document: the spec as it is written.
        spec: the same, read.
        table: the people with their rows, with no one left out.
    """
    rows = spec.form.related_table
    for key, (default, variants) in VARIANTS_OF_ROWS.items():
        own = document["tables"][rows].get(key, default)
        for value in variants(table):
            if value != own:
                yield (
                    f"{rows}: {key} {_in_words(value)}",
                    _with_keys(document, rows, {key: value}),
                )


def _with_keys(document: Document, rows: Any, keys: Document) -> dict[str, Any]:
    """Return the keys of a spec that change if keys of its table of rows do."""
    tables = document["tables"]
    return {"tables": {**tables, rows: {**tables[rows], **keys}}}


def keys_of_rows(document: Document, choices: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each choice of keys of the table of rows: in words, and as keys of the spec.

    Args:
        document: the spec as it is written.
        choices: what a grid has under `related`.

    Raises:
        SpecError: where the spec has one table, or the grid has no list of mappings.
    """
    tables = document.get("tables")
    rows = next((n for n, t in (tables or {}).items() if isinstance(t, Mapping) and "of" in t), "")
    if not rows:
        raise SpecError("--grid: related: has keys of a second table, and the spec has one table")
    if not isinstance(choices, list) or not all(isinstance(c, Mapping) for c in choices):
        raise SpecError(
            "--grid: related: must be a list of mappings, such as `[{maximum: of-groups}, "
            "{maximum: {at-most: 6, else: leave-out}}]`"
        )
    for choice in choices:
        words = ", ".join(f"{key} {_in_words(value)}" for key, value in choice.items())
        yield f"{rows}: {words}", _with_keys(document, rows, choice)


def _in_words(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    return ", ".join(f"{name} {inner}" for name, inner in value.items())


def joined_keys(document: Document, spec: ReleaseSpec) -> dict[str, Any]:
    """Return the keys of a spec of one joined table, a row for each related row.

    Its promises are k people, and distinct l-diversity over rows and over people for each promise
    of values of related rows. Form permuted shows quasi-identifiers as they are, as two tables do.

    Raises:
        SpecError: if no promise has a counterpart of one table.
    """
    promises: list[dict[str, Any]] = [
        {"model": "l-diversity", "variant": "distinct", "l": p.l, "sensitive": p.sensitive}
        for p in spec.promises
        if isinstance(p, RelatedDiversity)
    ]
    of_people = [{"model": "people", "k": p.k} for p in spec.promises if isinstance(p, KPeople)]
    if not promises:
        raise SpecError("one joined table needs a promise of values (related-l-diversity)")
    tables, rows = document["tables"], spec.form.related_table
    people, key = tables[spec.form.table_of_rows], spec.form.person_key
    of_rows = {name: column for name, column in tables[rows]["columns"].items() if name != key}
    unit = {**people["columns"][key], "repeat": "all"}
    return {
        "tables": None,
        "source": people["source"],
        "columns": {**people["columns"], key: unit, **of_rows},
        "form": {"method": "permuted"},
        "partition": {"method": "mondrian"},
        "promises": [*of_people, *promises],
    }


def alternatives_to_rows(
    reader: AlternativeReader, table: Microdata
) -> tuple[list[Alternative], dict[str, str], dict[str, dict[str, Any]]]:
    """Return the alternatives to the table of rows, and one joined table beside them.

    None of them is recommended: a limit leaves people out, and one joined table promises less.

    Args:
        reader: of the spec.
        table: the people with their rows, with no one left out.

    Returns:
        The alternatives, why others are not admitted, by their names, and the keys that each
        admitted one changes.
    """
    document, own = reader.document, reader.spec({})
    admitted: list[Alternative] = []
    refused: dict[str, str] = {}
    changes: dict[str, dict[str, Any]] = {}
    for name, instead in variants_of_rows(document, own, table):
        try:
            terms = reader.terms(reader.spec(instead), instead)
        except SpecError as error:
            refused[name] = reader.without_path(error)
            continue
        admitted.append(Alternative(name, terms, other_promise=True))
        changes[name] = instead
    try:
        joined = joined_keys(document, own)
        terms = reader.terms(reader.spec(joined), joined)
    except SpecError as error:
        refused[JOINED] = reader.without_path(error)
    else:
        base = reader.terms(own, {})
        admitted.append(Alternative(JOINED, base, other_promise=True, joined=terms))
        changes[JOINED] = joined
    return admitted, refused, changes
