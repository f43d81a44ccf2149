"""Error of adding selectivities where they multiply: Algorithm 1 as printed."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.choose.trial import Trial
from sfumato.tasks.experiments.ambiguity.setting import ALPHA, Y_AXIS, CountScale, greedy
from sfumato.tasks.experiments.as_printed import printed_count
from sfumato.tasks.experiments.shared.candidates import try_method
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.claim_tests import Below
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import Ranges, draw_counts, truths
from sfumato.tasks.forms.ambiguous import table_of
from sfumato.tasks.schema.names import COUNT, GROUP_ID

_ERROR = "error of counts"
_PRINTED, _MENDED = "as printed", "multiplied"


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the errors of both estimators, by how many attributes a count asks for."""
    people, rng = census_people(scale.rows, seed), np.random.default_rng(seed)
    trial = try_method(people, greedy(people, ALPHA, "0.2"), inputs, seed).require_kept()
    for level in scale.levels:
        questions = draw_counts(people, int(level), 0.05, scale.questions, rng)
        true_counts = np.array(truths(questions, people))
        both_estimates = [estimate_counts(trial, question) for question in questions]
        for series, estimates in zip((_PRINTED, _MENDED), np.array(both_estimates).T, strict=True):
            error = float(np.mean(np.abs(estimates - true_counts) / true_counts))
            yield Point("census", series, level, _ERROR, error)


def estimate_counts(trial: Trial, question: Ranges) -> tuple[float, float]:
    """Return the estimate as printed, and with the shares of a group's attributes multiplied."""
    counted = trial.release.table("st")
    groups = int(np.max(counted[GROUP_ID].to_numpy())) + 1
    name, value = question.value or ("", "")
    has_value = np.array([label == value for label in counted[name].to_pylist()])
    many = counted[COUNT].to_numpy() * has_value
    counts = np.bincount(counted[GROUP_ID].to_numpy(), many, minlength=groups)
    shares = np.column_stack(
        [_share(trial, *attribute, groups) for attribute in question.within.items()]
    )
    return printed_count(counts, shares), float((counts * shares.prod(axis=1)).sum())


def _share(trial: Trial, name: str, ends: tuple[int, int], groups: int) -> np.ndarray:
    """Return the share of the values that each group admits of a column that lies in a range."""
    table = trial.release.table(table_of(name))
    group, values = table[GROUP_ID].to_numpy(), table[name].to_numpy()
    inside = (values >= ends[0]) & (values <= ends[1])
    share: np.ndarray = np.bincount(group, inside, minlength=groups) / np.bincount(group)
    return share


EXPERIMENT = Experiment(
    name="printed-counts",
    paper="ambiguity",
    shows="Algorithm 1 as printed",
    title="Shares added instead of multiplied",
    setting=(
        "Algorithm 1 adds the shares of a group's attributes inside its loop; the paper's worked "
        "example multiplies them (printed, it gives 11/6, the text has 7/18). Both estimate the "
        "same counts on the same greedy groups; with one attribute they are the same."
    ),
    ours="all of it",
    data=("census",),
    full=CountScale(3000, 100, (1, 2, 3, 4)),
    quick=CountScale(600, 10, (1, 3)),
    measure=measure,
    figures=(Figure(_ERROR, "attributes asked for", Y_AXIS, log=True),),
    claims=(
        Claim(
            "Estimates as printed are further from the truth than those of the worked example",
            "census",
            Below(_ERROR, _MENDED, _PRINTED, levels=(2, 3, 4)),
            by="project",
        ),
    ),
)
