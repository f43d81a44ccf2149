"""What versions tell together as an expectation: it sees counts alone, and never who is who."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.composition.judging import words
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.suites.engine import Described, discreet
from sfumato.expectations.suites.groups import GroupsOfTable
from sfumato.expectations.verdicts import GROUPS, Expectation


def expectation_of_atoms(passed: Passed, promises: Sequence[PrivacyModel]) -> Expectation:
    """The expectation that what is told of people keeps what is promised of their values."""
    asked = [promise.parameters() for promise in _over_versions(promises)]
    return Expectation("expect_atoms_to_keep", {"promises": asked, "route": passed.route})


def _over_versions(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    asked = (promise.over_versions for promise in promises)
    return [promise for promise in asked if promise is not None]


class ExpectAtomsToKeep(Described):
    """What all versions together tell of the people shown here keeps each of these promises."""

    metric_dependencies: ClassVar = (GroupsOfTable.metric_name,)
    success_keys: ClassVar = ("promises", "route")
    promises: list[dict[str, Any]]
    route: str

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        with discreet(GROUPS):
            groups = metrics[GroupsOfTable.metric_name]
            kwargs = self.configuration.kwargs
            asked = [PROMISE.validate_python(promise) for promise in kwargs["promises"]]
            verdicts = [promise.check(groups) for promise in asked]
            likely = [promise for promise in asked if not promise.by_candidates]
            told = kwargs["route"] in ("A", "S") or not likely
            failing = max((verdict.failing for verdict in verdicts), default=0)
            seen = {"groups": len(groups), "failing": failing}
            kept = told and all(verdict.holds for verdict in verdicts)
            return {"success": kept, "result": {"observed_value": seen}}

    @classmethod
    def sentence(cls, asked: Mapping[str, Any]) -> str:
        """The promises, in words."""
        promises = [words(PROMISE.validate_python(promise)) for promise in asked["promises"]]
        return f"All versions together keep {', '.join(promises)}"
