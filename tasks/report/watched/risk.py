"""Risk as tables for people who watch a run: names of columns, counts and shares alone."""

from fractions import Fraction
from typing import Any, Literal

from sfumato.expectations.measures.households import HouseholdRisk
from sfumato.expectations.measures.risk import Risk
from sfumato.tasks.microdata.singling_out import SinglingOut


def risk_rows(narrow: Risk, wide: Risk) -> list[dict[str, Any]]:
    """Each measure by the quasi-identifiers alone, and with the insensitive columns, too."""
    pairs = [
        ("rows", narrow.rows, wide.rows),
        ("rows that are alone", narrow.alone, wide.alone),
        *(
            (f"rows in groups of fewer than {size}", narrow.smaller[size], wide.smaller[size])
            for size in narrow.smaller
        ),
        ("prosecutor risk, highest", _percent(narrow.highest), _percent(wide.highest)),
        ("prosecutor risk, average", _percent(narrow.average), _percent(wide.average)),
        ("marketer risk", _percent(narrow.average), _percent(wide.average)),
    ]
    return [
        {"measure": what, "quasi-identifiers": one, "with insensitive columns": other}
        for what, one, other in pairs
    ]


def whole_rows(
    found: HouseholdRisk, counted: Literal["people", "households"]
) -> list[dict[str, Any]]:
    """What is found of households by their members, or of people by their rows, as a table."""
    one, part = {"people": ("person", "row"), "households": ("household", "member")}[counted]
    told = [
        (counted, found.households),
        (f"risk of a {one}, {part}s independent, highest", f"{found.highest:.2%}"),
        ("the same, average", f"{found.average:.2%}"),
        (f"largest risk of a {part}, average", f"{float(found.by_member):.2%}"),
        (f"fewest {counted} in a group", found.least),
        (f"fewest {counted} alike in all {part}s", found.least_alike),
        (f"{counted} that no other is like", found.alone),
    ]
    return [{"measure": what, "by quasi-identifiers": value} for what, value in told]


def homogeneity_rows(found: Risk) -> list[dict[str, Any]]:
    """Per sensitive attribute the groups in which nearly all rows have one value."""
    return [
        {
            "attribute": name,
            "share of one value": "all" if one.share == 1 else f"{float(one.share):.0%} or more",
            "groups": one.groups,
            "rows": one.rows,
            "rows with that value": one.revealed,
        }
        for name, shares in found.homogeneity.items()
        for one in shares
    ]


def singling_out_rows(found: SinglingOut) -> list[dict[str, Any]]:
    """The smallest sets of columns on which some row is alone."""
    rows: list[dict[str, Any]] = [
        {"columns": ", ".join(subset.columns), "rows alone": subset.rows}
        for subset in found.minimal
    ]
    return rows or [{"columns": f"none of up to {found.complete_up_to}", "rows alone": 0}]


def _percent(share: Fraction) -> str:
    return f"{float(share):.2%}"
