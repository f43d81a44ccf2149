"""Alternatives to a spec: partitions, forms, strata and parameters of promises, each with each."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.grids import UsualGrid, usual_grids
from sfumato.flows.choice.reader import AlternativeReader
from sfumato.flows.choice.two_tables import grids_of_two, keys_of_rows
from sfumato.flows.inputs.documents import parse_yaml, read_yaml
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.spec import ReleaseSpec
from sfumato.flows.rules.two_tables import APART
from sfumato.tasks.choose.alternative import Alternative
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS

_PROTECTS = "protects"
_NAMES = ("method", "model")
_PARTS = ("partition", "form", "strata", "promises", "related")


def read_grid(text: str | None) -> Mapping[str, Any]:
    """Read a grid from YAML or a file; without a text it is empty, for the usual comparison.

    `partition` and `form` are lists of choices as a spec writes them, in which a list of values
    stands for each of them; `strata` is a list of lists; `promises` has lists of values by the name
    of a parameter, which all promises get that have it, or is a list of lists of promises, each in
    place of the spec's. `related` is a list of mappings with keys of the table of rows, for two
    tables.

    Raises:
        SpecError: where it is none.
    """
    if text is None:
        return {}
    grid = read_yaml(Path(text)) if Path(text).is_file() else _parse_grid(text)
    if not isinstance(grid, dict) or not grid or not set(grid) <= set(_PARTS):
        raise SpecError(
            f"--grid: must have keys, each one of {', '.join(_PARTS)}. Write `--grid "
            "'{partition: [{method: ke}]}'`"
        )
    return grid


def _parse_grid(text: str) -> Any:
    try:
        return parse_yaml(text)
    except (ValueError, yaml.YAMLError):
        raise SpecError(
            "--grid: is not a file, and cannot be read as YAML. Write `--grid '{partition: "
            "[{method: ke}]}'`"
        ) from None


def alternatives_of(
    path: Path, overrides: Overrides, grid: Mapping[str, Any]
) -> tuple[list[Alternative], dict[str, str], dict[str, dict[str, Any]]]:
    """Return the alternatives of a grid that a spec admits; an empty grid means the usual ones.

    Returns:
        The alternatives, why others are not admitted, by their names, and the keys that each
        admitted one changes.

    Raises:
        SpecError: where the spec itself is wrong, or admits none of them.
    """
    document = read_yaml(path)
    reader = AlternativeReader(path, overrides, document)
    own = reader.spec({})
    grids = [UsualGrid(grid)] if grid else _usual_grids(document, own)
    admitted, refused, changes = [], {}, {}
    for name, grid_keys, other in (
        combination for usual in grids for combination in _combinations(document, usual)
    ):
        try:
            instead = reader.with_aims(grid_keys)
            spec = reader.spec(instead)
            terms, choosing = reader.terms(spec, instead), spec.choosing
        except SpecError as error:
            refused[name] = reader.without_path(error)
            continue
        if choosing is None and terms.partition.method not in PARTITION_PARAMETERS:
            refused[name] = "it uses the groups of another line; name partitions in the grid"
            continue
        if name not in changes:
            admitted.append(Alternative(name, terms, other_promise=other, choosing=choosing))
            changes[name] = instead
    if not admitted:
        first = next(iter(refused.values()), "the grid is empty")
        raise SpecError(f"--grid: no alternative fits the spec. The first one fails: {first}")
    return admitted, refused, changes


def _usual_grids(document: Mapping[str, Any], spec: ReleaseSpec) -> Iterator[UsualGrid]:
    if spec.related is None:
        return usual_grids(document, spec)
    return map(UsualGrid, grids_of_two(document, spec))


def _combinations(
    document: Mapping[str, Any], usual: UsualGrid
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield each alternative: its name, keys in place of the spec's, True if it promises others."""
    grid = usual.keys
    partitions: list[Any] = list(_single_choices(grid.get("partition"))) or [None]
    forms: list[Any] = list(_single_choices(grid.get("form"))) or [None]
    strata = grid.get("strata") or [None]
    promised = grid.get("promises")
    variants = (
        _own_promises(promised, document["promises"])
        if isinstance(promised, list)
        else _parameters(document, promised)
    )
    rows = list(keys_of_rows(document, grid["related"])) if "related" in grid else [("", {})]
    choices = product(partitions, forms, strata, variants, rows)
    for partition, form, stratum, variant, (words_on_rows, of_rows) in choices:
        instead: dict[str, Any] = dict(of_rows)
        if partition is not None:
            instead |= {"partition": partition, "groups": None}
        if form is not None:
            instead["form"] = _protecting(document.get("form") or {}, form)
        if stratum is not None:
            instead["strata"] = stratum
        words, promises = variant
        words = ", ".join(filter(None, [words, words_on_rows]))
        if promises is not None:
            instead["promises"] = promises
        is_own = promises == document["promises"] or usual.equivalent
        other = bool(of_rows) or (isinstance(promised, list) and not is_own)
        yield _name(document, partition, form, stratum, words), instead, other


_PromiseVariant = tuple[str, list[dict[str, Any]] | None]


def _parameters(document: Mapping[str, Any], grid: Any) -> list[_PromiseVariant]:
    """Return the spec's promises with each combination of parameters, after these in words."""
    if grid is None:
        return [("", None)]
    choices, promises = list(_single_choices([grid])), document.get("promises") or ()
    _require_parameters(promises, choices)
    return [
        (
            ", ".join(f"{key} = {value}" for key, value in choice.items()),
            [_with_values(promise, choice) for promise in promises],
        )
        for choice in choices
    ]


def _own_promises(lists: list[Any], own: Sequence[Mapping[str, Any]]) -> list[_PromiseVariant]:
    """Return each list of promises in place of the spec's, after what differs in words."""
    if not all(
        isinstance(promises, list) and all(isinstance(p, dict) for p in promises)
        for promises in lists
    ):
        raise SpecError(
            "--grid: promises: must be a mapping of parameters, or a list of lists of promises"
        )
    return [
        (f"promises instead: {'; '.join(_promises_in_words(promises, own))}", promises)
        for promises in lists
    ]


def _promises_in_words(
    promises: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield promises in words; of the spec's own with other numbers, only those that differ."""
    same = [_subject_of(promise) for promise in promises] == [_subject_of(p) for p in own]
    if not same or list(promises) == list(own):
        yield from map(_words, promises)
        return
    for promise, before in zip(promises, own, strict=True):
        changed = {key: value for key, value in promise.items() if before.get(key) != value}
        if changed:
            column = f" of {promise['sensitive']}" if "sensitive" in promise else ""
            values = (f"{key} {_as_in_yaml(value)}" for key, value in changed.items())
            yield f"{promise['model']}{column} ({', '.join(values)})"


def _subject_of(promise: Mapping[str, Any]) -> tuple[Any, Any]:
    return promise.get("model"), promise.get("sensitive")


def _protecting(written: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """Return a form with the `protects` of the spec's form, if it can have that key.

    What a form protects is not a choice.
    """
    kind = FORM_PARAMETERS.get(form.get("method", ""))
    protects = kind is not None and _PROTECTS in kind.model_fields and _PROTECTS in written
    return {_PROTECTS: written[_PROTECTS], **form} if protects else {**form}


def _single_choices(choices: Any) -> Iterator[dict[str, Any]]:
    """Yield the choices with a single value for each of their keys."""
    for choice in choices if isinstance(choices, list) else [choices] if choices else []:
        if not isinstance(choice, dict):
            raise SpecError(
                "--grid: a choice must be a mapping, such as `{method: ke, objective: [sum, max]}`"
            )
        values = [v if isinstance(v, list) else [v] for v in choice.values()]
        yield from (dict(zip(choice, combination, strict=True)) for combination in product(*values))


def _require_parameters(
    promises: Sequence[Mapping[str, Any]], choices: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse a parameter that no promise has: its values would all be the spec itself."""
    known_names = dict.fromkeys(key for promise in promises for key in promise if key != "model")
    for name in dict.fromkeys(key for choice in choices for key in choice):
        if name not in known_names:
            raise SpecError(
                f"promises: no promise of the spec has the parameter {name!r}; choose "
                f"from {', '.join(known_names)}"
            )


def _with_values(promise: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {**promise, **{key: value for key, value in values.items() if key in promise}}


def _name(
    document: Mapping[str, Any],
    partition: Mapping[str, Any] | None,
    form: Mapping[str, Any] | None,
    strata: Sequence[Any] | None,
    parameters: str,
) -> str:
    """Return the name of an alternative: its partition, form, strata and parameters in a line."""
    own_partition = document.get("partition") or {"method": f"groups of {document.get('groups')}"}
    parts = [
        _words(partition or own_partition),
        _words(form or document.get("form") or {"method": APART}),
    ]
    if strata is not None:
        parts.append(f"strata {', '.join(map(_as_in_yaml, strata)) or 'none'}")
    if parameters:
        parts.append(parameters)
    return " · ".join(parts)


def _words(choice: Mapping[str, Any]) -> str:
    title = choice.get("method") or choice.get("model")
    keys = [f"{key} {_as_in_yaml(value)}" for key, value in choice.items() if key not in _NAMES]
    return f"{title} ({', '.join(keys)})" if keys else str(title)


def _as_in_yaml(value: Any) -> str:
    """Return a value of a spec as the spec writes it on one line.

    >>> _as_in_yaml({"column": "age", "level": 2})
    '{column: age, level: 2}'
    """
    if not isinstance(value, Mapping):
        return str(value)
    return f"{{{', '.join(f'{key}: {_as_in_yaml(inner)}' for key, inner in value.items())}}}"
