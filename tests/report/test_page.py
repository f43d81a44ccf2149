import ast
import base64
import hashlib
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.report import page as page_module
from sfumato.tasks.report.numbers import four_decimals
from sfumato.tasks.report.page import PageContent, PublishedFile, page
from sfumato.tasks.report.snippets import example_query, pandas_snippet
from sfumato.tasks.schema.formats import software
from sfumato.tasks.terms.utility import Utility
from tests.report.content import ADULT_COLUMNS, content, losses, make_release
from tests.report.html import Read

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}",
    "\"><img src=x onerror='alert(1)'>",
    "{{ 7 * 7 }}{% raw %}",
    "a'b\"c`d$(e)\\",
    "\x00\x1b[31m\u202eevil\u2066\ud800",
    "]]><!--",
    "ünï—🎨",
    "name " * 80,
    "w" * 300,
]
NUMBER = re.compile(r"^-?\d+(\.\d{1,2})?$")


def read(content: PageContent) -> Read:
    text = page(content)
    seen = Read(text)
    assert seen.faults == []
    check_is_self_contained(text, seen)
    check_drawings(text, seen)
    return seen


def check_is_self_contained(text: str, seen: Read) -> None:
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)|javascript:", text, re.IGNORECASE)
    assert not {"script", "link", "img", "iframe", "object", "form"} & {t for t, _ in seen.elements}
    assert not [a for _, attributes in seen.elements for a in attributes if a.startswith("on")]
    assert not [a for _, attributes in seen.elements for a in attributes if a == "style"]
    assert all(re.match(r"^(#|\./|\.\./releases\.json$)", str(a["href"])) for a in seen.all("a"))
    ids = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {str(a["href"])[1:] for a in seen.all("a") if str(a["href"])[0] == "#"} <= set(ids)


def check_drawings(text: str, seen: Read) -> None:
    assert not re.search(r"\b(nan|inf|None|Infinity|Undefined)\b", text)
    for attributes in seen.all("path"):
        numbers = re.split(r"[A-Za-z ]+", str(attributes["d"]).strip("zZ").lstrip("M"))
        assert all(NUMBER.match(number) for number in numbers if number), attributes["d"]
        assert all(abs(float(number)) <= 441 for number in numbers if number)
    for attributes in seen.all("text"):
        assert NUMBER.match(str(attributes["y"]))
        assert 0 <= float(str(attributes["x"])) <= 440


def test_says_what_is_promised_and_what_was_measured():
    promise = {"model": "ke-anonymity", "k": 3, "e": 20, "sensitive": "capital-loss"}
    text = read(losses([4, 5, 6], promises=[promise])).text
    assert "at least 3 different values of capital-loss, at least 20 apart" in text
    assert "kept by all 3 groups" in text
    assert "different values in a group, at least 3 4" in text
    assert "highest value of a group, at least 20 21" in text


def test_says_that_a_promise_is_not_kept():
    promise = {"model": "ke-anonymity", "k": 5, "e": 1, "sensitive": "capital-loss"}
    text = read(losses([4, 5, 6], promises=[promise])).text
    assert "NOT KEPT: 1 of 3 groups fall short" in text
    assert "0 of 1" in text


def test_says_against_whom_not():
    text = read(losses([4, 5])).text
    for limit in (
        "Who is in the table is not hidden.",
        "An attacker who knows other members' values",
        "An attacker who knows how the groups were made.",
        "An attacker who has another grouping of the same people",
        "Different values are not equally likely.",
    ):
        assert limit in text


def test_says_whether_rows_or_people_were_counted():
    assert "Rows were counted as people." in read(losses([4, 5], unit="row")).text
    people = read(losses([4, 5], unit="identifier")).text
    assert "Rows were counted as people." not in people
    assert "Each row is about another person." in people


def test_warns_of_versions_that_may_be_combined():
    assert "Versions may be combined." in read(losses([4, 5], versions="accepted-risk")).text
    assert "Versions may be combined." not in read(losses([4, 5], versions="disjoint")).text


def test_prints_why_a_column_is_unprotected():
    columns = {
        **ADULT_COLUMNS,
        "diagnosis": {"role": "sensitive", "type": "string", "unprotected": "It is public."},
    }
    sick = pa.array(["flu", "cold", "flu", "flu"])
    loss = pa.array([1, 2, 3, 4])
    seen = read(content([2, 2], {"capital-loss": loss, "diagnosis": sick}, columns=columns))
    assert "The steward's reason: It is public." in seen.text
    assert "Different values of diagnosis in each group" in seen.text


def test_accounts_for_rows_and_what_is_not_represented():
    rows = {
        "read": 1000,
        "dropped_by_filter": 100,
        "dropped_for_nulls": 20,
        "dropped_as_repeats": 3,
        "suppressed": 4,
        "published": 880,
        "fakes": 7,
    }
    text = read(losses([4, 5], rows=rows)).text
    assert "The release has 880 rows" in text
    assert "here 20 with missing values and 4 suppressed" in text
    for line in ("repeats of a person 3", "filter 100", "(fakes) 7", "Published 880"):
        assert line in text


def test_does_not_hold_what_is_learned_after_staging():
    text = page(losses([4, 5]))
    assert not re.search(r"\b\d{4}-\d\d-\d\d\b|\b000\d\b|\b[0-9a-f]{64}\b", text)


def test_groups_by_sensitive_columns_of_every_type():
    days = pa.array([date(2020, 2, 27) + timedelta(days=i) for i in range(12)])
    moments = pa.array([i * 1_500_000 for i in range(12)], pa.timestamp("us"))
    columns = {
        "sex": {"role": "quasi-identifier", "type": "string"},
        "day": {"role": "sensitive", "type": "date"},
        "moment": {"role": "sensitive", "type": "timestamp"},
        "price": {"role": "sensitive", "type": "decimal", "scale": 2},
        "share": {"role": "sensitive", "type": "float"},
        "sick": {"role": "sensitive", "type": "boolean"},
    }
    sensitive = {
        "day": days,
        "moment": moments,
        "price": pa.array([Decimal(i) / 8 for i in range(12)], pa.decimal128(10, 3)),
        "share": pa.array([i * 1e-7 for i in range(12)]),
        "sick": pa.array([True, False] * 6),
    }
    promises = [
        {"model": "ke-anonymity", "k": 2, "e": 3, "sensitive": "day"},
        {"model": "ke-anonymity", "k": 2, "e": "0.25", "sensitive": "price"},
    ]
    seen = read(content([4, 4, 4], sensitive, columns=columns, promises=promises))
    assert len(seen.all("svg")) >= 6
    assert "narrowest 3 days, median 3 days, widest 3 days" in seen.text
    assert "e = 3 days" in seen.text
    assert "from 1970-01-01 00:00:00 to" in seen.text
    assert "share ×10⁻⁶" in seen.text
    assert "2020-02-27" in seen.text


@pytest.mark.parametrize(
    "sizes",
    [
        [5],
        [1],
        [7] * 30,
        list(range(2, 90)),
        [3] * 140,
        [3] * 141,
        [2, 1_000_000],
        [4] * 40 + [9**6],
    ],
    ids=["one group", "one row", "equal", "many sizes", "140", "141", "two far", "far"],
)
def test_draws_groups_however_they_are(sizes):
    assert f"{len(sizes):,} group" in read(losses(sizes)).text


def test_draws_thousands_of_groups_in_few_bars():
    text = page(losses([5] * 5000))
    assert len(text) < 60_000
    assert "Each bar shows 36 groups" in Read(text).text


def test_equal_values_and_huge_ones():
    same = pa.array([7] * 6)
    assert "2 groups" in read(content([3, 3], {"capital-loss": same})).text
    huge = pa.array([Decimal(10) ** 37 + i for i in range(6)], pa.decimal128(38, 0))
    assert "2 groups" in read(content([3, 3], {"capital-loss": huge})).text


def test_no_group_at_all_is_said():
    seen = read(content([], {"capital-loss": pa.array([], pa.int64())}))
    assert "There are no groups." in seen.text
    assert "NOT KEPT" in seen.text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_words_are_shown_and_not_obeyed(hostile):
    columns = {
        hostile: {"role": "quasi-identifier", "type": "string"},
        f"{hostile}s": {"role": "sensitive", "type": "integer", "unprotected": hostile},
    }
    promises = [{"model": "ke-anonymity", "k": 1, "e": 0, "sensitive": f"{hostile}s"}]
    content_ = content(
        [2, 3],
        {f"{hostile}s": pa.array(range(5))},
        columns=columns,
        title=hostile,
        name=hostile,
        promises=promises,
        strata=[hostile],
        software={hostile: hostile},
    )
    seen = read(replace(content_, files=(PublishedFile(f"data/{hostile}", 1),)))
    page(content_).encode("utf-8")
    assert len(seen.all("style")) == 1
    assert "49" not in seen.text or "7 * 7" in seen.text
    assert printable(hostile) in seen.text


def printable(hostile):
    text_shown = re.sub("[\x00-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "�", hostile)
    return " ".join(text_shown.split())


def test_the_command_survives_a_shell():
    name = 'it\'s "$HOME" `x`'
    columns = {
        "sex": {"role": "quasi-identifier", "type": "string"},
        name: {"role": "sensitive", "type": "integer"},
    }
    content_ = content([2, 3], {name: pa.array(range(5))}, columns=columns, promises=[])
    command = re.search(r"sfumato query \. .*? microdata GROUP BY \"sex\"'", read(content_).text)
    assert command is not None
    assert shlex.split(command[0])[-1] == example_query(content_.declared)
    assert 'AVG("it\'s ""$HOME"" `x`")' in example_query(content_.declared)


def test_example_queries_fit_the_columns():
    assert (
        example_query(make_release(9))
        == 'SELECT "education", AVG("capital-loss") FROM microdata GROUP BY "education"'
    )
    when = {"day": {"role": "sensitive", "type": "date"}}
    assert example_query(make_release(9, columns=when)) == (
        'SELECT MIN("day"), MAX("day") FROM microdata'
    )
    word = {"word": {"role": "sensitive", "type": "string"}}
    assert example_query(make_release(9, columns=word)) == "SELECT COUNT(*) FROM microdata"


def test_the_order_of_what_was_declared_says_nothing():
    content = losses([4, 5, 6])
    columns = dict(reversed(content.declared.columns.items()))
    software = dict(reversed(content.declared.software.items()))
    turned = content.declared.model_copy(update={"columns": columns, "software": software})
    assert page(replace(content, declared=turned, files=content.files[::-1])) == page(content)


def test_reads_the_same_after_the_manifest_was_written_and_read():
    content = losses([4, 5, 6])
    again = type(content.declared).model_validate_json(
        content.declared.model_dump_json(by_alias=True)
    )
    assert page(replace(content, declared=again)) == page(content)


def test_is_the_same_in_another_process():
    program = (
        "import sys; from tests.report.content import losses;"
        " from sfumato.tasks.report.page import page;"
        "sys.stdout.buffer.write(page(losses([4, 5, 6])).encode())"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"},
        )
        assert done.stdout == page(losses([4, 5, 6])).encode()


def test_rendering_changes_nothing_in_its_content():
    content = losses([4, 5, 6])
    before = content.groups.sizes.copy(), content.groups.sensitive["capital-loss"].value.copy()
    page(content)
    assert np.array_equal(content.groups.sizes, before[0])
    assert np.array_equal(content.groups.sensitive["capital-loss"].value, before[1])


def test_the_policy_allows_this_style_and_nothing_else():
    text = page(losses([4, 5]))
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [m["content"] for m in Read(text).all("meta") if "http-equiv" in m and m["content"]]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_is_accessible_in_its_structure():
    seen = Read(page(losses([4, 5])))
    assert seen.all("html")[0]["lang"] == "en"
    tags = [tag for tag, _ in seen.elements]
    assert tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if re.match(r"^h\d$", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert tags.count("caption") == tags.count("table")
    pictures = [svg for svg in seen.all("svg") if svg.get("role") == "img"]
    assert len(pictures) == tags.count("desc") == 2
    ids = {a.get("id") for _, a in seen.elements}
    assert all(set(str(svg["aria-labelledby"]).split()) <= ids for svg in pictures)
    assert all("aria-hidden" in svg for svg in seen.all("svg") if svg.get("role") != "img")


def test_imports_neither_plots_nor_frames_of_its_own():
    directory = Path(page_module.__file__).parent
    drawing = ("accuracy", "comparison")
    for module in (m for m in directory.rglob("*.py") if m.stem not in drawing):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"matplotlib", "pandas", "prefect"}


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=60),
    low=st.integers(-(10**12), 10**12),
    step=st.integers(0, 10**9),
    kind=st.sampled_from(["integer", "float", "date"]),
    title=st.text(max_size=60),
)
def test_any_groups_make_a_whole_page(sizes, low, step, kind, title):
    numbers = low + np.arange(sum(sizes), dtype=np.int64) * step
    values = {
        "integer": lambda: pa.array(numbers),
        "float": lambda: pa.array(numbers / 1000),
        "date": lambda: pa.array((numbers % 2_000_000 - 700_000).astype(np.int32)).cast(
            pa.date32()
        ),
    }[kind]()
    columns = {"v": {"role": "sensitive", "type": kind}}
    promises = [{"model": "ke-anonymity", "k": 2, "e": "0.5", "sensitive": "v"}]
    content_ = content(sizes, {"v": values}, columns=columns, promises=promises, title=title)
    assert "Lowest to highest v in each group" in read(content_).text
    assert page(content_) == page(content_)


def test_the_only_sensitive_column_is_named_where_a_promise_names_none():
    promise = {"model": "ke-anonymity", "k": 2, "e": 1}
    assert "2 different values of capital-loss" in read(losses([4, 5], promises=[promise])).text


KINDS = [["cat", "pet", "*"], ["dog", "pet", "*"]]
RECODED = {
    "age": {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [5]}},
    "kind": {"role": "quasi-identifier", "type": "string", "hierarchy": KINDS},
    "hours": {"role": "insensitive", "type": "integer"},
    "capital-loss": {"role": "sensitive", "type": "integer"},
}
USED = Utility(
    classes=2,
    average_class_size=Fraction(7, 2),
    c_avg=Fraction(7, 6),
    discernibility=25,
    height=2,
    imprecision=Fraction(1, 3),
    ncp=Fraction(1, 7),
    starred_cells=Fraction(0),
    starred_rows=0,
    suppressed_rows=0,
)


def recoded_content(form, partition, **changes):
    columns = {**RECODED, **changes.pop("columns", {})}
    if form["method"] == "suppressed":
        columns = {n: {k: v for k, v in c.items() if k != "hierarchy"} for n, c in columns.items()}
    promises = [{"model": "k-anonymity", "k": 3, "quasi-identifiers": ["age", "kind"]}]
    content = losses(
        [3, 4], columns=columns, form=form, partition=partition, promises=promises, **changes
    )
    return replace(content, utility=USED)


@pytest.mark.parametrize("form", ["generalized", "suppressed"])
@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ({"method": "full-domain"}, "one level of its hierarchy"),
        ({"method": "full-domain", "suppression": "0.01"}, "a share of 0.01 of the rows"),
        (
            {"method": "full-domain", "suppression": "0.01", "suppressed": "star"},
            "published with stars",
        ),
        ({"method": "mondrian"}, "cut in two at the median"),
        ({"method": "mondrian", "mode": "relaxed"}, "drawn at random"),
        ({"method": "forest"}, "within a proven factor"),
        ({"method": "factors"}, "small circles"),
    ],
)
def test_recoded_pages_say_what_was_done_and_lost(form, partition, words):
    seen = read(recoded_content({"method": form}, partition, strata=["kind"]))
    text = seen.text
    assert words in text
    assert "separately within each kind" in text
    assert "shuffled" not in text
    assert "The uniform estimator" in text or "the uniform estimator" in text
    for value in ("1.1667", "0.3333", "0.1429", "25"):
        assert value in text
    assert "published as labels" in text
    assert "An attacker who knows insensitive columns." in text
    assert ("star" in text) or form == "generalized"


def test_losses_are_percentages_since_layout_9():
    content = recoded_content({"method": "generalized"}, {"method": "mondrian"})
    now = content.declared.model_copy(update={"software": software()})
    text = Read(page(replace(content, declared=now))).text
    before = read(content).text
    assert "share of a column's range that a label covers on average 14.3 %" in text
    assert "mean level of a cell by the height of its hierarchy 33.3 %" in text
    assert "on average; 0 nothing is lost, 1 everything 0.1429" in before


def test_linked_columns_are_named():
    form = {"method": "suppressed", "linked": [["age", "kind"]]}
    text = read(recoded_content(form, {"method": "forest"})).text
    assert re.search("Suppressed together: age ?, kind", text)


def test_an_example_groups_by_what_can_be_told():
    content = recoded_content({"method": "generalized"}, {"method": "mondrian"})
    assert example_query(content.declared).endswith('GROUP BY "kind"')
    content = recoded_content({"method": "suppressed"}, {"method": "forest"})
    assert "GROUP BY" not in example_query(content.declared)


def test_hostile_names_of_recoded_columns_are_text():
    for name in HOSTILE:
        column = {"role": "quasi-identifier", "type": "string", "hierarchy": [["a", name, "*"]]}
        form = {"method": "generalized"}
        seen = read(recoded_content(form, {"method": "mondrian"}, columns={name: column}))
        assert printable(name) in seen.text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1/3", "0.3333"),
        ("2/3", "0.6667"),
        ("1/20000", "0.0001"),
        ("0", "0"),
        ("12345/2", "6,172.5"),
    ],
)
def test_measures_are_rounded_half_up(number, text):
    assert four_decimals(Fraction(number)) == text


TRADE = {"trade": {"role": "sensitive", "type": "string"}}
DIVERSE = {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "trade"}


def split(form="split", columns=None, **changes):
    """Two groups of a trade and a loss, each value of which stands twice."""
    trade = pa.array(["a", "b", "a", "b"] * 2)
    loss = pa.array([1, 2, 1, 2, 3, 4, 3, 4])
    form = form if isinstance(form, dict) else {"method": form}
    terms = {"promises": [DIVERSE], "partition": {"method": "anatomy"}, "form": form} | changes
    columns_ = {**ADULT_COLUMNS, **TRADE} if columns is None else columns
    values = {"trade": trade, "capital-loss": loss}
    return content(
        [4, 4], {n: values[n] for n in values if n in columns_}, columns=columns_, **terms
    )


ONE = {n: c for n, c in ADULT_COLUMNS.items() if n != "capital-loss"} | TRADE


def test_a_split_page_says_which_tables_there_are():
    text = read(split(columns=ONE)).text
    assert "There are two tables, joined by group_id" in text.replace(" ,", ",")
    assert "each once, with its count" in text
    assert "hidden among at least 2 different values" in text
    assert "shuffled" not in text
    assert "Queries read the tables as one" in text
    assert "The possible values are not hidden." in text
    assert "The rough size of a value" not in text


@pytest.mark.parametrize("form", ["split", "permuted"])
@pytest.mark.parametrize("sensitive", ["independent", "together"])
def test_pages_say_whether_sensitive_values_stay_together(form, sensitive):
    text = read(split({"method": form, "sensitive": sensitive})).text
    apart = "hich values of different sensitive columns go together is not shown" in text
    assert apart == (sensitive == "independent")
    assert ("stay together" in text) == (sensitive == "together")
    knows = "An attacker who knows one sensitive value of a person"
    assert (knows in text) == (sensitive == "together")
    assert ("begins with st_" in text) == (form == "split" and apart)
    assert "The rough size of a value is not hidden." in text


def test_one_sensitive_column_is_neither_together_nor_apart():
    for form in ("split", "permuted"):
        for sensitive in ("independent", "together"):
            text = read(split({"method": form, "sensitive": sensitive}, columns=ONE)).text
            assert "together is not shown" not in text
            assert "stay together" not in text


def test_what_is_known_is_said():
    promise = {**DIVERSE, "known": ["capital-loss"]}
    form = {"method": "split", "sensitive": "together"}
    text = read(split(form, promises=[promise])).text
    assert "even from an attacker who knows the person's capital-loss" in text
    assert "The sensitive values next to it remain possible" in text


@pytest.mark.parametrize("form", ["split", "permuted"])
@pytest.mark.parametrize(
    ("partition", "words", "unsaid"),
    [
        ({"method": "ke"}, "the groups' ranges add up to the least: narrow", "random order"),
        (
            {"method": "ke", "objective": "weighted"},
            "each counted once for every row of its group, add up to the least: narrow",
            "random order",
        ),
        (
            {"method": "ke", "objective": "max"},
            "the widest group is as narrow as can be: narrow",
            "add up",
        ),
        (
            {"method": "ke", "objective": "max-overlapping"},
            "with ranges that may overlap",
            "neighbours",
        ),
        ({"method": "ke", "objective": "random"}, "taken in random order", "neighbours"),
        ({"method": "anatomy"}, "whatever their other columns are", "neighbours"),
        ({"method": "mondrian"}, "smaller groups would have broken a promise", "neighbours"),
        ({"method": "full-domain"}, "smaller groups would have broken a promise", "neighbours"),
    ],
)
def test_pages_say_how_groups_were_made(form, partition, words, unsaid):
    promise = {"model": "ke-anonymity", "k": 2, "e": 1, "sensitive": "capital-loss"}
    promises = [DIVERSE] if partition["method"] == "anatomy" else [promise]
    text = read(split(form, promises=promises, partition=partition, strata=["sex"])).text
    assert words in text
    assert unsaid not in text
    assert "separately within each sex" in text
    best = "the best one that was found" in text
    assert best == (partition["method"] == "ke" and partition.get("objective") != "random")
    merged = read(split(form, promises=[*promises, DIVERSE], partition=partition)).text
    ran = partition["method"] == "ke"
    assert ("Groups that broke another promise were merged" in merged) == ran


def test_values_that_occur_once_are_equally_likely_in_their_group():
    sentence = "Different values are not equally likely."
    assert sentence not in read(split(columns=ONE)).text
    assert sentence in read(split(columns=ONE, promises=[DIVERSE, DIVERSE])).text
    assert sentence in read(split(columns=ONE, partition={"method": "mondrian"})).text


def test_snippets_read_the_tables_that_there_are():
    assert pandas_snippet(split(columns=ONE).declared).splitlines()[2:] == [
        'qit = pd.read_parquet("data/qit.parquet")',
        'st = pd.read_parquet("data/st.parquet")',
        'qit.merge(st, on="group_id")',
    ]
    assert pandas_snippet(split(formats=["csv"]).declared).splitlines()[2:] == [
        'qit = pd.read_csv("data/qit.csv")',
        'st_capital_loss = pd.read_csv("data/st_capital_loss.csv")',
        'qit.merge(st_capital_loss, on="group_id")',
        'st_capital_loss.groupby("group_id")["capital-loss"].agg(["min", "max"])',
    ]
    together = {"method": "split", "sensitive": "together"}
    assert pandas_snippet(split(together).declared).splitlines()[3:] == [
        'st = pd.read_parquet("data/st.parquet")',
        'qit.merge(st, on="group_id")',
        'st.groupby("group_id")["capital-loss"].agg(["min", "max"])',
    ]
    assert pandas_snippet(split("permuted").declared).splitlines()[2:] == [
        'microdata = pd.read_parquet("data/microdata.parquet")',
        'microdata.groupby("group_id")["capital-loss"].agg(["size", "min", "max"])',
    ]


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("sensitive", ["independent", "together"])
def test_hostile_names_of_split_columns_are_text(hostile, sensitive):
    name = f"{hostile}s"
    columns = {
        hostile: {"role": "quasi-identifier", "type": "string"},
        name: {"role": "sensitive", "type": "integer"},
        "trade": {"role": "sensitive", "type": "string", "unprotected": hostile},
    }
    promise = {**DIVERSE, "sensitive": name}
    content_ = content(
        [2, 3],
        {name: pa.array(range(5)), "trade": pa.array(list("abcde"))},
        columns=columns,
        promises=[promise],
        partition={"method": "anatomy"},
        form={"method": "split", "sensitive": sensitive},
        strata=[hostile],
    )
    assert len(read(content_).all("style")) == 1


@pytest.mark.parametrize("number", [300, 301])
def test_many_columns_are_listed_in_the_codebook_alone(number):
    names = [f"c{place}" for place in range(number - len(ADULT_COLUMNS))]
    more = {name: {"role": "insensitive", "type": "integer"} for name in names}
    columns = {**ADULT_COLUMNS, **more}
    html = page(losses([5, 5], columns=columns, software=software()))
    assert ('aria-label="Columns"' in html) == (number <= 300)
    assert (f"It has {number} columns, which" in html) == (number > 300)


def test_a_page_of_1500_columns_is_small():
    names = [f"c{place}" for place in range(1500 - len(ADULT_COLUMNS))]
    columns = {**ADULT_COLUMNS, **{n: {"role": "insensitive", "type": "integer"} for n in names}}
    wide = losses([5, 5], columns=columns, software=software())
    values = {
        name: pa.array([10**6 + n for n in range(10)] if column.type == "integer" else ["a"] * 10)
        for name, column in wide.declared.columns.items()
    }
    html = page(replace(wide, tables={"microdata": pa.table(values)}))
    assert html.count('<div class="entry">') == 1500
    assert len(html.encode()) < 1_000_000
