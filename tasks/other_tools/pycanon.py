"""Figures of `sfumato measure` under the names of pyCANON's functions, and where they differ.

Source: `pycanon.anonymity` of pyCANON 1.3.6. Its functions take a data frame, the names of
quasi-identifiers and of sensitive attributes; with several of these they return the value that
all of them keep.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

Values = Mapping[str, Any]
"""The values of models in one sensitive attribute, as `measure` reports them."""


@dataclass(frozen=True)
class NamedFigure:
    """A function of pyCANON, and the figure of ours that it returns.

    Attributes:
        function: its name in `pycanon.anonymity`.
        key: the place of our figure in the JSON of `measure`.
        figure: our figure; None if it is not measured, or infinite.
        same: the figure that pyCANON rounds ours to; None if it returns ours unchanged.
        note: where the two differ; empty if they do not.
    """

    function: str
    key: str
    figure: int | float | None
    same: int | float | None = None
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return the figure for JSON."""
        rounded = {} if self.same is None else {"pycanon": self.same}
        note = {"note": self.note} if self.note else {}
        return {"function": self.function, "key": self.key, "figure": self.figure} | rounded | note


_ROUNDED = 1e-8  # more than figures of measure are rounded downwards by
_ENTROPY = (
    "pyCANON cuts off the decimals, and may return one less where the figure is a whole number"
)
_RECURSIVE = (
    "pyCANON 1.3.6 counts values from the rarest, and Machanavajjhala et al. from the most "
    "frequent, so its c is another number"
)
_CLOSENESS = "pyCANON uses the ordered distance for numbers, and the equal one for texts"
_DISCLOSURE = (
    "pyCANON leaves values out that a group lacks; here δ is then infinite (null), as Brickell and "
    "Shmatikov define it"
)
_LIKENESS = "measure decides it for a promise: --model '{model: beta-likeness, beta: B}'"


def named_figures(document: Mapping[str, Any]) -> list[NamedFigure]:
    """Return the figures of a document of `measure` by pyCANON's functions.

    Args:
        document: the JSON of `measure`. With several sensitive attributes, each figure is the
            value that all of them keep.
    """
    several = document.get("sensitive")
    values = list(several.values()) if several else [document] if "l" in document else []
    prefix = "sensitive.*." if several else ""
    figures = [NamedFigure("k_anonymity", "k", document["k"])]
    return figures + list(_of_values(values, prefix)) if values else figures


def _of_values(values: list[Values], prefix: str) -> Iterator[NamedFigure]:
    entropy = _worst(values, lambda v: v["l"]["entropy"], min)
    distinct = _worst(values, lambda v: v["l"]["distinct"], min)
    yield NamedFigure("alpha_k_anonymity", f"{prefix}alpha", _worst(values, _alpha, max))
    yield NamedFigure("l_diversity", f"{prefix}l.distinct", distinct)
    yield NamedFigure(
        "entropy_l_diversity",
        f"{prefix}l.entropy",
        entropy,
        None if entropy is None else floor(entropy + _ROUNDED),
        _ENTROPY,
    )
    rank = str(distinct)
    yield NamedFigure(
        "recursive_c_l_diversity",
        f"{prefix}l.recursive_c.{rank}",
        _worst(values, lambda v: v["l"]["recursive_c"].get(rank), max),
        note=_RECURSIVE,
    )
    yield NamedFigure("t_closeness", f"{prefix}t", _worst(values, _closeness, max), note=_CLOSENESS)
    delta = _worst(values, lambda v: v["delta"], max)
    yield NamedFigure("delta_disclosure", f"{prefix}delta", delta, note=_DISCLOSURE)
    for name in ("basic_beta_likeness", "enhanced_beta_likeness"):
        yield NamedFigure(name, "promises", None, note=_LIKENESS)


def _alpha(values: Values) -> Any:
    return values["alpha"]


def _closeness(values: Values) -> Any:
    """Return t by the distance that pyCANON uses: the ordered one if values are numbers."""
    ordered = values["t"].get("ordered")
    return values["t"]["equal"] if ordered is None else ordered


def _worst(
    values: list[Values],
    figure: Callable[[Values], int | float | None],
    worst: Callable[[list[int | float]], int | float],
) -> int | float | None:
    """Return the figure that all attributes keep, None if one has none."""
    figures = [figure(each) for each in values]
    present = [number for number in figures if number is not None]
    return worst(present) if present and len(present) == len(figures) else None
