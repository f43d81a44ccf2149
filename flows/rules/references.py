"""The rules of promises about one version alone, and of those that a reference tells of."""

from collections.abc import Callable

from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.candidates.wished import AutoParameters
from sfumato.tasks.continued.parameters import ContinuedVersions


def _references(spec: SpecParts) -> None:
    for i, promise in enumerate(spec.scoped()):
        if promise.of_one_version and (fault := _fault(spec)):
            raise ValueError(f"promises.{i}: {promise.name} {fault}")
    if all(promise.needs_population for promise in spec.promises):
        raise ValueError(
            "promises: all of them speak of a reference, and groups are made for others: promise "
            "k-anonymity, too, with a k at which these hold"
        )


def _fault(spec: SpecParts) -> str | None:
    """The key with which no promise about one version alone goes."""
    if isinstance(spec.versions, ContinuedVersions) or spec.people or spec.groups:
        return (
            "is about one version of one line, and nothing is known of several together: leave out "
            "versions: composed, people and groups"
        )
    if isinstance(spec.partition, AutoParameters):
        return "is judged when groups are made, and partition: auto would not know: name one"
    return None


def _coded(spec: SpecParts) -> None:
    """A population is read as it is: no coding of the source acts on it."""
    for i, promise in enumerate(spec.scoped()):
        if not promise.needs_population:
            continue
        for name in (*promise.adversary_columns, promise.sensitive or ""):
            if name and spec.columns[name].codings:
                raise ValueError(
                    f"promises.{i}: {promise.name} compares {name!r} with a population, whose "
                    "values are not coded: code both before they are read"
                )


RULES: tuple[Callable[[SpecParts], None], ...] = (_references, _coded)
