"""Every privacy model as an expectation, with typed parameters and the model's own sentence."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

from sfumato.expectations.groups.frames import from_frame
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.promises import MODELS, PROMISE
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.suites.engine import (
    Described,
    MetricConfiguration,
    PandasExecutionEngine,
    TableMetricProvider,
    discreet,
    frame_of,
    metric_value,
)
from sfumato.expectations.verdicts import GROUPS, observed


def _parameters(*models: type[Any]) -> tuple[str, ...]:
    """All parameters of these models: what tells one metric from another leaves none out."""
    return tuple(sorted({field.name for model in models for field in fields(model)}))


class GroupsOfFrame(TableMetricProvider):
    """The groups that a frame of counts holds, rebuilt once for all promises on them."""

    metric_name = "sfumato.groups"

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any) -> Groups:
        with discreet(GROUPS):
            return from_frame(frame_of(execution_engine, metric_domain_kwargs))


class PromiseVerdict(TableMetricProvider):
    """What the privacy model with these parameters says of the groups."""

    metric_name = "sfumato.verdict"
    value_keys = _parameters(*MODELS)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, metric_value_kwargs: Any, metrics: Any, **_: Any) -> Verdict:
        with discreet(metric_value_kwargs["model"]):
            given = {k: v for k, v in metric_value_kwargs.items() if v is not None}
            model: PrivacyModel = PROMISE.validate_python(given)
            return model.check(metrics[GroupsOfFrame.metric_name])

    @classmethod
    def _get_evaluation_dependencies(cls, metric: Any, *_: Any, **__: Any) -> dict[str, Any]:
        name = GroupsOfFrame.metric_name
        return {name: MetricConfiguration(name, metric.metric_domain_kwargs)}


class _ExpectPromise(Described):
    """Groups keep a promise: the verdict of its privacy model."""

    metric_dependencies: ClassVar = (PromiseVerdict.metric_name,)

    model: str
    quasi_identifiers: list[str] | None = None
    sensitive: str | None = None

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        verdict: Verdict = metrics[PromiseVerdict.metric_name]
        return {"success": verdict.holds, "result": {"observed_value": observed(verdict)}}

    @classmethod
    def sentence(cls, asked: Mapping[str, Any]) -> str:
        return str(PROMISE.validate_python(dict(asked)).sentence())


class ExpectKAnonymity(_ExpectPromise):
    """Each group has at least k rows."""

    success_keys: ClassVar = _parameters(KAnonymity)
    k: int


class _ExpectLDiversity(_ExpectPromise):
    variant: str
    known: list[str] | None = None


class ExpectDistinctLDiversity(_ExpectLDiversity):
    """Each group shows at least l different sensitive values."""

    success_keys: ClassVar = _parameters(DistinctLDiversity)
    l: int


class ExpectEntropyLDiversity(_ExpectLDiversity):
    """The entropy of each group's sensitive values is at least ln l."""

    success_keys: ClassVar = _parameters(EntropyLDiversity)
    l: int | str
    dont_care: list[str] | None = None


class ExpectRecursiveLDiversity(_ExpectLDiversity):
    """No sensitive value of a group outweighs c times the rarer ones from rank l on."""

    success_keys: ClassVar = _parameters(RecursiveLDiversity)
    l: int
    c: int | str
    dont_care: list[str] | None = None
    negative: dict[str, Any] | None = None


class ExpectTCloseness(_ExpectPromise):
    """Each group's sensitive values are distributed like those of all rows, up to t."""

    success_keys: ClassVar = _parameters(TCloseness)
    t: int | str
    distance: str


class ExpectAlphaK(_ExpectPromise):
    """Each group has at least k rows, and no value has more than a share alpha of them."""

    success_keys: ClassVar = _parameters(AlphaK)
    alpha: int | str
    k: int
    values: list[str] | None = None


class ExpectKEAnonymity(_ExpectPromise):
    """Each group has at least k distinct sensitive values that span at least e."""

    success_keys: ClassVar = _parameters(KEAnonymity)
    k: int
    e: int | str


class ExpectAlphaBeta(_ExpectPromise):
    """No vector of quasi-identifiers is more present than alpha, no value has more than beta."""

    success_keys: ClassVar = _parameters(AlphaBeta)
    alpha: int | str
    beta: int | str
    presence: str


class ExpectPPrivacy(_ExpectPromise):
    """The subdomains shown for each group are balanced as the target distribution says."""

    success_keys: ClassVar = _parameters(PPrivacy)
    target: str | dict[str, Any]
    per: str
    tolerance: int | str


class ExpectDeltaPresence(_ExpectPromise):
    """Of people who look alike, a share between min and max is in the table."""

    success_keys: ClassVar = _parameters(DeltaPresence)
    min: int | str
    max: int | str
    population: str


class ExpectBayesOptimal(_ExpectPromise):
    """No prior below rho1 becomes a belief above rho2, nor the other way round."""

    success_keys: ClassVar = _parameters(BayesOptimal)
    rho1: int | str
    rho2: int | str
    population: str
    smoothing: int | str
