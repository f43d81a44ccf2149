"""What the next version of a line is made from."""

from dataclasses import dataclass

import numpy as np

from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.people.slots import SlotMap


@dataclass(frozen=True, eq=False)
class LineSoFar:
    """A line as its next version finds it.

    Attributes:
        table: the rows of the source, and below them those of the slots, in common codes.
        rows: how many of these are the source's.
        keys: the name of each of those rows' person (S16).
        slots: of the line.
        out: the names of people who stay out for ever (S16, sorted): their slots were forgotten, or
            others hold them now.
    """

    table: Microdata
    rows: int
    keys: np.ndarray
    slots: SlotMap
    out: np.ndarray


@dataclass(frozen=True)
class Shape:
    """What a form shows of a group that goes on.

    Attributes:
        frozen: the columns that are shown as they were when the person came.
        compared: the columns whose values a slot has.
        covers: whether labels go on to cover what they once covered.
        by_likelihood: whether promises ask how likely each value of a group is.
    """

    frozen: frozenset[str]
    compared: tuple[str, ...]
    covers: bool
    by_likelihood: bool = False
