"""Every registered privacy model as an expectation, made of the model and nothing else."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Literal, get_args, get_origin

from pydantic import ValidationError

from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.models.promises import PROMISE, models
from sfumato.expectations.rules.verdicts import expectation_type, observation
from sfumato.expectations.shared.wording import readable
from sfumato.expectations.suites.engine import (
    Described,
    MetricConfiguration,
    PandasExecutionEngine,
    SqlAlchemyExecutionEngine,
    TableMetricProvider,
    discreet,
    metric_value,
    pydantic,
)
from sfumato.expectations.suites.examples import example_tests, explanation, key_of
from sfumato.expectations.suites.groups import GroupsOfTable

GALLERY = "sfumato.expectations.gallery"  # where the classes are imported from


def assertable() -> tuple[type[PrivacyModel], ...]:
    """Return the models that a table's rows keep or break in groups of equal quasi-identifiers."""
    return tuple(filter(_is_assertable, models()))


def _is_assertable(model: type[PrivacyModel]) -> bool:
    return "labels" in model.ways and not model.needs_population


class PromiseVerdict(TableMetricProvider):
    """The verdict of the privacy model with these parameters on the groups."""

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, metric_value_kwargs: Any, metrics: Any, **_: Any) -> Verdict:
        return _verdict(metric_value_kwargs, metrics)

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sqlalchemy(cls, metric_value_kwargs: Any, metrics: Any, **_: Any) -> Verdict:
        return _verdict(metric_value_kwargs, metrics)

    @classmethod
    def _get_evaluation_dependencies(cls, metric: Any, *_: Any, **__: Any) -> dict[str, Any]:
        promise = _promise(metric.metric_value_kwargs)
        parameters = {
            "by": list(promise.adversary_columns),
            "sensitive": [promise.sensitive] if promise.sensitive else [],
            "whose": promise.of_whole_people,
            "labelled": promise.needs_labels,
        }
        name = GroupsOfTable.metric_name
        return {name: MetricConfiguration(name, metric.metric_domain_kwargs, parameters)}


def _verdict(parameters: Mapping[str, Any], metrics: Mapping[str, Any]) -> Verdict:
    with discreet(parameters["model"]):
        return _promise(parameters).check(metrics[GroupsOfTable.metric_name])


def _promise(parameters: Mapping[str, Any]) -> PrivacyModel:
    with discreet(str(parameters["model"])):
        return PROMISE.validate_python({k: v for k, v in parameters.items() if v is not None})


class ExpectPromise(Described):
    """Groups keep a promise: the verdict of its privacy model."""

    promised: ClassVar[type[PrivacyModel]]
    tags: ClassVar[Mapping[str, str]] = {}
    examples: ClassVar[list[dict[str, Any]]] = []
    library_metadata: ClassVar = {"maturity": "production", "tags": ["privacy"]}

    @pydantic.root_validator(pre=True)
    def _say_which_model(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**cls.tags, **values}

    @pydantic.root_validator(skip_on_failure=True)
    def _is_such_a_promise(cls, values: dict[str, Any]) -> dict[str, Any]:
        parameters = {k: values[k] for k in cls.success_keys if values.get(k) is not None}
        if any(isinstance(value, dict) and "$PARAMETER" in value for value in parameters.values()):
            return values  # is given when it is run
        try:
            promise = PROMISE.validate_python(parameters)
        except ValidationError as error:
            raise ValueError(readable(error, parameters, {})) from None
        if type(promise) is not cls.promised:
            raise ValueError(f"model: belongs to another promise than {cls.promised.name}")
        return values

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        verdict: Verdict = metrics[self.metric_dependencies[0]]
        return {"success": verdict.holds, "result": {"observed_value": observation(verdict)}}

    @classmethod
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        """Return the model's own sentence, and the quasi-identifiers that form groups."""
        try:
            promise = PROMISE.validate_python(dict(parameters))
        except ValidationError:  # a parameter is given when it is run
            return super().sentence(parameters)
        over = promise.quasi_identifiers
        return promise.sentence() + (f" (quasi-identifiers: {', '.join(over)})" if over else "")


@cache
def promise_expectation(model: type[PrivacyModel]) -> type[ExpectPromise]:
    """Return the expectation that a model keeps, with its parameters, its metric and its sentence.

    All parameters of the model distinguish its metric from others.
    """
    parameters = tuple(sorted(key_of(model, field.name) for field in fields(model)))
    type_ = expectation_type(model)
    name = "".join(part[:1].upper() + part[1:] for part in type_.split("_"))
    metric = f"sfumato.verdict.{model.name}"
    type(
        f"{model.__name__}Verdict",
        (PromiseVerdict,),
        {"metric_name": metric, "value_keys": parameters, "__module__": __name__},
    )
    class_variables: dict[str, Any] = {
        "metric_dependencies": (metric,),
        "success_keys": parameters,
        "promised": model,
        "tags": _tags(model),
        "examples": example_tests(model),
    }
    body: dict[str, Any] = {
        "__doc__": explanation(model, name),
        "__module__": GALLERY if _is_assertable(model) else __name__,
        "__annotations__": {
            **dict.fromkeys(class_variables, ClassVar),
            **dict.fromkeys(parameters, Any),
        },
        **class_variables,
        **dict.fromkeys(parameters),
    }
    return type(name, (ExpectPromise,), body)


def _tags(model: type[PrivacyModel]) -> dict[str, str]:
    """Return the parameters that identify the model: users need not give them."""
    only = [
        f for f in fields(model) if get_origin(f.type) is Literal and len(get_args(f.type)) == 1
    ]
    return {field.name: get_args(field.type)[0] for field in only}
