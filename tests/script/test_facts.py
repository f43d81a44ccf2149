"""The script of a page of two tables whose people have facts gives the bounds of the engine."""

from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.report.page_data import page_data
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.facts.clinic import clinic, spec_of_clinic, tables
from tests.flow_here import release_here
from tests.related.drawn import HAS, JOIN, of_stays
from tests.related.hospital import DIAGNOSES
from tests.script.questions import answer_by_script
from tests.script.same_answers import differences
from tests.script.test_same_answers import with_rounded_estimates

pytestmark = pytest.mark.node
FACTS = ("readmitted", "NOT readmitted", "times >= 2", "total_cost BETWEEN 5 AND 40", "admitted",
         "days_between > 20", "days_between IS NULL", "NOT total_cost > 20",
         "(times = 1 OR times = 3)")  # fmt: skip
OF_FACTS = ("SUM(total_cost)", "AVG(times)", "SUM(days_between)", "AVG(days_between)",
            "MAX(total_cost)", "MEDIAN(times)", "COUNT(days_between)")  # fmt: skip
OF_STAYS = ("COUNT(*)", "SUM(cost)", "AVG(cost)", "COUNT(DISTINCT patient)",
            "COUNT(*) / COUNT(DISTINCT patient)")  # fmt: skip
MANY = "patient IN (SELECT patient FROM stays WHERE {} GROUP BY patient HAVING COUNT(*) >= {})"


def draw_question(random: Random, without: str = "nothing") -> str:
    """A question about facts, alone or beside stays, of a shape that a page reads."""

    def those(texts: Sequence[str]) -> list[str]:
        return [text for text in texts if without not in text]

    low = random.randint(18, 60)
    of_people = random.choice([f"age BETWEEN {low} AND {low + 20}", "sex = 'f'", f"age > {low}"])
    facts = random.sample(those(FACTS), random.randint(1, 2))
    names = those(("readmitted", "times", "sex", "flu_and_gout"))
    keys = random.sample(names, random.choice((0, 0, 1, 2)))
    keys_first, group = (
        "".join(f"{k}, " for k in keys),
        f" GROUP BY {', '.join(keys)}" if keys else "",
    )
    row = of_stays(random)
    has = random.choice([HAS.format(row), MANY.format(row, random.randint(1, 3))])
    has = random.choice(("", "NOT ")) + has
    match random.choice(("alone", "values", "values", "joined", "joined", "has", "has", "share")):
        case "alone":
            joined = random.choice((" AND ", " OR ")).join([*facts, of_people])
            return f"SELECT {keys_first}COUNT(*) FROM patients WHERE {joined}{group}"
        case "values":
            where = random.choice((of_people, f"{of_people} AND {facts[0]}"))
            columns = f"{keys_first}{random.choice(those(OF_FACTS))}"
            return f"SELECT {columns} FROM patients WHERE {where}{group}"
        case "joined":
            where = " AND ".join([*facts, of_people, row])
            return (
                f"SELECT {keys_first}{random.choice(those(OF_STAYS))} {JOIN} WHERE {where}{group}"
            )
        case "share":
            share = f"AVG(CASE WHEN {facts[0]} THEN 1 ELSE 0 END)"
            return f"SELECT {keys_first}{share} FROM patients WHERE {of_people}{group}"
    where = f"{' AND '.join(facts)} {random.choice(('AND', 'AND', 'OR'))} {has}"
    return f"SELECT {keys_first}COUNT(*) FROM patients WHERE {where}{group}"


def small_tables(seed: int, schemas):
    """Small groups of people with their rows and facts, as they are published."""
    random = Random(seed)
    people, rows, groups = [], [], []
    for group in range(random.randint(1, 6)):
        numbers = [random.randint(0, 3) for _ in range(random.randint(1, 6))]
        people += [
            {
                "age": random.randint(20, 70),
                "sex": random.choice("fm"),
                "times": number,
                "admitted": number > 0,
                "readmitted": random.random() < 0.3,
                "flu_and_gout": random.random() < 0.3,
                "total_cost": random.randint(-3, 60),
                "days_between": random.choice((None, random.randint(0, 40))),
                "group_id": group,
            }
            for number in numbers
        ]
        rows += [
            {
                "diagnosis": random.choice(DIAGNOSES),
                "cost": random.randint(-3, 40),
                "group_id": group,
            }
            for _ in range(sum(numbers))
        ]
        counted = {"people": len(numbers), "related_rows": sum(numbers), "most_rows": max(numbers)}
        groups.append({"group_id": group, **counted})
    named = {"patients": people, "stays": rows, "group_counts": groups}
    return {name: pa.Table.from_pylist(named[name], schemas[name]) for name in named}


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "together"])
def release(request, tmp_path_factory):
    """A release with all facts, shuffled each by itself, or all together."""
    place = tmp_path_factory.mktemp("clinic")
    spec = spec_of_clinic(place, clinic(5, 160), tables=tables(together=request.param))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        return open_release(release_here(spec))


@pytest.fixture(scope="module")
def data(release):
    return read_tables(release.declared, release.directory / "data")


def test_answers_on_a_release_contain_those_of_the_engine(release, data):
    """The script does not use numbers of rows among facts, and the page says so.

    Of sums and means, the engine's bounds by these numbers may be the wider ones.
    """
    random = Random(2)
    queries = [draw_question(random, without="(cost)") for _ in range(150)]
    whole = {**data, **build_help_tables(data, release.declared)}
    outside, compared, _ = differences(whole, release.declared, queries, may_be_wider=True)
    assert not outside, "\n".join(outside)
    assert compared >= 0.9 * len(queries)
    page = (release.directory / "index.html").read_text(encoding="utf-8")
    assert "does not use <code>times</code> for questions across both tables" in page


@pytest.mark.parametrize("together", [False, True])
def test_answers_without_numbers_of_rows_are_the_same(together, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    both = tables(together=together)
    del both["patients"]["columns"]["times"]
    release = open_release(release_here(spec_of_clinic(tmp_path, clinic(5, 160), tables=both)))
    data = read_tables(release.declared, release.directory / "data")
    random = Random(3)
    queries = [draw_question(random, without="times") for _ in range(150)]
    whole = {**data, **build_help_tables(data, release.declared)}
    different, compared, _ = differences(whole, release.declared, queries)
    assert not different, "\n".join(different)
    assert compared >= 0.9 * len(queries)


@pytest.mark.parametrize("seed", range(8))
def test_answers_on_small_groups_contain_those_of_the_engine(release, data, seed):
    small = small_tables(seed, {name: table.schema for name, table in data.items()})
    random = Random(100 + seed)
    queries = [draw_question(random, without="(cost)") for _ in range(60)]
    whole = {**small, **build_help_tables(small, release.declared)}
    outside, compared, _ = differences(whole, release.declared, queries, may_be_wider=True)
    assert not outside, "\n".join(outside)
    assert compared >= 0.8 * len(queries)


def test_answers_from_files_are_those_from_the_page(release, data, monkeypatch):
    text = page_data(data, release.declared)
    monkeypatch.setattr("sfumato.tasks.report.page_data._least_length", lambda _: 10**9)
    named = page_data(data, release.declared)
    random = Random(9)
    queries = [draw_question(random) for _ in range(40)]
    from_page = answer_by_script(text, queries)
    from_files = answer_by_script(named, queries, release.directory)
    assert [with_rounded_estimates(answer) for answer in from_files] == [
        with_rounded_estimates(answer) for answer in from_page
    ]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (f"SELECT SUM(total_cost) {JOIN}", "once for each of their rows"),
        (
            f"SELECT SUM(total_cost) FROM patients WHERE {HAS.format('cost > 3')}",
            "Only COUNT has bounds",
        ),
        (
            f"SELECT AVG(times) FROM patients WHERE readmitted AND {HAS.format('cost > 3')}",
            "Only COUNT has bounds",
        ),
        ("SELECT COUNT(*) FROM stays WHERE readmitted", "Column readmitted is in patients"),
        ("SELECT COUNT(DISTINCT times) FROM patients", "does not count different values"),
    ],
)
def test_other_questions_are_refused_with_what_to_ask(release, data, query, why):
    (answer,) = answer_by_script(page_data(data, release.declared), [query])
    assert isinstance(answer, dict), answer
    assert why in answer["refused"]


def test_the_release_is_checked_with_its_page(release):
    assert check(release.directory).has_related_rows
