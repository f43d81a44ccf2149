"""The papers' running examples, through the command: `python -m tests.papers.running_examples`.

Writes the page of the guide that shows them. A test runs the same commands and compares what they
print and publish with the papers' tables, cell by cell, and with the page.
"""

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from sfumato.flows.cli.main import run
from sfumato.tasks.terms.opened import Release, open_release

PAGE = Path(__file__).parents[2] / "deployments/guide/pages/comparison/running-examples.md"
_HEAD = """# The papers' running examples

Each paper explains its method on a table of a few people. Here the command releases these tables;
the right column is what the paper prints. `python -m tests.papers.running_examples` writes this
page, and a test repeats it.
"""
_KEYS = ("promises", "partition", "form")
_COMMON: dict[str, Any] = {
    "version": 2,
    "unit": "row",
    "versions": "disjoint",
    "approval": "none",
    "evaluate": {"workloads": []},
}


@dataclass(frozen=True)
class Answered:
    """A question about a release: its bounds, and the estimate where the paper has only that."""

    sql: str
    lower: float
    upper: float
    estimate: Fraction | None = None

    @property
    def of_paper(self) -> str:
        """The answer as the paper prints it."""
        has_bounds = self.estimate is None
        return f"{self.lower:g} … {self.upper:g}" if has_bounds else f"≈ {self.estimate}"


@dataclass(frozen=True)
class RunningExample:
    """A paper's table, how it is released, and what the paper prints.

    Attributes:
        name: the name of the line.
        title: the heading of the page.
        source: the paper, and where its table differs from what is checked here.
        header: the columns of the source.
        rows: its rows.
        spec: the keys of the spec that are not the same for all.
        tables: by table that is published, its rows in any order; they are the paper's, unless
            `printed` has others.
        verdicts: the lines of `sfumato check` about promises.
        answers: what queries answer.
        refused: the words of a refusal, where nothing is released.
        printed: by row of a table, what the paper prints in its place.
    """

    name: str
    title: str
    source: str
    header: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    spec: Mapping[str, Any]
    tables: Mapping[str, Sequence[tuple[Any, ...]]]
    verdicts: Sequence[str]
    answers: Sequence[Answered] = ()
    refused: str = ""
    printed: Mapping[tuple[Any, ...], str] = field(default_factory=dict)


_NUMBER = {"role": "quasi-identifier", "type": "integer"}
_TEXT = {"role": "quasi-identifier"}
_SALARIES = (
    (91110, "F", 30),
    (91110, "M", 40),
    (91110, "M", 50),
    (91130, "F", 60),
    (91210, "F", 40),
    (91220, "F", 30),
    (91240, "F", 50),
    (91310, "M", 40),
    (91320, "M", 60),
    (91330, "M", 60),
    (91340, "F", 60),
)
_DISTRIBUTION = (
    "Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009)"
)


def _salaries(name: str, title: str, form: Mapping[str, Any], **more: Any) -> RunningExample:
    """The table of the distribution paper: every zip group is to have 4 equally likely salaries."""
    return RunningExample(
        name,
        title,
        _DISTRIBUTION,
        ("zip", "gender", "salary"),
        _SALARIES,
        {
            "columns": {
                "zip": _NUMBER,
                "gender": _TEXT,
                "salary": {"role": "sensitive", "type": "integer"},
            },
            "strata": [{"column": "zip", "bands": [91200, 91300]}],
            "promises": [
                {"model": "p-privacy", "target": "uniform"},
                {"model": "l-diversity", "variant": "distinct", "l": 4},
            ],
            "partition": {"method": "stratum"},
            "form": {"method": "redistributed", **form},
        },
        verdicts=(
            "p-privacy is kept in all 3 groups: required tolerance=0, observed tolerance=0",
            "distinct-l-diversity is kept in all 3 groups: required l=4, observed l=4",
        ),
        **more,
    )


_ONES = [(0, value, value, 1) for value in (30, 40, 50, 60)]
_ZIP_913 = "SELECT AVG(salary) AS mean FROM microdata WHERE zip BETWEEN 91300 AND 91399"
_PEOPLE = (
    (45, "M", 11000, "diabetes"),
    (20, "M", 12000, "flu"),
    (50, "M", 23000, "diarrhea"),
    (60, "M", 12000, "stroke"),
    (20, "F", 54000, "leukemia"),
    (50, "F", 23000, "diabetes"),
    (60, "F", 23000, "leukemia"),
    (60, "F", 21000, "dyspepsia"),
)
_INPATIENTS = (
    ("13053", 28, "Russian", "heart"),
    ("13068", 29, "American", "heart"),
    ("13068", 21, "Japanese", "viral"),
    ("13053", 23, "American", "viral"),
    ("14853", 50, "Indian", "cancer"),
    ("14853", 55, "Russian", "heart"),
    ("14850", 47, "American", "viral"),
    ("14850", 49, "American", "viral"),
    ("13053", 31, "American", "cancer"),
    ("13053", 37, "Indian", "cancer"),
    ("13068", 36, "Japanese", "cancer"),
    ("13068", 35, "American", "cancer"),
)
_THREE_DIVERSE = {
    ("13053", "[23, 37]", "{American, Indian, Russian}"): (
        "cancer cancer heart viral",
        "1305*, ≤ 40, *",
    ),
    ("13068", "[21, 36]", "{American, Japanese}"): ("cancer cancer heart viral", "1306*, ≤ 40, *"),
    ("1485*", "[47, 55]", "{American, Indian, Russian}"): (
        "cancer heart viral viral",
        "1485*, > 40, *",
    ),
}
"""The conditions of each group, by its labels, and the paper's labels."""


def _inpatients(name: str, title: str, strata: Any, promises: Any, **more: Any) -> RunningExample:
    """The inpatients of the l-diversity paper, in groups of the owner."""
    return RunningExample(
        name,
        title,
        "Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006). The labels "
        "of the command are as narrow as the rows of a group allow; the paper's are wider",
        ("zip", "age", "nationality", "condition"),
        _INPATIENTS,
        {
            "columns": {
                "zip": {"role": "quasi-identifier", "hierarchy": {"prefixes": [4, 3]}},
                "age": _NUMBER,
                "nationality": _TEXT,
                "condition": {"role": "sensitive"},
            },
            "strata": strata,
            "promises": promises,
            "partition": {"method": "stratum"},
            "form": {"method": "generalized"},
        },
        **more,
    )


EXAMPLES: tuple[RunningExample, ...] = (
    _salaries(
        "salaries",
        "Distributions: the owner's groups, four equally likely salaries in each",
        {},
        tables={
            "st": [
                *_ONES,
                (1, 30, 40, 1),
                (1, 30, 60, 1),
                (1, 50, 60, 1),
                (2, 30, 40, 1),
                (2, 30, 60, 2),
                (2, 50, 60, 1),
            ]
        },
        answers=(
            Answered("SELECT AVG(salary) AS mean FROM microdata WHERE gender = 'F'", 35, 55),
            Answered(_ZIP_913, 35, 55),
        ),
    ),
    _salaries(
        "salaries-with-fakes",
        "Distributions: up to eight values of a group made up, which widens the mean of 913",
        {"fakes": 8},
        tables={
            "st": [
                *_ONES,
                *((1, value, value, 1) for value in (30, 40, 50, 60)),
                *((2, value, value, 3) for value in (30, 40, 50, 60)),
            ]
        },
        answers=(Answered(_ZIP_913, 32.5, 57.5),),
    ),
    RunningExample(
        "diseases",
        "Ambiguity: eight people in the paper's two groups",
        "Wang, Ambiguity: hide the presence of individuals and their privacy with low information "
        "loss. The group of women has four rows, so that presence is 4/9; the paper's algorithm "
        "counts three diseases",
        ("age", "gender", "zip", "disease"),
        _PEOPLE,
        {
            "columns": {
                "age": _NUMBER,
                "gender": _TEXT,
                "zip": _NUMBER,
                "disease": {"role": "sensitive"},
            },
            "strata": ["gender"],
            "promises": [
                {"model": "alpha-beta", "alpha": 0.45, "beta": 0.5, "presence": "per-group"}
            ],
            "partition": {"method": "stratum"},
            "form": {"method": "ambiguous"},
        },
        {
            "at_age": [(20, 0), (45, 0), (50, 0), (60, 0), (20, 1), (50, 1), (60, 1)],
            "at_gender": [("M", 0), ("F", 1)],
            "at_zip": [(z, 0) for z in (11000, 12000, 23000)]
            + [(z, 1) for z in (21000, 23000, 54000)],
            "st": [
                *((0, disease, 1) for disease in ("diabetes", "diarrhea", "flu", "stroke")),
                (1, "diabetes", 1),
                (1, "dyspepsia", 1),
                (1, "leukemia", 2),
            ],
        },
        (
            "alpha-beta is kept in all 2 groups: required alpha=0.45, beta=0.5, observed "
            "alpha=4/9, beta=0.5",
        ),
        (
            Answered(
                "SELECT COUNT(*) AS n FROM microdata WHERE disease = 'stroke' AND age >= 45",
                0,
                1,
                Fraction(3, 4),
            ),
            Answered(
                "SELECT COUNT(*) AS n FROM microdata WHERE disease = 'diabetes' AND age >= 50 "
                "AND zip = 23000",
                0,
                2,
                Fraction(7, 18),
            ),
        ),
    ),
    _inpatients(
        "inpatients-four",
        "l-diversity: the 4-anonymous groups, of which one has one condition",
        [{"column": "zip", "level": 2}, {"column": "age", "bands": [30, 40]}],
        [{"model": "k-anonymity", "k": 4}, {"model": "l-diversity", "variant": "distinct", "l": 2}],
        tables={},
        verdicts=(),
        refused="distinct-l-diversity cannot be kept: required l=2, at best l=1 in 1 of 3 strata",
    ),
    _inpatients(
        "inpatients",
        "l-diversity: the 3-diverse groups",
        [{"column": "zip", "level": 1}],
        [
            {"model": "l-diversity", "variant": "distinct", "l": 3},
            {"model": "l-diversity", "variant": "entropy", "l": 2.8},
            {"model": "l-diversity", "variant": "recursive", "l": 3, "c": 2.01},
        ],
        tables={
            "microdata": [
                (*labels, condition)
                for labels, (conditions, _) in _THREE_DIVERSE.items()
                for condition in conditions.split()
            ]
        },
        printed={
            (*labels, condition): f"{paper}, {condition}"
            for labels, (conditions, paper) in _THREE_DIVERSE.items()
            for condition in conditions.split()
        },
        verdicts=(
            "distinct-l-diversity is kept in all 3 groups: required l=3, observed l=3",
            "entropy-l-diversity is kept in all 3 groups: required l=2.8, observed l=2.828427",
            "recursive-l-diversity is kept in all 3 groups: required c=2.01, l=3, "
            "observed c=2, l=3",
        ),
    ),
    RunningExample(
        "slides",
        "Cell suppression: seven people, ten stars for k = 2",
        "Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu, Anonymizing tables (ICDT "
        "2005)",
        ("age", "race", "zip"),
        (
            (31, "Cauc", "94305"),
            (34, "Cauc", "94307"),
            (27, "Cauc", "94301"),
            (41, "Afr-A", "94305"),
            (41, "Afr-A", "94059"),
            (65, "Hisp", "94042"),
            (46, "Hisp", "94042"),
        ),
        {
            "columns": {"age": _NUMBER, "race": _TEXT, "zip": _TEXT},
            "promises": [{"model": "k-anonymity", "k": 2}],
            "partition": {"method": "forest"},
            "form": {"method": "suppressed", "protects": "identities"},
        },
        {
            "microdata": [
                *([("*", "Cauc", "*")] * 3),
                *([("41", "Afr-A", "*")] * 2),
                *([("*", "Hisp", "94042")] * 2),
            ]
        },
        ("k-anonymity is kept in all 3 groups: required k=2, observed k=2",),
    ),
    RunningExample(
        "wages",
        "(k,e)-anonymity: groups of the least sum of ranges, and bounds of answers",
        "Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE "
        "2007). The table and the bounds are ours, worked out by hand from the paper's formulas",
        ("age", "salary"),
        tuple(enumerate((54, 55, 56, 65, 70, 75, 75, 80, 85), start=21)),
        {
            "columns": {"age": _NUMBER, "salary": {"role": "sensitive", "type": "integer"}},
            "promises": [{"model": "ke-anonymity", "k": 3, "e": 2}],
            "partition": {"method": "ke", "objective": "sum"},
            "form": {"method": "permuted"},
        },
        {},
        ("ke-anonymity is kept in all 3 groups: required k=3, e=2, observed k=3, e=2",),
        tuple(
            Answered(f"SELECT {sql} AS x FROM microdata WHERE {where}", *bounds)
            for where, sql, bounds in (
                ("age = 24", "SUM(salary)", (65, 75)),
                ("age <= 23", "SUM(salary)", (165, 165)),
                ("age <= 22", "MIN(salary)", (54, 55)),
                ("age <= 22", "AVG(salary)", (54.5, 55.5)),
            )
        ),
    ),
)


@dataclass(frozen=True)
class Repeated:
    """Everything that the commands published and printed about an example.

    Attributes:
        tables: rows of published tables, in their order.
        verdicts: the lines of `sfumato check` about promises.
        answers: the JSON of each answer's cell.
        message: the words of a refusal, empty if there is a release.
    """

    tables: Mapping[str, Sequence[tuple[Any, ...]]]
    verdicts: Sequence[str]
    answers: Sequence[Mapping[str, Any]]
    message: str


def repeat(example: RunningExample, folder: Path) -> Repeated:
    """Release an example below a folder, check it and ask it, by the command."""
    place = folder / example.name
    place.mkdir()
    os.environ["SFUMATO_WORK"] = str(place / "work")
    lines = (",".join(map(str, row)) for row in (example.header, *example.rows))
    (place / "source.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (place / "spec.yaml").write_text(
        yaml.safe_dump(spec_of(example), sort_keys=False), encoding="utf-8"
    )
    code, message = command("release", str(place / "spec.yaml"))
    if code:
        return Repeated({}, (), (), message)
    directory = place / "public" / example.name / "0001"
    release = open_release(directory)
    tables = {name: _rows(release, name) for name in example.tables}
    _, checked = command("check", str(directory))
    verdicts = [line for line in checked.splitlines() if " is kept in all " in line]
    answers = [ask(directory, answer.sql) for answer in example.answers]
    return Repeated(tables, verdicts, answers, "")


def _rows(release: Release, name: str) -> list[tuple[Any, ...]]:
    """The rows of a published table, with columns in the order of the source."""
    table = release.table(name)
    names = [column for column in release.declared.columns if column in table.column_names]
    rest = [column for column in table.column_names if column not in names]
    order = names + rest if name == "microdata" else table.column_names
    return [tuple(row.values()) for row in table.select(order).to_pylist()]


def spec_of(example: RunningExample) -> dict[str, Any]:
    """The whole spec of an example."""
    return {
        **_COMMON,
        "name": example.name,
        "title": example.title,
        "source": {"uri": "source.csv", "format": "csv"},
        **example.spec,
        "publish": {"uri": "public", "formats": ["parquet", "csv"]},
    }


def ask(directory: Path, sql: str) -> Mapping[str, Any]:
    """The one cell of an answer."""
    _, printed = command("query", str(directory), sql, "--format", "json")
    ((cell,),) = (row.values() for row in json.loads(printed)["rows"])
    return dict(cell)


def command(*arguments: str) -> tuple[int, str]:
    """The exit code of a command and what it printed; of a refusal its message."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(arguments))
    if code:
        return code, err.getvalue().strip().splitlines()[-1].removeprefix("sfumato: ")
    return code, out.getvalue()


def write_page(folder: Path) -> str:
    """The page, in Markdown, from what the commands publish and print."""
    return "\n".join([_HEAD, *(line for e in EXAMPLES for line in _section(e, repeat(e, folder)))])


def _section(example: RunningExample, repeated: Repeated) -> Iterator[str]:
    yield f"## {example.title}\n\n{example.source}.\n"
    spec = {name: example.spec[name] for name in ("strata", *_KEYS) if name in example.spec}
    written = yaml.safe_dump(spec, default_flow_style=None, sort_keys=False, width=100)
    yield f"```yaml\n{written}```\n"
    if repeated.message:
        yield f"The command refuses it, as the paper does:\n\n```text\n{repeated.message}\n```\n"
        return
    for name, rows in repeated.tables.items():
        yield f"| `{name}` | the paper |\n| --- | --- |"
        expected = [tuple(map(str, row)) for row in example.tables[name]]
        for row in (tuple(map(str, row)) for row in rows):
            agrees = example.printed.get(row, "the same") if row in expected else "not there"
            yield f"| {', '.join(row)} | {agrees} |"
        yield ""
    yield from ("```text", *repeated.verdicts, "```", "")
    if example.answers:
        yield "| question | the command | the paper |\n| --- | --- | --- |"
        for answer, cell in zip(example.answers, repeated.answers, strict=True):
            yield f"| `{answer.sql}` | {_bounds(cell)} | {answer.of_paper} |"
        yield ""


def _bounds(cell: Mapping[str, Any]) -> str:
    """Bounds as a page writes them, with the estimate."""
    text = f"{cell['lower']:g} … {cell['upper']:g}"
    return f"{text} (≈ {cell['estimate']:.4g})" if "estimate" in cell else text


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(write_page(Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
