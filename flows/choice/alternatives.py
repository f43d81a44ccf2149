"""Alternatives to a spec: partitions, forms, strata and parameters of promises, each with each."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.grids import usual_grids
from sfumato.flows.choice.reader import AlternativeReader
from sfumato.flows.inputs.documents import parse_yaml, read_yaml
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.choose.alternative import Alternative
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS

_PROTECTS = "protects"
_NAMES = ("method", "model")
_PARTS = ("partition", "form", "strata", "promises")


def read_grid(told: str | None) -> Mapping[str, Any]:
    """A grid as YAML, or in a file; without one it is empty: what is usual is compared.

    `partition` and `form` are lists of choices as a spec writes them, in which a list of values
    stands for each of them; `strata` is a list of lists; `promises` has lists of values by the name
    of a parameter, which all promises get that have it, or is a list of lists of promises, each in
    place of the spec's.

    Raises:
        SpecError: where it is none.
    """
    if told is None:
        return {}
    found = read_yaml(Path(told)) if Path(told).is_file() else _parsed(told)
    if not isinstance(found, dict) or not found or not set(found) <= set(_PARTS):
        raise SpecError(f"--grid: has to be a mapping of some of {', '.join(_PARTS)}")
    return found


def _parsed(told: str) -> Any:
    try:
        return parse_yaml(told)
    except (ValueError, yaml.YAMLError):
        raise SpecError("--grid: is neither a file nor YAML") from None


def alternatives_of(
    path: Path, overrides: Overrides, grid: Mapping[str, Any]
) -> tuple[list[Alternative], dict[str, str], dict[str, dict[str, Any]]]:
    """The alternatives of a grid that a spec admits; of the usual ones, where it is empty.

    Returns:
        The alternatives, why others are not admitted, by their names, and the keys that each
        admitted one changes.

    Raises:
        SpecError: where the spec itself is wrong, or admits none of them.
    """
    document = read_yaml(path)
    reader = AlternativeReader(path, overrides, document)
    own = reader.spec({})
    grids = [grid] if grid else usual_grids(document, own)
    admitted, refused, changes = [], {}, {}
    for name, grid_keys, other in (one for grid in grids for one in _combinations(document, grid)):
        try:
            instead = reader.with_aims(grid_keys)
            spec = reader.spec(instead)
            terms, choosing = reader.terms(spec, instead), spec.choosing
        except SpecError as error:
            refused[name] = str(error).removeprefix(f"{path}: ")
            continue
        if choosing is None and terms.partition.method not in PARTITION_PARAMETERS:
            refused[name] = "its groups are another line's: name partitions in the grid"
            continue
        if name not in changes:
            admitted.append(Alternative(name, terms, other_promise=other, choosing=choosing))
            changes[name] = instead
    if not admitted:
        first = next(iter(refused.values()), "the grid is empty")
        raise SpecError(f"--grid: the spec admits none of its alternatives: {first}")
    return admitted, refused, changes


def _combinations(
    document: Mapping[str, Any], grid: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Each alternative by its name, as keys in place of the spec's; and if it promises others."""
    partitions: list[Any] = list(_expanded(grid.get("partition"))) or [None]
    forms: list[Any] = list(_expanded(grid.get("form"))) or [None]
    strata = grid.get("strata") or [None]
    told = grid.get("promises")
    asked = _own_promises(told) if isinstance(told, list) else _parameters(document, told)
    for partition, form, stratum, wanted in product(partitions, forms, strata, asked):
        instead: dict[str, Any] = {}
        if partition is not None:
            instead |= {"partition": partition, "groups": None}
        if form is not None:
            instead["form"] = _protecting(document["form"], form)
        if stratum is not None:
            instead["strata"] = stratum
        words, promises = wanted
        if promises is not None:
            instead["promises"] = promises
        other = isinstance(told, list) and promises != document["promises"]
        yield _name(document, partition, form, stratum, words), instead, other


_Wanted = tuple[str, list[dict[str, Any]] | None]


def _parameters(document: Mapping[str, Any], told: Any) -> list[_Wanted]:
    """The spec's promises with each combination of other parameters, and these in words."""
    if told is None:
        return [("", None)]
    asked, promises = list(_expanded([told])), document.get("promises") or ()
    _require_said(promises, asked)
    return [
        (
            ", ".join(f"{key} = {value}" for key, value in one.items()),
            [_with(promise, one) for promise in promises],
        )
        for one in asked
    ]


def _own_promises(told: list[Any]) -> list[_Wanted]:
    """Promises in place of the spec's, and these in words."""
    if not all(isinstance(one, list) and all(isinstance(p, dict) for p in one) for one in told):
        raise SpecError("--grid: promises: is a mapping, or a list of lists of promises")
    return [(f"promises instead: {'; '.join(map(_words, one))}", one) for one in told]


def _protecting(written: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """A form that protects what the spec's form does, where it can: it is no choice."""
    kind = FORM_PARAMETERS.get(form.get("method", ""))
    kept = kind is not None and _PROTECTS in kind.model_fields and _PROTECTS in written
    return {_PROTECTS: written[_PROTECTS], **form} if kept else {**form}


def _expanded(choices: Any) -> Iterator[dict[str, Any]]:
    """Choices with one value for each of their keys."""
    for choice in choices if isinstance(choices, list) else [choices] if choices else []:
        if not isinstance(choice, dict):
            raise SpecError("--grid: a choice is a mapping: {method: ke, objective: [sum, max]}")
        values = [v if isinstance(v, list) else [v] for v in choice.values()]
        yield from (dict(zip(choice, one, strict=True)) for one in product(*values))


def _require_said(
    promises: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse a parameter that no promise has: its values would all be the spec itself."""
    said = dict.fromkeys(key for promise in promises for key in promise if key != "model")
    for name in dict.fromkeys(key for wanted in asked for key in wanted):
        if name not in said:
            raise SpecError(f"promises: none of the spec says {name!r}, but {', '.join(said)}")


def _with(promise: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {**promise, **{key: value for key, value in wanted.items() if key in promise}}


def _name(
    document: Mapping[str, Any],
    partition: Mapping[str, Any] | None,
    form: Mapping[str, Any] | None,
    strata: Sequence[Any] | None,
    wanted: str,
) -> str:
    """What tells an alternative from others, in a line."""
    kept = document.get("partition") or {"method": f"groups of {document.get('groups')}"}
    parts = [_words(partition or kept), _words(form or document["form"])]
    if strata is not None:
        parts.append(f"strata {', '.join(map(str, strata)) or 'none'}")
    if wanted:
        parts.append(wanted)
    return " · ".join(parts)


def _words(choice: Mapping[str, Any]) -> str:
    called = choice.get("method") or choice.get("model")
    keys = [f"{key} {value}" for key, value in choice.items() if key not in _NAMES]
    return f"{called} ({', '.join(keys)})" if keys else str(called)
