"""Common parts of the experiments of redistribution: two ways of grouping, and averages by age.

SA-only takes each of the owner's groups as one, QI-SA those people in it whose quasi-identifiers
are the same. As in the paper the subdomains are those of a balanced binary tree. Ratios of the
tree's weights are exact for SA-only and rounded to sixteenths for QI-SA: with exact ones all of
QI-SA's values are shown by the whole domain.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.tasks.experiments.shared.adult import people_with_loss
from sfumato.tasks.experiments.shared.candidates import Method, scope, try_method
from sfumato.tasks.experiments.shared.experiment import Inputs
from sfumato.tasks.experiments.shared.generated_tables import correlated_losses, normal_losses
from sfumato.tasks.experiments.shared.questions import draw_windows, error_of_averages
from sfumato.tasks.microdata.table import Microdata

LOSS, ERROR = "capital-loss", "error"
SA_ONLY, QI_SA = "SA-only", "QI-SA"
SPAN, WIDTH = "span of ages", "width of the bounds by the truth"


@dataclass(frozen=True)
class SpreadScale:
    """Number of generated people and of questions, and the levels that vary.

    Attributes:
        rows: the number of generated people.
        questions: the number of questions at each level.
        levels: the values that vary.
    """

    rows: int
    questions: int
    levels: tuple[float, ...]


def tables(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[tuple[str, Microdata]]:
    """Yield the real losses, generated ones that are independent of the age, and some that rise."""
    yield "losses", people_with_loss(inputs, ("age",))
    yield from generated_tables(scale, seed)


def generated_tables(scale: SpreadScale, seed: int) -> Iterator[tuple[str, Microdata]]:
    """Yield generated losses that are independent of the age, and some that rise with it."""
    yield "uncorrelated", normal_losses(scale.rows, seed)
    yield "correlated", correlated_losses(scale.rows, seed)


def spread(
    microdata: Microdata,
    way: str,
    target: Any = "source",
    strata: tuple[Any, ...] = (),
    form: Mapping[str, Any] | None = None,
) -> Method:
    """Return the method that redistributes losses as a target says, in one way of grouping."""
    promise = PPrivacy(target=target, **scope(microdata))
    partition = {SA_ONLY: "stratum", QI_SA: "exact-qi"}[way]
    denominator = {SA_ONLY: "exact", QI_SA: 16}[way]
    declared_form = {"method": "redistributed", "denominator": denominator, **(form or {})}
    return Method((promise,), {"method": partition}, declared_form, strata=strata)


def error_at(
    microdata: Microdata, method: Method, span: int, questions: int, inputs: Inputs, seed: int
) -> float:
    """Return the mean error of averages over windows of age of so many years."""
    (error,) = errors_at(microdata, method, (span,), questions, inputs, seed)
    return error


def errors_at(
    microdata: Microdata,
    method: Method,
    spans: tuple[float, ...],
    questions: int,
    inputs: Inputs,
    seed: int,
) -> Iterator[float]:
    """Yield the mean errors of averages at several spans, on one candidate."""
    trial = try_method(microdata, method, inputs, seed).require_kept()
    for span in spans:
        rng = np.random.default_rng(seed)
        windows = draw_windows(microdata, "age", int(span), questions, rng)
        yield error_of_averages(trial, LOSS, windows)
