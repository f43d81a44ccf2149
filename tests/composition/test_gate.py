"""The gate on the vectors, each by the route named."""

import pytest

from tests.composition.lines import judge
from tests.composition.vectors import VERDICTS


@pytest.mark.parametrize(("name", "line", "slots", "promise", "route"), VERDICTS)
def test_verdict(name, line, slots, promise, route):
    units = {"V": "U"} if name.startswith("T15") else None
    *_, last = judge(line, [promise], slots, units)
    assert getattr(last, "route", None) == route, str(last)
