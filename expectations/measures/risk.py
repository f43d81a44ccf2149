"""Re-identification risk of groups, and the number of rows that the homogeneity attack reaches.

Source: El Emam, Guide to the De-Identification of Personal Health Information (2013), for
prosecutor, journalist and marketer risk; Machanavajjhala et al., l-diversity (ICDE 2006), for the
homogeneity attack. Everything is counts and shares; nothing here is about one person.

The prosecutor knows that somebody is in the table, and links the person to one of the rows of the
group. The journalist knows only that somebody is in a population, and links a row to one of the
people whom it could be about. The marketer links all rows, and the risk is the expected share of
correct links. In a homogeneous group all rows, or nearly all, have one sensitive value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups, Population
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.exact import are_below

SMALL = (2, 3, 5, 10, 20)  # rows: it is counted how many rows are in groups smaller than each
NEAR = Fraction(95, 100)  # share of one value from which a group is nearly homogeneous


@dataclass(frozen=True)
class Homogeneity:
    """The groups in which the most frequent value has at least a share of the rows.

    `groups` and `rows` count these groups and their rows; `revealed` counts the rows that have the
    most frequent value of their group: of the other rows the value is guessed wrongly.
    """

    share: Fraction
    groups: int
    rows: int
    revealed: int


@dataclass(frozen=True)
class Journalist:
    """The risk of rows whose people are somewhere in a population, at its highest and average.

    The average is the larger of the classes per person and of `marketer`, the share of rows linked
    correctly when each is linked to one of the people whom it could be about; `elsewhere` counts
    the people whom no row could be about.
    """

    highest: Fraction
    average: Fraction
    marketer: Fraction
    elsewhere: int


@dataclass(frozen=True)
class Risk:
    """The risk of a table if it were published as it is.

    `alone` counts the rows that look like no other row, `smaller` the rows in groups of fewer
    rows than each size; `highest` and `average` are the prosecutor's risk, the latter also the
    marketer's share of rows linked correctly among people known to be in the table.
    """

    rows: int
    alone: int
    smaller: Mapping[int, int]
    highest: Fraction
    average: Fraction
    journalist: Journalist | None
    homogeneity: Mapping[str, tuple[Homogeneity, ...]]

    def document(self) -> dict[str, Any]:
        """Return the risk for JSON: counts, and shares to six digits."""
        document: dict[str, Any] = {
            "rows_alone": self.alone,
            "share_alone": _share(Fraction(self.alone, self.rows)),
            "rows_in_groups_smaller_than": {str(k): n for k, n in self.smaller.items()},
            "prosecutor": {"highest": _share(self.highest), "average": _share(self.average)},
            "marketer": _share(self.average),
        }
        if self.journalist is not None:
            document["journalist"] = {
                "highest": _share(self.journalist.highest),
                "average": _share(self.journalist.average),
                "elsewhere": self.journalist.elsewhere,
            }
            document["marketer"] = _share(self.journalist.marketer)
        document["homogeneity"] = {
            name: {
                str(float(reached.share)): {
                    "groups": reached.groups,
                    "rows": reached.rows,
                    "revealed": reached.revealed,
                }
                for reached in shares
            }
            for name, shares in self.homogeneity.items()
        }
        return document


def risk(groups: Groups, near: Fraction = NEAR) -> Risk | None:
    """Return the risk of groups, None if there are no rows.

    Args:
        groups: the groups, with a population where the journalist's risk is wanted.
        near: the share of one value from which a group counts as nearly homogeneous.

    Raises:
        InputError: where a population has fewer people like a group than the group has rows.
    """
    if not len(groups):
        return None
    sizes = groups.sizes
    population = groups.population
    return Risk(
        rows=groups.rows,
        alone=int((sizes == 1).sum()),
        smaller={k: int(sizes[sizes < k].sum()) for k in SMALL},
        highest=Fraction(1, int(sizes.min())),
        average=Fraction(len(groups), groups.rows),
        journalist=None if population is None else _journalist(sizes, population),
        homogeneity={
            name: tuple(_homogeneity(counts, sizes, share) for share in (Fraction(1), near))
            for name, counts in groups.sensitive.items()
        },
    )


def _journalist(sizes: np.ndarray, population: Population) -> Journalist:
    """Return the journalist's and the marketer's risk in a population.

    Raises:
        InputError: if the population has fewer people like a group than the group has rows.
    """
    people = population.sizes
    if short := int((people < sizes).sum()):
        raise InputError(
            f"the population has fewer people than the table has rows in {short} of the groups; "
            "use a population that contains all people of the table"
        )
    pairs, times = np.unique(np.stack([sizes, people], axis=1), axis=0, return_counts=True)
    linked = Fraction(0)
    for (rows, whom), groups in zip(pairs.tolist(), times.tolist(), strict=True):
        linked += Fraction(rows * groups, whom)
    marketer = linked / int(sizes.sum())
    return Journalist(
        highest=Fraction(1, int(people.min())),
        average=max(marketer, Fraction(len(people), int(people.sum()))),
        marketer=marketer,
        elsewhere=population.elsewhere,
    )


def _homogeneity(counts: Counts, sizes: np.ndarray, share: Fraction) -> Homogeneity:
    reached = ~are_below(counts.largest, sizes, share)
    return Homogeneity(
        share,
        groups=int(reached.sum()),
        rows=int(sizes[reached].sum()),
        revealed=int(counts.largest[reached].sum()),
    )


def _share(number: Fraction) -> float:
    """Return a share to six significant digits; only a share of nothing becomes 0."""
    return float(f"{float(number):.6g}")
