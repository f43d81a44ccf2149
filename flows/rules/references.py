"""The rules of promises about a single version, and of promises about a reference."""

from collections.abc import Callable

from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.candidates.wished import AutoParameters
from sfumato.tasks.continued.parameters import ContinuedVersions


def _references(spec: SpecParts) -> None:
    for i, promise in enumerate(spec.scoped_promises()):
        if promise.of_one_version and (fault := _fault(spec)):
            raise ValueError(f"promises.{i}: {promise.name} {fault}")
    if all(promise.needs_population for promise in spec.promises):
        raise ValueError(
            "promises: all of them speak of a reference, and groups are made for others: promise "
            "k-anonymity, too, with a k at which these hold"
        )


def _fault(spec: SpecParts) -> str | None:
    """Return why a promise about a single version does not fit the spec, or None."""
    if isinstance(spec.versions, ContinuedVersions) or spec.people or spec.groups:
        return (
            "is about one version of one line, and nothing is known of several together: leave out "
            "versions: composed, people and groups"
        )
    if isinstance(spec.partition, AutoParameters):
        return "is judged when groups are made, and partition: auto would not know: name one"
    return None


def _coded_columns(spec: SpecParts) -> None:
    """Refuse codings of columns that are compared with a population, which is not coded."""
    for i, promise in enumerate(spec.scoped_promises()):
        if not promise.needs_population:
            continue
        for name in (*promise.adversary_columns, promise.sensitive or ""):
            if name and spec.columns[name].codings:
                raise ValueError(
                    f"promises.{i}: {promise.name} compares {name!r} with a population, whose "
                    "values are not coded: code both before they are read"
                )


RULES: tuple[Callable[[SpecParts], None], ...] = (_references, _coded_columns)
