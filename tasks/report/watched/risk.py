"""Risk as tables for people who watch a run: names of columns, counts and shares alone."""

from fractions import Fraction
from typing import Any

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


def household_rows(found: HouseholdRisk) -> list[dict[str, Any]]:
    """What is found of households by who finds one member or several, as a table."""
    told = [
        ("households", found.households),
        ("risk of a household, members independent, highest", f"{found.highest:.2%}"),
        ("the same, average", f"{found.average:.2%}"),
        ("largest risk of a member, average", f"{float(found.by_member):.2%}"),
        ("fewest households in a group", found.least),
        ("fewest households alike in all members", found.least_alike),
        ("households that no other is like", found.alone),
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
