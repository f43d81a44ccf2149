"""Usual grids of a comparison: partitions, forms, strata, and promises of their own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.flows.inputs.spec import ReleaseSpec
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS

Grid = Mapping[str, Any]

_VARIANTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "ke": [{"objective": ["sum", "weighted", "max"]}],
    "redistributed": [{"denominator": [16, "exact"]}],
    "mondrian": [{}, {"mode": "relaxed"}, {"leave": 0.25}],
    "anatomy": [{}, {"alike": {"epsilon": 1}}],
}
_AUTO = {"method": "auto"}
_NUMBERS = ("integer", "decimal", "float")


def usual_grids(document: Mapping[str, Any], spec: ReleaseSpec) -> Iterator[Grid]:
    """Yield the usual grids: all partitions and forms, strata, and forms that need other promises.

    What `auto` chooses is tried beside the partitions, once in each form whatever its variants.
    Strata are tried in the spec's own partition and form: one by the hierarchy of each
    quasi-identifier, beside those that the owner wishes. Forms that show exact rows admit no
    k-anonymity: they are tried with what is left of the promises, or with a promise about values.

    Args:
        document: the spec as it is written.
        spec: the same, read.
    """
    partitions = _each(PARTITION_PARAMETERS)
    yield {"partition": partitions, "form": _each(FORM_PARAMETERS)}
    yield {"partition": [_AUTO], "form": [{"method": name} for name in FORM_PARAMETERS]}
    if strata := _strata(document):
        yield {"strata": strata}
    if not spec.form.protects_values:
        return
    for method, kind in FORM_PARAMETERS.items():
        admitted = [kind.admits(promise) for promise in spec.promises]
        if kind.shows == "rows" and not all(admitted):
            promises = _promises_of_its_own(document, spec, admitted)
            yield {
                "partition": [*partitions, _AUTO],
                "form": _each({method: kind}),
                "promises": [promises],
            }


def _each(parameters: Mapping[str, type]) -> list[dict[str, Any]]:
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
    have as many different values as they had to have rows.
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
    for name in (column for column in sensitive if column not in promised):
        if spec.columns[name].type in _NUMBERS:
            written.append({"model": "ke-anonymity", "k": number, "e": 0, "sensitive": name})
        else:
            own = {"model": "l-diversity", "variant": "distinct", "l": number, "sensitive": name}
            written.append(own)
    return written
