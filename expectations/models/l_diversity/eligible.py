"""How diverse groups of some rows can be, whoever groups them."""

from sfumato.expectations.groups.groups import Groups


def eligible(groups: Groups, sensitive: str | None) -> int | None:
    """The largest l for which the rows can be grouped so that no value exceeds 1/l of a group.

    The eligibility condition: no value is more than 1/l of all rows.
    """
    totals = groups.of(sensitive).totals
    return groups.rows // int(totals.max()) if groups.rows else None
