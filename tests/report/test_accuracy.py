import csv
from dataclasses import dataclass
from fractions import Fraction

import pytest

from sfumato.tasks.report.accuracy import _READINGS, draw_scores, summarize, write_accuracy_report
from tests.report.html import Read


@dataclass(frozen=True)
class Query:
    kind: str
    level: int
    relative_error: float | None
    relative_width: float | None
    inside: bool = True
    aggregate: str = "avg"
    sensitive: str | None = "capital-loss"
    lower: Fraction | None = Fraction(1, 3)
    upper: Fraction | None = Fraction(5, 2)
    truth: Fraction | None = Fraction(2)
    estimate: Fraction | None = None
    estimate_error: float | None = None


QUERIES = [
    *(Query("range", 10, error / 100, error / 50) for error in (1, 2, 3, 4, 5)),
    *(Query("range", 5, error / 100, error / 50) for error in (10, 20, 30)),
    Query("range", 5, None, None, truth=None, lower=None, upper=None),
    Query("arbitrary", 50, 0.5, 0.25, inside=False),
    Query("arbitrary", 50, None, 0.5, aggregate="count", sensitive=None),
]


def test_scores_are_summed_up_by_workload_and_level():
    ranges, *others = summarize(QUERIES)
    assert ranges.title == "AVG(capital-loss), range queries"
    five, ten = ranges.levels
    assert (five.level, five.queries, five.without_error, five.outside) == (5, 4, 1, 0)
    assert five.error.mean == pytest.approx(0.2)
    assert ten.error.quartiles == pytest.approx((0.02, 0.03, 0.04))
    assert [w.title for w in others] == [
        "AVG(capital-loss), arbitrary queries",
        "COUNT(*), arbitrary queries",
    ]
    assert others[0].levels[0].outside == 1


def test_report_is_marked_private_and_holds_every_workload(tmp_path):
    report = write_accuracy_report(QUERIES, tmp_path, "Losses </script> & gains")
    text = report.read_text(encoding="utf-8")
    seen = Read(text)
    assert seen.faults == []
    assert "PRIVATE" in seen.text
    assert "True answers reveal the source." in seen.text
    assert "1 answer lies outside its bounds" in seen.text
    assert "AVG(capital-loss), range queries" in seen.text
    assert "20.0 %" in seen.text
    assert "Losses </script> & gains" in seen.text
    assert "script" not in {tag for tag, _ in seen.elements}
    assert len(seen.all("svg")) == 5


def test_estimates_are_shown_where_there_are_any(tmp_path):
    counts = [
        Query("counts", 5, 1.0, 1.0, estimate=Fraction(3), estimate_error=e / 100) for e in (40, 60)
    ]
    (workload,) = summarize(counts)
    assert workload.has_estimates
    assert workload.levels[0].estimate.mean == pytest.approx(0.5)
    report = write_accuracy_report([*counts, *QUERIES[:3]], tmp_path, "Losses")
    seen = Read(report.read_text(encoding="utf-8"))
    assert seen.faults == []
    assert seen.text.count("error of the estimate") == 2
    assert "% of the rows selected" in seen.text
    assert "50.0 %" in seen.text
    with (tmp_path / "accuracy.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["estimate"] for line in lines] == ["3", "3", "", "", ""]


def test_table_has_a_line_per_query_with_exact_numbers(tmp_path):
    write_accuracy_report(QUERIES, tmp_path, "Losses")
    with (tmp_path / "accuracy.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(QUERIES)
    assert (lines[0]["lower"], lines[0]["upper"], lines[0]["truth"]) == ("1/3", "2.5", "2")
    assert lines[8]["truth"] == ""
    assert lines[9]["inside"] == "false"


def test_only_the_owner_may_read(tmp_path):
    write_accuracy_report(QUERIES, tmp_path, "Losses")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_no_query_is_said(tmp_path):
    report = write_accuracy_report([], tmp_path, "Losses")
    assert (
        "Nothing was measured, because the spec names no queries"
        in Read(report.read_text(encoding="utf-8")).text
    )


def test_charts_have_axes_and_say_their_numbers():
    ranges, arbitrary, count = summarize(QUERIES)
    chart = draw_scores(ranges, "width")
    assert chart.words.y_title == "± %"
    assert chart.words.x_title == "span of the range"
    assert [dot.text for dot in chart.dots] == ["±20.0 %", "±3.0 %"]
    assert chart.words.summary.endswith("±20.0 % at 5, ±3.0 % at 10")
    assert [name for name, _ in chart.shapes] == ["body", "edges", "median"]
    assert chart.y_ticks[0].label == "0"
    assert [name for name, _ in draw_scores(arbitrary, "error").shapes] == ["edges", "median"]
    assert draw_scores(count, "error") is None


def test_the_report_looks_like_other_pages(tmp_path):
    text = write_accuracy_report(QUERIES, tmp_path, "Losses").read_text(encoding="utf-8")
    assert "'unsafe-inline'" not in text
    assert 'style="' not in text
    assert "--verdigris" in text


def test_presence_is_shown_in_percent(tmp_path):
    shares = dict.fromkeys(_READINGS, 0.25) | {"per_group": 0.0}
    seen = {
        "alpha": "0.1",
        "rows_above_alpha": shares,
        "weighted_presence": {"median": 0.123456, "largest": 12345.6},
        "covering_groups": {"mean": 1234.56, "most": 4321},
    }
    text = Read(
        write_accuracy_report(QUERIES, tmp_path, "Losses", [seen]).read_text(encoding="utf-8")
    ).text
    assert "25.0 %" in text
    assert "1,235 groups on average, and by 4,321 at most" in text
    assert "0.1235 records" in text
    assert "12,346 at most" in text
