"""Usual grids of a comparison: partitions, forms, strata, and promises of their own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sfumato.flows.inputs.spec import ReleaseSpec
from sfumato.tasks.forms.parameters import FORM_PARAMETERS, OF_ONE_TABLE
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS

Grid = Mapping[str, Any]

_VARIANTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "ke": [{"objective": ["sum", "weighted", "max"]}],
    "redistributed": [{"denominator": [16, "exact"]}],
    "mondrian": [{}, {"mode": "relaxed"}, {"leave": 0.25}],
    "anatomy": [{}, {"alike": {"epsilon": 1}}],
}
_AUTO = {"method": "auto"}
_KE = "ke"
_DISTINCT = {"model", "variant", "l", "sensitive"}
"""The keys of distinct l-diversity that (k,e)-anonymity has, too: nobody knows more, no value is
exempt."""
_NUMBERS = ("integer", "decimal", "float")


class UsualGrid(NamedTuple):
    """A grid of the usual comparison.

    Attributes:
        keys: the choices to be combined, as in `--grid`.
        equivalent: whether its promises say the same as the spec's, in other words.
    """

    keys: Grid
    equivalent: bool = False


def usual_grids(document: Mapping[str, Any], spec: ReleaseSpec) -> Iterator[UsualGrid]:
    """Yield the usual grids: all partitions and forms, strata, and forms that need other promises.

    What `auto` chooses is tried beside the partitions, once in each form whatever its variants.
    Strata are tried in the spec's own partition and form: one by the hierarchy of each
    quasi-identifier, beside those that the owner wishes. Forms that show exact rows admit no
    k-anonymity: they are tried with what is left of the promises, or with a promise about values.
    Distinct l-diversity of a number is (k,e)-anonymity with k = l and e = 0: where the spec
    promises it, `ke` is tried with the promise in these words.

    Args:
        document: the spec as it is written.
        spec: the same, read.
    """
    partitions = _each(PARTITION_PARAMETERS)
    yield UsualGrid({"partition": partitions, "form": _each(OF_ONE_TABLE)})
    wished = [{"method": name} for name in OF_ONE_TABLE]
    yield UsualGrid({"partition": [_AUTO], "form": wished})
    if strata := _strata(document):
        yield UsualGrid({"strata": strata})
    reworded = _as_ke_anonymity(list(document["promises"]), spec)
    if reworded != document["promises"]:
        grid = {"partition": _each([_KE]), "form": _each(OF_ONE_TABLE), "promises": [reworded]}
        yield UsualGrid(grid, equivalent=True)
    if spec.form.protects_values:
        yield from map(UsualGrid, _grids_of_other_promises(document, spec))


def _grids_of_other_promises(document: Mapping[str, Any], spec: ReleaseSpec) -> Iterator[Grid]:
    """Yield a grid for each form of exact rows that does not admit all promises of the spec."""
    for method, kind in FORM_PARAMETERS.items():
        admitted = [kind.admits(promise) for promise in spec.promises]
        if kind.shows == "rows" and not all(admitted):
            promises = _promises_of_its_own(document, spec, admitted)
            form, reworded = _each([method]), _as_ke_anonymity(promises, spec)
            partitions = [*_each(PARTITION_PARAMETERS), _AUTO]
            yield {"partition": partitions, "form": form, "promises": [promises]}
            if reworded != promises:
                yield {"partition": _each([_KE]), "form": form, "promises": [reworded]}


def _as_ke_anonymity(promises: list[dict[str, Any]], spec: ReleaseSpec) -> list[dict[str, Any]]:
    """Return the promises, with distinct l-diversity of numbers said as (k,e)-anonymity."""
    columns = spec.names_with_roles("sensitive")

    def reword(promise: dict[str, Any]) -> dict[str, Any]:
        name = promise.get("sensitive") or (columns[0] if len(columns) == 1 else "")
        is_distinct = promise["model"] == "l-diversity" and promise.get("variant") == "distinct"
        if not is_distinct or set(promise) - _DISTINCT or name not in columns:
            return promise
        if spec.columns[name].type not in _NUMBERS:
            return promise
        return {"model": "ke-anonymity", "k": promise["l"], "e": 0, "sensitive": name}

    return [reword(promise) for promise in promises]


def _each(parameters: Iterable[str]) -> list[dict[str, Any]]:
    return [{"method": name, **more} for name in parameters for more in _VARIANTS.get(name, [{}])]


def _strata(document: Mapping[str, Any]) -> list[list[Any]]:
    """Return the spec's own strata, each time with one more by a column's hierarchy.

    The level is the widest nodes of a rule, or the lowest level of a file.
    """
    own = list(document.get("strata") or [])
    taken = {stratum if isinstance(stratum, str) else stratum.get("column") for stratum in own}
    return [
        [*own, {"column": name, "level": _level(keys["hierarchy"])}]
        for name, keys in document.get("columns", {}).items()
        if keys.get("role") == "quasi-identifier" and keys.get("hierarchy") and name not in taken
    ]


def _level(hierarchy: Any) -> int:
    rules = hierarchy.values() if isinstance(hierarchy, Mapping) else ()
    return next((len(rule) for rule in rules if isinstance(rule, list)), 1)


def _promises_of_its_own(
    document: Mapping[str, Any], spec: ReleaseSpec, admitted: Sequence[bool]
) -> list[dict[str, Any]]:
    """Return the promises that a form admits, and others for columns that lose theirs.

    Of numbers that is (k,e)-anonymity with any range, of other values distinct l-diversity: groups
    have as many different values as they had to have rows. Where people have several rows, groups
    have as many people.
    """
    written = [
        dict(promise)
        for promise, stays in zip(document["promises"], admitted, strict=True)
        if stays
    ]
    promised = {
        promise.sensitive for promise, stays in zip(spec.promises, admitted, strict=True) if stays
    }
    sensitive = spec.names_with_roles("sensitive")
    if promised & {None}:
        promised |= set(sensitive)
    sizes = [getattr(promise, "k", None) for promise in spec.promises]
    number = max([2, *(k for k in sizes if isinstance(k, int))])
    if spec.over_people and not all(admitted):
        written.append({"model": "people", "k": number})
    for name in (column for column in sensitive if column not in promised):
        if spec.columns[name].type in _NUMBERS:
            written.append({"model": "ke-anonymity", "k": number, "e": 0, "sensitive": name})
        else:
            own = {"model": "l-diversity", "variant": "distinct", "l": number, "sensitive": name}
            written.append(own)
    return written
