"""Every registered privacy model as an expectation, made of the model and nothing else."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.suites.engine import (
    Described,
    MetricConfiguration,
    PandasExecutionEngine,
    TableMetricProvider,
    discreet,
    frame_of,
    metric_value,
)
from sfumato.expectations.suites.frames import from_frame
from sfumato.expectations.verdicts import GROUPS, expectation_type, observation


class GroupsOfFrame(TableMetricProvider):
    """The groups that a frame carries, once for all promises on them."""

    metric_name = "sfumato.groups"

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any) -> Groups:
        with discreet(GROUPS):
            return from_frame(frame_of(execution_engine, metric_domain_kwargs))


class PromiseVerdict(TableMetricProvider):
    """The verdict of the privacy model with these parameters on the groups."""

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, metric_value_kwargs: Any, metrics: Any, **_: Any) -> Verdict:
        with discreet(metric_value_kwargs["model"]):
            given = {k: v for k, v in metric_value_kwargs.items() if v is not None}
            return PROMISE.validate_python(given).check(metrics[GroupsOfFrame.metric_name])

    @classmethod
    def _get_evaluation_dependencies(cls, metric: Any, *_: Any, **__: Any) -> dict[str, Any]:
        name = GroupsOfFrame.metric_name
        return {name: MetricConfiguration(name, metric.metric_domain_kwargs)}


class ExpectPromise(Described):
    """Groups keep a promise: the verdict of its privacy model."""

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        verdict: Verdict = metrics[self.metric_dependencies[0]]
        return {"success": verdict.holds, "result": {"observed_value": observation(verdict)}}

    @classmethod
    def sentence(cls, asked: Mapping[str, Any]) -> str:
        """The model's own sentence."""
        return PROMISE.validate_python(dict(asked)).sentence()


@cache
def promise_expectation(model: type[PrivacyModel]) -> type[ExpectPromise]:
    """The expectation that a model keeps, with its parameters, its metric and its sentence.

    All parameters of the model tell its metric from others.
    """
    parameters = tuple(sorted(field.name for field in fields(model)))
    type_ = expectation_type(model)
    metric = f"sfumato.verdict.{model.name}"
    type(
        f"{model.__name__}Verdict",
        (PromiseVerdict,),
        {"metric_name": metric, "value_keys": parameters, "__module__": __name__},
    )
    body: dict[str, Any] = {
        "__doc__": model.__doc__,
        "__module__": __name__,
        "__annotations__": {
            "metric_dependencies": ClassVar,
            "success_keys": ClassVar,
            **dict.fromkeys(parameters, Any),
        },
        "metric_dependencies": (metric,),
        "success_keys": parameters,
        **dict.fromkeys(parameters),
    }
    name = "".join(part[:1].upper() + part[1:] for part in type_.split("_"))
    return type(name, (ExpectPromise,), body)
