"""Owners in Python: tables from memory, specs as they are or as mappings, and little that is shown.

What is shown of a table may end in a notebook that others read: totals, and nothing else.
"""

import asyncio
import re

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.flows.api.private_result import FEWEST, PrivateResult
from tests.release.small import SPEC, people


def frame(rows):
    """Rows as pandas reads them: numbers as numbers, missing texts as missing."""
    table = pd.DataFrame(rows)
    table["wage"] = (
        pa.array([None if w == "" else w for w in table["wage"]])
        .cast(pa.decimal128(10, 2))
        .to_pandas()
    )
    return table.replace({"town": {"": None}})


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "work"


def left_behind(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.name for path in paths if path.suffix in (".yaml", ".parquet")}


class TestWhatIsShown:
    """Totals under a mark; all of it on request."""

    RESULT = PrivateResult(
        "a table",
        {"rows": 1234, "groups": 19, "left out": 0, "best": "<b>ke</b>"},
        {"rows": 1234, "k": 3, "risk": [{"columns": ["age"], "rows": 3}]},
    )

    def test_small_counts_are_not_shown(self):
        for text in (repr(self.RESULT), self.RESULT._repr_html_()):
            assert "PRIVATE: a table" in text
            assert "1,234" in text
            assert text.count("below 20") == 2
            assert "19" not in text

    def test_texts_are_no_markup(self):
        assert "<b>" not in self.RESULT._repr_html_()

    def test_all_of_it_is_given_on_request(self):
        frame = self.RESULT.to_pandas()
        assert list(frame.columns) == ["name", "value"]
        assert dict(frame.itertuples(index=False)) == {
            "rows": 1234,
            "k": 3,
            "risk.1.columns.1": "age",
            "risk.1.rows": 3,
        }

    @given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 10_000)))
    def test_no_count_below_the_least_is_ever_shown(self, totals):
        text = repr(PrivateResult("a table", totals, {}))
        numbers = [int(number.replace(",", "")) for number in re.findall(r"\b\d[\d,]*\b", text)]
        assert all(number >= FEWEST for number in numbers)


class TestMeasure:
    """The same document as the command's, of tables from anywhere."""

    ROWS = tuple(people(rows=100))

    def measure_table(self, table, **more):
        return sfumato.measure(table, ["age", "town"], ["wage"], **more)

    def test_a_table_gives_what_its_file_gives(self, work, tmp_path):
        table = pa.Table.from_pylist([{**row, "age": str(row["age"])} for row in self.ROWS])
        file = tmp_path / "people.csv"
        pd.DataFrame(self.ROWS).to_csv(file, index=False)
        of_file = self.measure_table(file, types={"wage": "string"}).document
        assert self.measure_table(table).document["rows"] == of_file["rows"] == 102
        assert self.measure_table(table).document["groups"] == of_file["groups"]
        assert self.measure_table(table).document["k"] == of_file["k"]

    def test_frames_of_any_kind_are_tables(self, work):
        arrow = pa.Table.from_pylist([{"a": 1, "s": "x"}, {"a": 1, "s": "y"}] * 15)
        frames = [arrow, arrow.to_pandas(), arrow.to_pandas().sort_values("s"), _Stream(arrow)]
        for table in frames:
            document = sfumato.measure(table, ["a"], ["s"]).document
            assert (document["rows"], document["k"], document["l"]["distinct"]) == (30, 30, 2)

    def test_what_is_shown_has_neither_small_counts_nor_values(self, work):
        measured = self.measure_table(frame(self.ROWS), promises=[{"model": "k-anonymity", "k": 2}])
        assert measured.document["k"] == 1
        for representation in (repr(measured), measured._repr_html_()):
            assert "102" in representation
            assert "not kept" in representation
            assert all(text not in representation for text in ("Bee", "IDENT", "wage", "singling"))

    def test_nothing_of_the_table_is_left(self, work):
        self.measure_table(frame(self.ROWS))
        assert left_behind(work) == set()

    @pytest.mark.parametrize("table", [3, None, [1, 2], {"a": [1], "b": [1, 2]}])
    def test_what_is_no_table_is_refused(self, work, table):
        with pytest.raises(
            sfumato.InputError, match=("is not a path or a table that Arrow can read")
        ):
            sfumato.measure(table, ["a"])

    def test_faults_are_one_line_without_values(self, work):
        with pytest.raises(
            sfumato.InputError, match=("column 'height' is missing, or occurs several times")
        ):
            sfumato.measure(frame(self.ROWS), ["height"])
        with pytest.raises(sfumato.SpecError, match="promise: "):
            self.measure_table(frame(self.ROWS), promises=[{"model": "k-anonymity"}])
        with pytest.raises(
            sfumato.SpecError,
            match=(
                r'is a text. Give a list of names, such as \["age", '
                r'"town"\]'
            ),
        ):
            sfumato.measure(frame(self.ROWS), "age")


class _Stream:
    """A table of another library: it has Arrow's stream, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_a_plan_of_a_frame_publishes_nothing(work, tmp_path):
    plan = sfumato.plan(frame(people()), SPEC)
    assert plan.document["rows"]["read"] == 62
    assert plan.page.is_file()
    assert "would be published" in repr(plan)
    assert "PRIVATE" in plan._repr_html_()
    assert not (tmp_path / "public").exists()
    assert [path for path in tmp_path.iterdir() if path.suffix == ".yaml"] == []


def test_what_would_be_refused_is_refused_in_one_line(work, tmp_path):
    few = frame(people(rows=1))
    with pytest.raises(sfumato.PromiseError) as caught:
        sfumato.plan(few, SPEC)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.glob(".*.yaml")) == []


def test_a_comparison_recommends_a_spec_for_the_table(work, tmp_path):
    grid = {"partition": [{"method": "ke"}], "form": [{"method": "permuted"}]}
    comparison = sfumato.compare(frame(people()), SPEC, grid)
    assert [alternative["name"] for alternative in comparison.document["alternatives"]] == [
        "ke · permuted"
    ]
    assert comparison.document["recommended"] == "ke · permuted"
    written = comparison.document["spec"]
    assert written["promises"] == SPEC["promises"]
    assert "source" not in written
    assert list(tmp_path.glob("*.yaml")) == list(tmp_path.glob(".*.yaml")) == []


def test_a_comparison_of_a_spec_leaves_the_recommended_one_beside_it(small):
    grid = {"partition": [{"method": "ke"}], "form": [{"method": "permuted"}]}
    comparison = sfumato.compare(None, small.spec, grid)
    assert comparison.document["spec"] == str(small.spec.with_name("wages.recommended.yaml"))


class TestRelease:
    """One flow for sources of specs and for tables from memory."""

    def test_a_frame_becomes_a_version_that_answers(self, work, tmp_path):
        made = sfumato.release(frame(people()), SPEC)
        assert made.directory == tmp_path / "public" / "wages" / "0001"
        assert made.published
        assert made.open().query("SELECT COUNT(*) FROM microdata")[0]["COUNT(*)"].lower == 60
        assert made.document["rows"]["published"] == 60
        assert made.page == made.directory / "index.html"
        assert "below 20" in repr(made)  # groups, and rows left out
        assert left_behind(work) == set()
        assert list(tmp_path.glob(".*.yaml")) == []

    def test_the_same_frame_gives_the_version_that_stands(self, work, tmp_path):
        first, second = (sfumato.release(frame(people()), SPEC) for _ in range(2))
        assert first.directory == second.directory

    def test_the_file_and_the_frame_are_the_same_source(self, work, small, monkeypatch):
        monkeypatch.chdir(small.folder)
        of_file = sfumato.release(None, small.spec)
        of_frame = sfumato.release(frame(people()), small.spec)
        assert of_file.directory == of_frame.directory

    def test_what_the_source_says_of_rows_holds_for_the_table(self, work, tmp_path):
        made = sfumato.release(frame(people()), SPEC)
        assert made.document["rows"]["removed by the filter"] == 1

    def test_a_candidate_waits_where_the_spec_says_so(self, work, tmp_path):
        spec = {**SPEC, "approval": "required"}
        result = sfumato.release(frame(people()), spec)
        assert not result.published
        assert "PRIVATE: a candidate, waiting" in repr(result)
        assert result.page.is_file()
        assert not (tmp_path / "public").exists()
        with pytest.raises(sfumato.InputError, match="waits for approval"):
            result.open()

    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_an_event_loop_that_runs_is_no_hindrance(self, work, tmp_path):
        async def cell():
            return sfumato.release(frame(people()), SPEC)

        assert asyncio.run(cell()).directory == tmp_path / "public" / "wages" / "0001"

    def test_settings_and_the_day_are_those_of_the_command(self, work, tmp_path):
        from datetime import date

        made = sfumato.release(
            frame(people()), SPEC, settings={"publish.uri": "elsewhere"}, as_of=date(2026, 5, 31)
        )
        assert made.directory == tmp_path / "elsewhere" / "wages" / "0001"

    def test_a_wrong_spec_is_told_in_one_line(self, work, tmp_path):
        wrong = {**SPEC, "promise": []}
        with pytest.raises(sfumato.SpecError) as caught:
            sfumato.release(frame(people()), wrong)
        assert "promise: " in str(caught.value)
        assert "\n" not in str(caught.value)
        (tmp_path / "list.yaml").write_text("- 1\n")
        with pytest.raises(sfumato.SpecError, match="is not a spec"):
            sfumato.release(frame(people()), tmp_path / "list.yaml")

    def test_specs_in_files_have_paths_of_their_own(self, work, tmp_path):
        folder = tmp_path / "specs"
        folder.mkdir()
        (folder / "wages.yaml").write_text(yaml.safe_dump(SPEC))
        made = sfumato.release(frame(people()), folder / "wages.yaml")
        assert made.directory == folder / "public" / "wages" / "0001"
