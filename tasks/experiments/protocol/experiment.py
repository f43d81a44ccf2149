"""An experiment: what a paper showed, how it is measured here, and what is claimed of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.tasks.experiments.data.inputs import Inputs
from sfumato.tasks.experiments.protocol.claims import Claim
from sfumato.tasks.experiments.protocol.points import Point

Measure = Callable[[Any, Inputs, int], Iterable[Point]]
"""Measures everything once, given parameters, files and a seed."""


@dataclass(frozen=True)
class Figure:
    """A plot of a measure by level, with a line for each series, for each of the data.

    Attributes:
        measure: what is plotted.
        x: the words of the horizontal axis.
        y: the words of the vertical one.
        log: whether that is logarithmic.
        data: which data are plotted, all where none are named.
    """

    measure: str
    x: str
    y: str
    log: bool = False
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        name: by which it is asked for.
        paper: the key of its paper.
        shows: the figure or table of the paper, in words.
        title: what it is about.
        setting: how it is done here, in sentences.
        data: the keys of its data.
        full: parameters of a whole run.
        quick: parameters of a run that takes a second.
        measure: makes the points of one seed.
        figures: what is plotted.
        claims: what is decided, by tests that were fixed before anything was run.
        apart: whether its units of work run alone, because they measure time.
    """

    name: str
    paper: str
    shows: str
    title: str
    setting: str
    data: tuple[str, ...]
    full: Any
    quick: Any
    measure: Measure
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    apart: bool = field(default=False)


Size = Literal["full", "quick"]


def parameters_of(experiment: Experiment, size: Size) -> Any:
    """The parameters of a run."""
    return experiment.full if size == "full" else experiment.quick
