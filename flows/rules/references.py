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
            "promises: all of them are about a reference, and groups cannot be made "
            "from these only. Add k-anonymity, with a k large enough to keep the other "
            "promises"
        )


def _fault(spec: SpecParts) -> str | None:
    """Return why a promise about a single version does not fit the spec, or None."""
    if isinstance(spec.versions, ContinuedVersions) or spec.people or spec.groups:
        return (
            "is about one version of one line, and cannot be judged for several "
            "together. Leave out `versions: composed`, people and groups"
        )
    if isinstance(spec.partition, AutoParameters):
        return (
            "is judged when groups are made, so `partition: auto` cannot use it to choose. "
            "Name a partition, such as mondrian"
        )
    return None


def _coded_columns(spec: SpecParts) -> None:
    """Refuse codings of columns that are compared with a population, which is not coded."""
    for i, promise in enumerate(spec.scoped_promises()):
        if not promise.needs_population:
            continue
        for name in (*promise.adversary_columns, promise.sensitive or ""):
            if name and spec.columns[name].codings:
                raise ValueError(
                    f"promises.{i}: {promise.name} compares {name!r} with a "
                    "population, and the population's values are not coded. Code both "
                    "tables before Sfumato reads them"
                )


RULES: tuple[Callable[[SpecParts], None], ...] = (_references, _coded_columns)
