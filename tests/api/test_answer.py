"""Answers in notebooks: columns of one type each, bounds as intervals, and nothing that runs."""

import sys
from datetime import date
from decimal import Decimal
from fractions import Fraction
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.flows.api.answer import BoundedAnswer
from sfumato.flows.api.markup import IntervalScale
from sfumato.tasks.query.bounds.bounds import Bounds, Likely
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.question.rest import REST
from tests.corpus.lines import CORPUS

RELEASES = sorted(CORPUS.glob("format-*/public/*/0001"))
SEVERAL = "SELECT sex, COUNT(*) FROM microdata GROUP BY sex"


def make_answer(rows, columns=None, **more):
    named = tuple(columns or rows[0])
    facts = {"certain": (True,) * len(rows), **more}
    return BoundedAnswer(Answer("permuted", True, {"nulls": 30}, named, tuple(rows), **facts))


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: "/".join(path.parts[-4:-1:2]))
def test_every_frozen_release_answers(release):
    opened = sfumato.open(release)
    table = "people_of_adult" if "apart" in release.parent.name else "microdata"
    answer = opened.query(f"SELECT COUNT(*) FROM {table}")
    frame = answer.to_pandas()
    assert list(frame.columns)[:2] == ["COUNT(*)_lower", "COUNT(*)_upper"]
    assert (frame["COUNT(*)_lower"] <= frame["COUNT(*)_upper"]).all()
    assert "<svg" not in answer._repr_html_()  # one number has no scale
    assert answer.document()["rows"][0]["COUNT(*)"]["upper"] == frame["COUNT(*)_upper"][0]


def test_what_the_command_says_of_an_answer_is_said_here():
    bounds = Bounds(1, 9, 4, attained=False)
    answer = make_answer(
        [{"sex": "F", "n": bounds}, {"sex": "M", "n": bounds}],
        certain=(True, False),
        by_estimate=True,
    )
    for text in (repr(answer), answer._repr_html_()):
        assert (
            "≈ is an estimate, without guarantee; rows that may not be in the answer: 1 of 2"
            in (text)
        )
        assert "ordered by estimates; some bounds are computed from other" in text
        assert text.index("some bounds") < text.index(
            "guaranteed bounds for the rows in the release"
        )


def test_rows_are_mappings_in_the_order_of_the_query():
    answer = make_answer([{"sex": "F", "n": Bounds(1, 2)}, {"sex": "M", "n": Bounds(3, 3)}])
    assert len(answer) == 2
    assert [row["sex"] for row in answer] == ["F", "M"]
    assert answer[1]["n"].lower == 3


def test_columns_have_the_types_that_are_told():
    answer = make_answer(
        [
            {
                "n": Bounds(1, 2, 2),
                "avg": Bounds(Fraction(1, 3), Fraction(2, 3), Fraction(1, 2)),
                "day": Bounds(date(2020, 1, 1), date(2020, 1, 3)),
                "key": Decimal("1.50"),
            }
        ]
    )
    types = {field.name: field.type for field in answer.to_arrow().schema}
    assert types == {
        "n_lower": pa.int64(),
        "n_upper": pa.int64(),
        "n_estimate": pa.int64(),
        "avg_lower": pa.float64(),
        "avg_upper": pa.float64(),
        "avg_estimate": pa.float64(),
        "day_lower": pa.date32(),
        "day_upper": pa.date32(),
        "day_estimate": pa.date32(),  # there is none: nulls
        "key": pa.decimal128(3, 2),
    }


@given(st.lists(st.tuples(st.fractions(), st.fractions()).map(sorted), min_size=1, max_size=5))
def test_floats_are_rounded_outward(pairs):
    table = make_answer([{"x": Bounds(*pair)} for pair in pairs]).to_arrow().to_pydict()
    for (low, high), lower, upper in zip(pairs, table["x_lower"], table["x_upper"], strict=True):
        assert Fraction(lower) <= low
        assert Fraction(upper) >= high


@pytest.mark.parametrize("large", [2**62, 2**63 - 1, 2**63, 2**63 + 1, 10**25 + 1, -(10**25) - 1])
@pytest.mark.parametrize("beside", [0, Fraction(1, 3)])
def test_integers_of_any_size_stay_within_their_bounds(large, beside):
    rows = [{"x": Bounds(large, large)}, {"x": Bounds(beside, beside)}]
    table = make_answer(rows).to_arrow().to_pydict()
    for name, within in (("x_lower", Fraction.__le__), ("x_upper", Fraction.__ge__)):
        numbers = [Fraction(number) for number in table[name]]
        assert all(map(within, numbers, [Fraction(large), Fraction(beside)]))


def test_integers_that_may_be_null_stay_integers():
    frame = make_answer([{"n": Bounds(1, 2)}, {"n": Bounds(None, None)}]).to_pandas()
    assert str(frame["n_lower"].dtype) == "Int64"
    assert frame["n_lower"][0] == 1
    assert frame["n_lower"].isna().tolist() == [False, True]


def test_what_only_some_rows_have_is_a_column():
    likely = Likely((Fraction(1, 3), Fraction(1, 2)))
    answer = make_answer(
        [{"x": Bounds(0, 1, may_be_empty=True, likely=likely)}, {"x": Bounds(0, 1)}],
        certain=(True, False),
    )
    names = answer.to_arrow().column_names
    assert names[3:] == ["x_likely_lower", "x_likely_upper", "x_may_be_empty", "certain"]
    assert answer.to_arrow()["x_likely_lower"].to_pylist()[1] is None


def test_what_may_be_anything_is_told_from_what_is_empty():
    answer = make_answer([{"x": Bounds(None, None, unbounded=True)}, {"x": Bounds(None, None)}])
    assert answer.to_arrow()["x_unbounded"].to_pylist() == [True, False]


@pytest.mark.parametrize("alias", ["x_upper", "certain"])
def test_an_alias_hides_no_column(alias):
    answer = make_answer([{"x": Bounds(0, 1), alias: 1}], certain=(False,))
    with pytest.raises(sfumato.QueryError, match=f"two columns .* called '{alias}'"):
        answer.to_arrow()


def test_no_rows_give_no_rows():
    answer = make_answer([], columns=("sex", "n"))
    assert answer.to_arrow().num_rows == 0
    assert len(answer.to_pandas()) == 0
    assert "sex" in repr(answer)
    assert "<tbody></tbody>" in answer._repr_html_()


def test_the_caption_says_what_the_bounds_are_worth():
    answer = make_answer([{"n": Bounds(1, 2)}])
    for text in (repr(answer), answer._repr_html_()):
        assert "guaranteed bounds for the rows in the release" in text
        assert "30 (nulls)" in text
    unsure = BoundedAnswer(Answer("permuted", False, {}, ("n",), (), verified=False))
    assert "guaranteed bounds" not in repr(unsure)


def test_long_answers_are_cut():
    answer = make_answer([{"key": number, "n": Bounds(number, number + 1)} for number in range(90)])
    assert answer._repr_html_().count("<tr>") == 61
    assert "30 more rows" in answer._repr_html_()
    assert len(repr(answer).splitlines()) == 62


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&\x1b[2J\u202e'


def test_no_text_of_a_release_is_markup_or_acts():
    answer = make_answer([{HOSTILE: HOSTILE, "n": Bounds(1, 2)}, {HOSTILE: "b", "n": Bounds(3, 9)}])
    html = answer._repr_html_()
    tree = ElementTree.fromstring(html)
    tags = {element.tag for element in tree.iter()}
    assert tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "svg", "title", "rect"} | {
        "br",
        "p",
    }
    for text in (html, repr(answer)):
        assert "\x1b" not in text
        assert "\u202e" not in text


def _bars(drawing):
    svg = ElementTree.fromstring(drawing)
    return [
        (float(rectangle.get("x")), float(rectangle.get("width"))) for rectangle in svg.iter("rect")
    ]


class TestDrawings:
    """A bar from the lower to the upper bound, on the line from the least to the most."""

    def test_the_first_and_the_last_end_at_the_ends(self):
        column = [Bounds(0, 10), Bounds(10, 30), Bounds(20, 40)]
        scale = IntervalScale(column)
        bars = [_bars(scale.draw(bounds, "x"))[0] for bounds in column]
        assert bars[0][0] == 3
        assert sum(bars[-1]) == pytest.approx(137)
        assert bars[1] == (pytest.approx(3 + 134 / 4, abs=0.1), pytest.approx(134 / 2, abs=0.1))

    def test_the_estimate_is_a_tick_within(self):
        scale = IntervalScale([Bounds(0, 100, 50)])
        bar, tick = _bars(scale.draw(Bounds(0, 100, 50), "x"))
        assert bar[0] < tick[0] + tick[1] / 2 < sum(bar)
        assert tick[0] + tick[1] / 2 == pytest.approx(70)

    def test_days_have_places(self):
        days = [Bounds(date(2020, 1, 1), date(2020, 1, 11)), Bounds(date(2020, 1, 6), None)]
        scale = IntervalScale(days)
        assert _bars(scale.draw(days[0], "x"))[0] == (3, 134)
        assert scale.draw(days[1], "x") == ""

    @pytest.mark.parametrize("bounds", [Bounds("a", "b"), Bounds(None, None), Bounds(5, 5)])
    def test_what_has_no_place_is_not_drawn(self, bounds):
        assert IntervalScale([bounds]).draw(bounds, "x") == ""

    @given(st.lists(st.tuples(st.integers(), st.integers()).map(sorted), min_size=1, max_size=6))
    def test_every_bar_is_within_the_drawing(self, pairs):
        column = [Bounds(*pair) for pair in pairs]
        scale = IntervalScale(column)
        drawings = [scale.draw(bounds, "x") for bounds in column]
        bars = [bar for drawing in drawings if drawing for bar in _bars(drawing)]
        assert all(start >= 0 and start + wide <= 140 for start, wide in bars)


class TestCells:
    """One cell, one row, one column: by their names, however these are spelled."""

    ANSWER = make_answer(
        [{"sex": "F", 'AVG("a b")': Bounds(1, 3, 2)}, {"sex": "M", 'AVG("a b")': Bounds(4, 4, 4)}]
    )

    @pytest.mark.parametrize("name", ['AVG("a b")', "avg(a b)", "Avg( ab )", "avg('a b')"])
    def test_a_name_may_be_spelled_otherwise(self, name):
        assert self.ANSWER[0][name] == Bounds(1, 3, 2)
        assert self.ANSWER[name] == (Bounds(1, 3, 2), Bounds(4, 4, 4))
        assert self.ANSWER[1].bounds(name).is_exact

    def test_the_exact_name_comes_first(self):
        row = make_answer([{"N": 1, "n": 2}])[0]
        assert (row["N"], row["n"]) == (1, 2)

    def test_a_wrong_name_is_told_with_the_right_ones(self):
        for ask in (lambda: self.ANSWER["age"], lambda: self.ANSWER[0]["age"]):
            with pytest.raises(
                sfumato.UnknownColumnError, match=r"^no column 'age'; the columns are 'sex', 'AVG"
            ):
                ask()
        with pytest.raises(sfumato.UnknownColumnError, match=r"^no column 'sexx'; did you mean 's"):
            self.ANSWER["sexx"]
        assert self.ANSWER[0].get("age") is None

    def test_values_are_no_bounds(self):
        with pytest.raises(TypeError, match="column 'sex' has values, not bounds"):
            self.ANSWER[0].bounds("sex")

    def test_rows_are_found_by_their_values(self):
        assert self.ANSWER.row({"sex": "M"})["avg(a b)"].lower == 4
        for values, count in (({"sex": "X"}, "0 rows"), ({"sex": ["F", "M"]}, "2 rows")):
            with pytest.raises(sfumato.QueryError, match=f"{count} of the answer match"):
                self.ANSWER.row(values)

    def test_an_answer_is_filtered_with_all_that_is_known_of_its_rows(self):
        answer = make_answer(
            [{"sex": sex, "n": Bounds(0, n)} for sex, n in (("F", 1), (None, 2), ("M", 3))],
            certain=(True, False, True),
        )
        chosen = answer.where({"sex": ["M", None]})
        assert [row["sex"] for row in chosen] == [None, "M"]
        assert chosen.certain == (False, True)
        assert [row.certain for row in chosen] == [False, True]
        assert "rows that may not be in the answer: 1 of 2" in repr(chosen)
        assert len(answer.where({})) == 3

    def test_a_row_is_shown_as_its_cells(self):
        assert repr(self.ANSWER[0]) == 'sex: F, AVG("a b"): 1 … 3 (≈ 2)'

    def test_a_row_says_what_is_sure_of_it(self):
        rows = make_answer(
            [{"sex": REST, "n": Bounds(0, 1)}, {"sex": "F", "n": Bounds(1, 1)}],
            certain=(False, True),
            rest=(True, False),
        )
        assert [(row.certain, row.rest) for row in rows] == [(False, True), (True, False)]


class TestOneValue:
    """The only cell of an answer as bounds, and as a number."""

    @pytest.mark.parametrize(
        ("bounds", "number"),
        [
            (Bounds(1, 4, Fraction(5, 2)), 2.5),
            (Bounds(3, 3, 3), 3.0),
            (Bounds(Decimal("0.1"), Decimal("0.1")), 0.1),
        ],
    )
    def test_the_estimate_is_the_number(self, bounds, number):
        answer = make_answer([{"n": bounds}])
        assert answer.value is bounds
        assert (float(answer), float(bounds)) == (number, number)

    @pytest.mark.parametrize(
        "bounds", [Bounds(None, None), Bounds(1, 2), Bounds("a", "a"), Bounds(date.min, date.max)]
    )
    def test_what_is_no_number_is_none(self, bounds):
        with pytest.raises(sfumato.QueryError, match="the answer has no number"):
            float(make_answer([{"n": bounds}]))

    @pytest.mark.parametrize(
        ("rows", "columns", "size"),
        [
            ([{"n": Bounds(1, 1)}] * 2, ("n",), "2 rows and 1 column"),
            ([{"n": Bounds(1, 1), "m": Bounds(2, 2)}], None, "1 row and 2 columns"),
            ([], ("n",), "0 rows and 1 column"),
        ],
    )
    def test_several_cells_have_no_single_value(self, rows, columns, size):
        answer = make_answer(rows, columns)
        for ask in (lambda: answer.value, lambda: float(answer)):
            with pytest.raises(sfumato.QueryError, match=f"{size}, so it has no single value"):
                ask()

    @pytest.mark.parametrize(
        ("bounds", "inside", "outside"),
        [
            (Bounds(1, 3), [1, 2.5, 3], [0, 4, None]),
            (Bounds(1, 3, may_be_empty=True), [None, 2], [4]),
            (Bounds(None, None), [None], [0]),
            (Bounds(None, None, unbounded=True), [None, 10**9], []),
            (Bounds(date(2020, 1, 1), date(2020, 2, 1)), [date(2020, 1, 5)], [date(2021, 1, 1)]),
        ],
    )
    def test_bounds_have_what_the_answer_may_be(self, bounds, inside, outside):
        assert all(value in bounds for value in inside)
        assert not any(value in bounds for value in outside)

    def test_only_what_is_known_is_exact(self):
        assert Bounds(2, 2).is_exact
        others = [Bounds(1, 2), Bounds(None, None), Bounds(2, 2, may_be_empty=True)]
        assert not any(bounds.is_exact for bounds in others)

    def test_bounds_are_shown_as_they_are_made(self):
        assert repr(Bounds(1, 2, Fraction(3, 2))) == (
            "Bounds(lower=1, upper=2, estimate=Fraction(3, 2))"
        )
        bounds = Bounds(None, None, unbounded=True)
        assert eval(repr(bounds)) == bounds


class TestOtherLibraries:
    """An answer goes into Polars, DuckDB, pandas and Arrow with all of its columns."""

    ANSWER = make_answer(
        [{"sex": "F", "n": Bounds(1, 3, 2)}, {"sex": None, "n": Bounds(4, Fraction(9, 2))}]
    )
    NAMES = ("sex", "n_lower", "n_upper", "n_estimate")

    def test_arrow_streams(self):
        table = pa.table(self.ANSWER)
        assert table.equals(self.ANSWER.to_arrow())
        assert tuple(table.column_names) == self.NAMES

    def test_duckdb_reads_an_answer_by_its_name(self):
        import duckdb

        answer = self.ANSWER
        with duckdb.connect() as connection:
            rows = connection.sql("SELECT sex, n_upper FROM answer").fetchall()
        assert len(answer) == 2
        assert rows == [("F", 3.0), (None, 4.5)]

    def test_pandas_reads_a_stream(self):
        import pandas as pd

        assert tuple(pd.DataFrame.from_arrow(self.ANSWER).columns) == self.NAMES

    def test_polars(self):
        polars = pytest.importorskip("polars")
        frame = self.ANSWER.to_polars()
        assert tuple(frame.columns) == self.NAMES
        assert frame.rows() == [("F", 1, 3.0, 2), (None, 4, 4.5, None)]
        assert polars.DataFrame(self.ANSWER).equals(frame)

    def test_what_is_missing_is_named_with_how_to_install_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "polars", None)
        with pytest.raises(sfumato.MissingPackageError, match=r"pip install 'sfumato\[polars\]'$"):
            self.ANSWER.to_polars()
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(sfumato.MissingPackageError, match=r"pip install 'sfumato\[plots\]'$"):
            self.ANSWER.plot()


class TestPlots:
    """A bar for each row from its lower to its upper bound, and a dot at the estimate."""

    @pytest.fixture(autouse=True)
    def without_a_screen(self, monkeypatch):
        from matplotlib import pyplot

        monkeypatch.setenv("MPLBACKEND", "Agg")
        pyplot.switch_backend("Agg")
        yield
        pyplot.close("all")

    ROWS = (
        {"sex": "$F$", "town": "a", "n": Bounds(1, 3, 2), "m": Bounds(5, 5, 5)},
        {"sex": "M", "town": None, "n": Bounds(4, 8), "m": Bounds(None, None)},
    )

    @staticmethod
    def lines(axes):
        return [
            ([float(x) for x in line.get_xdata()], [float(y) for y in line.get_ydata()])
            for line in axes.lines
        ]

    def test_the_first_aggregate_is_drawn(self):
        axes = make_answer(self.ROWS).plot()
        assert self.lines(axes) == [([1, 3], [0, 0]), ([2], [0]), ([4, 8], [1, 1])]
        assert axes.get_xlabel() == "n"
        assert axes.get_ylabel() == "sex, town"
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert labels == [r"\$F\$, a", "M, null"]
        assert axes.yaxis_inverted()  # the first row is on top
        axes.figure.canvas.draw()

    def test_another_one_may_be_named(self):
        from matplotlib.figure import Figure

        axes = Figure().add_subplot()
        assert make_answer(self.ROWS).plot("M", ax=axes) is axes
        assert self.lines(axes) == [([5, 5], [0, 0]), ([5], [0])]

    def test_likely_intervals_are_within(self):
        likely = Likely((Fraction(3, 2), Fraction(5, 2)))
        axes = make_answer([{"n": Bounds(1, 3, 2, likely=likely)}]).plot()
        assert self.lines(axes)[1] == ([1.5, 2.5], [0, 0])

    def test_dates_have_an_axis_of_dates(self):
        from matplotlib.dates import AutoDateLocator

        axes = make_answer([{"day": Bounds(date(2020, 1, 1), date(2020, 3, 1))}]).plot()
        assert isinstance(axes.xaxis.get_major_locator(), AutoDateLocator)
        axes.figure.canvas.draw()

    @pytest.mark.parametrize(
        ("rows", "column", "reason"),
        [
            ((), None, "no rows"),
            (ROWS, "sex", "column 'sex' has no bounds"),
            (({"sex": "F"},), None, "no column of the answer has bounds"),
            (({"w": Bounds("a", "b")},), None, "no column of the answer has bounds"),
            (({"n": Bounds(1, 2)},) * 501, None, "at most 500 can be drawn"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, rows, column, reason):
        with pytest.raises(sfumato.QueryError, match=reason):
            make_answer(rows, tuple(rows[0]) if rows else ("n",)).plot(column)


def test_completion_offers_what_is_public():
    answer = make_answer([{"n": Bounds(1, 2)}])
    assert not [name for name in dir(answer) if name.startswith("_") and name[1] != "_"]
    assert {"value", "to_polars", "plot", "columns"} <= set(dir(answer))


def test_help_says_what_the_three_numbers_are():
    text = " ".join(BoundedAnswer.__doc__.split())
    assert "`lower` and `upper`, the bounds: the true answer" in text
    assert "`estimate`, the expected answer, without any guarantee" in text
    assert "lower: the answer is not below it" in Bounds.__doc__
