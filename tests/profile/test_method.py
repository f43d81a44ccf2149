"""The method of a draft: what a steward's answers lead to, and that it is released."""

import re
from decimal import Decimal
from math import inf

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.profile.draft import MEASURED_FORMS
from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.method import rounded_difference
from sfumato.tasks.query.intervals.calibration.registry import BLOCKS
from tests.profile.drafts import confirm, document, draft

HEAD = "patient,age,sex,town,illness,cost\n"


def patients(rows=120, illnesses="abcd", missing=False):
    """Patients as CSV: whole ages, four illnesses, costs that all differ."""
    lines = [
        f"{n},{20 + n * 7 % 60},{'fm'[n % 2]},{'XYZ'[n % 3]},{illnesses[n % len(illnesses)]},"
        f"{'' if missing and n % 10 == 0 else 100 + 37 * n % 1000}\n"
        for n in range(rows)
    ]
    return (HEAD + "".join(lines)).encode()


def method_of(spec):
    return spec["partition"]["method"], spec["form"]["method"]


def alternative_of(written):
    """Return the other method, which stands in the draft as comments."""
    text = written.spec.read_text(encoding="utf-8")
    lines = re.findall(r"^# (promises:|  - \{.*|partition: .*|form: .*)$", text, re.MULTILINE)
    return yaml.safe_load("\n".join(lines))


COST = {"roles": {"cost": "sensitive", "illness": "drop"}}
ILLNESS = {"roles": {"illness": "sensitive", "cost": "drop"}}
BOTH = {"roles": {"illness": "sensitive", "cost": "sensitive"}}


@pytest.mark.parametrize(
    ("options", "method", "model"),
    [
        ({**COST, "hide": "values"}, ("ke", "permuted"), "ke-anonymity"),
        ({**ILLNESS, "hide": "values"}, ("anatomy", "permuted"), "l-diversity"),
        ({**BOTH, "hide": "values"}, ("ke", "permuted"), "ke-anonymity"),
        ({**BOTH, "hide": "values", "about": "categories"}, ("anatomy", "permuted"), "l-diversity"),
        ({**COST, "hide": "rows"}, ("mondrian", "generalized"), "k-anonymity"),
        (COST, ("mondrian", "generalized"), "k-anonymity"),
    ],
)
def test_answers_lead_to_a_method_with_the_other_beside_it(tmp_path, options, method, model):
    written = draft(tmp_path, patients(), **options)
    spec, other = document(written), alternative_of(written)
    assert method_of(spec) == method
    assert spec["promises"][0]["model"] == model
    assert {method_of(spec), method_of(other)} >= {("mondrian", "generalized")}
    assert method_of(other) != method_of(spec)
    assert written.undecided is None
    written.spec.write_text(
        yaml.safe_dump({**spec, **other, "roles": "confirmed"}), encoding="utf-8"
    )


def test_exact_values_are_said_to_show_who_is_in_the_table(tmp_path):
    text = draft(tmp_path, patients(), **COST, hide="values").spec.read_text(encoding="utf-8")
    words = " ".join(text.replace("#", " ").split())
    assert "anyone who knows them sees that a person is in the table" in words
    assert "Exact values of age, sex, town are published" in words


def test_workloads_are_over_every_quasi_identifier(tmp_path):
    content = b"patient,age,weight,height,town,cost\n" + b"".join(
        f"{n},{20 + n * 7 % 60},{40 + n % 70},{140 + n * 3 % 60},{'XYZ'[n % 3]},{n}\n".encode()
        for n in range(120)
    )
    roles = {"weight": "quasi-identifier", "height": "quasi-identifier", "cost": "sensitive"}
    for hide in ("values", "rows"):
        written = draft(tmp_path / hide, content, hide=hide, roles=roles)
        workloads = document(written)["evaluate"]["workloads"]
        ranged = {w["over"] for w in workloads if w["kind"] == "range"}
        assert ranged == {"age", "weight", "height"}
        kinds = {workload["kind"] for workload in workloads}
        assert ("arbitrary" in kinds) == (hide == "values")
        assert "counts" in kinds


@pytest.mark.parametrize("about", ["numbers", "categories"])
@pytest.mark.parametrize("hide", ["rows", "values"])
@pytest.mark.parametrize(
    "content",
    [patients(), patients(missing=True), patients(illnesses="aaab"), patients(rows=24)],
    ids=["whole", "missing values", "a frequent value", "few rows"],
)
def test_every_draft_is_released_as_it_stands(tmp_path, call, monkeypatch, hide, about, content):
    """Few of its queries are asked, and no other methods are tried beside it."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setattr("sfumato.flows.choice.advice.TOO_WIDE", inf)
    written = draft(tmp_path, content, **BOTH, hide=hide, about=about)
    assert written.undecided is None
    confirm(written)
    spec = document(written)
    for workload in spec["evaluate"]["workloads"]:
        workload["queries"] = 5
    written.spec.write_text(yaml.safe_dump(spec), encoding="utf-8")
    code, output, error = call("plan", written.spec)
    assert code == 0, error
    assert "would be published" in output


def test_many_quasi_identifiers_are_offered_the_promise_against_who_knows_two(
    tmp_path, call, monkeypatch
):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setattr("sfumato.flows.choice.advice.TOO_WIDE", inf)
    names = [f"fact{place}" for place in range(8)]
    rows = [
        ",".join(
            [str(n), *(str((n * (place + 3) + n // 7) % 4) for place in range(8)), "abcd"[n % 4]]
        )
        for n in range(160)
    ]
    content = "\n".join([",".join(["patient", *names, "illness"]), *rows, ""]).encode()
    roles = {**dict.fromkeys(names, "quasi-identifier"), "illness": "sensitive"}
    written = draft(tmp_path, content, roles=roles)
    confirm(written)
    text = written.spec.read_text(encoding="utf-8")
    words = " ".join(text.replace("#", " ").split())
    assert "If others know at most two of a person's" in words
    first = re.search(r"^# promises:\n(?:# .*\n)+?# form: .*$", text, re.MULTILINE)
    other = yaml.safe_load(first.group().replace("# ", ""))
    assert other["promises"] == [{"model": "lkc-privacy", "l": 2, "k": 5, "c": 0.7}]
    spec = document(written) | other
    written.spec.write_text(yaml.safe_dump(spec), encoding="utf-8")
    code, output, error = call("plan", written.spec)
    assert code == 0, error
    assert "would be published" in output


@given(
    values=st.lists(
        st.one_of(st.integers(-(10**6), 10**6), st.decimals(-1000, 1000, places=2)),
        min_size=2,
        max_size=30,
        unique=True,
    )
)
def test_differences_are_round_and_within_the_range(values):
    column = encode("cost", "sensitive", pa.array(list(map(Decimal, values)), pa.decimal128(20, 2)))
    facts = ColumnFacts(column, "decimal", np.ones(len(column.values), np.int64), 0, None, None)
    difference = rounded_difference(facts)
    digits = Decimal(str(difference)).normalize().as_tuple()
    assert len(digits.digits) == 1
    assert digits.digits[0] in (1, 2, 5)
    assert 0 < difference <= max(values) - min(values)


def test_answers_are_asked_for_at_a_terminal_only(tmp_path, call, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_bytes(patients())
    code, _, error = call("init", "table.csv")
    assert code == 0
    assert "--hide" not in error


def test_a_terminal_asks_what_no_option_gives(tmp_path, monkeypatch):
    from sfumato.flows.cli.choice import init

    prompts = []

    def answer(text, **options):
        prompts.append((text, options["type"].choices))
        return options["type"].choices[-1]

    monkeypatch.setattr(init.sys, "stdin", type("Terminal", (), {"isatty": lambda _: True})())
    monkeypatch.setattr(init.sys, "stderr", type("Terminal", (), {"isatty": lambda _: True})())
    monkeypatch.setattr(init.click, "prompt", answer)
    monkeypatch.setattr(init.show, "say", lambda *_: None)
    assert init._ask({"hide": "rows", "about": None}) == {"about": "categories"}
    assert init._ask({"hide": None, "about": None}) == {"hide": "values", "about": "categories"}
    assert [text for text, _ in prompts] == ["--about", "--hide", "--about"]


def test_quickly_measured_forms_are_those_whose_queries_are_asked_in_blocks():
    assert {
        name for name, kind in FORM_PARAMETERS.items() if kind.shows in BLOCKS
    } == MEASURED_FORMS


@pytest.mark.parametrize("hide", ["rows", "values"])
def test_likely_intervals_are_proposed_for_tables_that_are_measured_quickly(
    tmp_path, hide, monkeypatch
):
    written = draft(tmp_path / "few", patients(), **BOTH, hide=hide)
    assert document(written)["evaluate"]["intervals"] == 95
    monkeypatch.setattr("sfumato.tasks.profile.draft.MOST_ROWS_MEASURED", 119)
    written = draft(tmp_path / "many", patients(), **BOTH, hide=hide)
    assert "intervals" not in document(written)["evaluate"]
