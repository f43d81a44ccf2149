"""The last net: an engine that is broken on purpose, and what it never gives out."""

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.tripwires import LimitedFormula, Tripwires
from sfumato.tasks.query.published.lookup import ends_of, row_count
from sfumato.tasks.query.published.values import PublishedValues
from sfumato.tasks.query.question.formulas import Calculation, PartAggregate, Plain, Pooled
from sfumato.tasks.query.question.inquiry import InquiredPart, Inquiry, Measure
from sfumato.tasks.terms.tables import write_table
from tests.query.worlds import column, declare, with_help

PEOPLE = pa.table(
    {
        "age": [17, 30, 31, 40, 55, 90],
        "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "born": [date(1950 + n, 1, 1) for n in range(6)],
        "tall": [1.5, 1.6, 1.7, 1.8, 1.9, 0.1],
        "loss": [54, 55, 56, 65, 70, 75],
        "group_id": [0, 0, 0, 1, 1, 1],
    }
)
DECLARED = declare(
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string"),
    born=column("quasi-identifier", "date"),
    tall=column("insensitive", "float"),
    loss=column("sensitive", "integer"),
)
TABLES = with_help(PEOPLE, "loss")


@pytest.fixture
def broken(monkeypatch):
    """Lets aggregates of one name come to any bounds."""

    def breaking(function, bounds, kind=Plain):
        right = kind.bounds

        def wrong(formula, cells):
            operand = formula.operand if isinstance(formula, Plain) else formula.values[0]
            return bounds if operand.aggregate.function == function else right(formula, cells)

        monkeypatch.setattr(kind, "bounds", wrong)

    return breaking


def ask(selected, clauses=""):
    return answer_on(TABLES, DECLARED, f"SELECT {selected} FROM microdata {clauses}")


@pytest.mark.parametrize(
    "selected,bounds,construct",
    [
        ("COUNT(*)", Bounds(-1, 3), "COUNT(*)"),
        ("COUNT(*) AS n", Bounds(3, 7), "COUNT(*)"),
        ("COUNT(*) FILTER (age > 20)", Bounds(3, 7), "COUNT(*)"),
        ("AVG(loss)", Bounds(Fraction(5399, 100), 60), "AVG(loss)"),
        ("AVG(loss)", Bounds(60, Fraction(7501, 100)), "AVG(loss)"),
        ("MIN(loss)", Bounds(53, 60), "MIN(loss)"),
        ("MAX(age)", Bounds(30, 91), "MAX(age)"),
        ("MAX(born)", Bounds(date(1950, 1, 1), date(1956, 1, 1)), "MAX(born)"),
        ("MIN(sex)", Bounds("A", "Male"), "MIN(sex)"),
        ("AVG(tall)", Bounds(Fraction(9, 100), 1), "AVG(tall)"),
        ("SUM(loss)", Bounds(9, 8), "SUM(loss)"),
        ("STDDEV(loss)", Bounds(9, 8), "STDDEV(loss)"),
        ("sex, AVG(loss)", Bounds(0, 60), "AVG(loss)"),
    ],
)
def test_bounds_that_cannot_be_are_a_fault_that_names_what_was_asked(
    broken, selected, bounds, construct
):
    grouped = "GROUP BY sex" if selected.startswith("sex") else ""
    ask(selected, grouped)
    broken(construct.partition("(")[0].lower(), bounds)
    with pytest.raises(Fault) as caught:
        ask(selected, grouped)
    assert str(caught.value).startswith(f"{construct}: its ")
    assert "Please report the query" in str(caught.value)
    for end in (bounds.lower, bounds.upper):
        assert str(end) not in str(caught.value)


@pytest.mark.parametrize("selected", ["MEDIAN(loss)", "QUANTILE_DISC(loss, 0.3)"])
def test_quantiles_lie_among_the_values(broken, selected):
    function = "percentile_cont" if "MEDIAN" in selected else "percentile_disc"
    broken(function, Bounds(50, 60))
    with pytest.raises(Fault):
        ask(selected)


def test_an_aggregate_over_or_is_judged_too(broken):
    joined = "WHERE age < 31 OR loss > 60"
    ask("AVG(loss)", joined)
    broken("avg", Bounds(60, 76), Pooled)
    with pytest.raises(Fault, match=r"^AVG\(loss\)"):
        ask("AVG(loss)", joined)


def test_what_only_having_or_order_by_ask_is_judged_too(broken):
    broken("max", Bounds(0, 99))
    for clauses in ("HAVING MAX(loss) > 3", "ORDER BY MAX(loss)"):
        with pytest.raises(Fault, match=r"^MAX\(loss\)"):
            ask("sex, COUNT(*)", f"GROUP BY sex {clauses}")


def test_a_calculation_upside_down_is_called_as_it_is_shown(monkeypatch):
    monkeypatch.setattr(Calculation, "bounds", lambda *_: Bounds(2, 1))
    with pytest.raises(Fault, match=r"^twice: its lower bound is above"):
        ask("2 * SUM(loss) AS twice")


@pytest.mark.parametrize(
    "selected,bounds",
    [
        ("AVG(loss)", Bounds(54, 75)),
        ("AVG(loss)", Bounds(None, None)),
        ("COUNT(*)", Bounds(0, 6)),
        ("AVG(tall)", Bounds(Fraction(1, 10), Fraction(19, 10))),
        ("AVG(tall)", Bounds(Fraction(0.1) - Fraction(1, 10**15), Fraction(1.9))),
        ("MIN(tall)", Bounds(0.1, 1.9)),
        ("MAX(loss + 100)", Bounds(1000, 2000)),
        ("SUM(loss)", Bounds(-(10**30), Decimal("1e30"))),
    ],
)
def test_what_may_be_is_given_out(broken, selected, bounds):
    """Floats count as they are printed; what is calculated has no published range."""
    broken(selected.partition("(")[0].lower(), bounds)
    (row,) = ask(selected).rows
    (answer_bounds,) = row.values()
    assert (answer_bounds.lower, answer_bounds.upper) == (bounds.lower, bounds.upper)


def test_columns_of_a_readers_own_table_have_no_published_range():
    own = {"own": pa.table({"sex": ["Male", "Female"], "age": [1000, 2000]})}
    query = "SELECT AVG(o.age) AS a FROM microdata m JOIN own o ON m.sex = o.sex"
    (row,) = answer_on(TABLES, DECLARED, query, own=own).rows
    assert row["a"].lower == Fraction(4 * 1000 + 2 * 2000, 6)


@dataclass(frozen=True)
class HalfAtMost:
    """A formula with limits of its own."""

    limits = (Fraction(0), Fraction(1, 2))
    asked: tuple[PartAggregate, ...] = ()

    def bounds(self, _):
        return Bounds(0, 0)


@pytest.mark.parametrize("upper,is_fault", [(Fraction(1, 2), False), (Fraction(51, 100), True)])
def test_a_formula_that_has_limits_is_held_to_them(upper, is_fault):
    formula = HalfAtMost()
    assert isinstance(formula, LimitedFormula)
    assert not isinstance(Plain(PartAggregate(0, None)), LimitedFormula)
    part = InquiredPart(None, (), ())
    inquiry = Inquiry((Measure(formula, "half"),), (), (part,), formula, (), None, ())
    tripwires = Tripwires(inquiry, DECLARED, PublishedValues(TABLES, DECLARED))
    if is_fault:
        with pytest.raises(Fault, match=r"^half: its bounds lie outside"):
            tripwires.require([Bounds(0, upper)])
    else:
        tripwires.require([Bounds(0, upper)])


def test_the_ends_of_a_file_are_those_of_its_values(tmp_path):
    """By its footer, also of texts that are too long for one, and of floats that are none."""
    moment = datetime.combine(date(2020, 1, 1), time(9, 0, 0, 9))
    table = pa.table(
        {
            "at": pa.array([moment, None], pa.timestamp("us")),
            "fee": pa.array([Decimal("-1.50"), Decimal("2.25")], pa.decimal128(38, 2)),
            "tall": [float("nan"), 0.1],
            "word": ["ä" * 3000, "b"],
            "long": ["x" * 9000, "b"],
            "vip": [True, False],
            "born": pa.array([date(1700, 1, 1), None], pa.date32()),
            "none": pa.array([None, None], pa.int64()),
        }
    )
    write_table(table, tmp_path / "t.parquet")
    for name in table.column_names:
        assert ends_of(tmp_path / "t.parquet", name) == ends_of(table, name)
    assert ends_of(table, "tall") == (0.1, 0.1)
    assert ends_of(table, "none") == (None, None)
    assert ends_of(table, "long") == ("b", "x" * 9000)
    assert row_count(tmp_path / "t.parquet") == 2
