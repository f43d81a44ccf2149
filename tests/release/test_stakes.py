"""The stakes in the de-identified table, told before anything is grouped."""

import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.private.references import refer
from sfumato.tasks.stages.deidentify import write_deidentified
from sfumato.tasks.stages.ingest import write_ingested, write_source
from sfumato.tasks.stages.stage import read_note
from sfumato.tasks.stages.verify import measure_feasibility, measure_risks
from sfumato.tasks.terms.terms import Terms
from tests.release.small import people

KE = {"model": "ke-anonymity", "k": 3, "e": 10.5}


@pytest.fixture
def deidentified_stage(small, tmp_path):
    """The stage of the small line, its terms and its folder; changes are to its spec."""

    def make_stage(rows=None, **changes):
        small.write(rows or people(), **changes)
        resolved = resolve_run(small.spec)
        run = tmp_path / "run"
        spec = resolved.spec
        whole = write_source(spec.source, spec.columns, resolved.base, run)
        ingested = write_ingested(whole, spec.source, spec.columns, spec.nulls, resolved.base, run)
        stage = write_deidentified(
            ingested, resolved.terms, resolved.identifiers, resolved.line.private, run
        )
        return stage, resolved.terms, resolved.base

    return make_stage


def with_promise(terms: Terms, promise) -> Terms:
    scoped = {"quasi_identifiers": ("age", "town"), "sensitive": "wage"}
    promise = type(promise)(**{**vars(promise), **scoped})
    return terms.model_copy(update={"promises": (promise,)})


def measure_promise(stage, terms: Terms, base, promise):
    """Return what is at stake of a promise about a reference beside the spec."""
    promises, references = refer((promise,), base, lambda: b"a key of a line")
    return measure_feasibility(stage, terms.model_copy(update={"promises": promises}), references)


def test_a_promise_is_measured_today_and_at_best(deidentified_stage):
    distinct = {"model": "l-diversity", "variant": "distinct", "l": 4}
    stage, terms, _ = deidentified_stage(promises=[KE, distinct])
    ke, diversity = measure_feasibility(stage, terms)
    rows = [r for r in people() if int(r["age"]) > 18 and r["wage"]]
    groups = Counter((r["age"], r["town"]) for r in rows)
    values = {key: {r["wage"] for r in rows if (r["age"], r["town"]) == key} for key in groups}
    assert (ke["promise"], ke["groups"]) == ("ke-anonymity", len(groups))
    assert ke["failing"] == sum(len(v) < 3 for v in values.values())
    assert diversity["today l"] == min(map(len, values.values()))
    assert diversity["at best l"] == len({r["wage"] for r in rows})
    most = max(Counter(r["wage"] for r in rows).values())
    assert diversity["eligible l"] == len(rows) // most
    assert read_note(stage, "stakes") == [ke, diversity]


INFEASIBLE = [
    (KAnonymity(k=61), "k=61, at best k=60"),
    (DistinctLDiversity(l=61), "l=61, at best l="),
    (EntropyLDiversity(l=Decimal(61)), "l=61, at best l="),
    (RecursiveLDiversity(l=60, c=Decimal("0.5")), "c=0.5, l=60, at best c="),
    (AlphaK(alpha=Decimal("0.001"), k=2), "alpha=0.001, k=2, at best alpha="),
]


@pytest.mark.parametrize(("promise", "message"), INFEASIBLE, ids=lambda value: str(value)[:40])
def test_what_no_grouping_can_keep_is_refused(deidentified_stage, promise, message):
    stage, terms, _ = deidentified_stage()
    with pytest.raises(PromiseError, match=f"{promise.name} cannot be kept: required") as caught:
        measure_feasibility(stage, with_promise(terms, promise))
    assert message in str(caught.value)
    assert str(caught.value).endswith(" in 1 of 1 strata, of 'wage'")


def test_what_is_promised_of_no_column_names_none(deidentified_stage):
    stage, terms, _ = deidentified_stage()
    promise = KAnonymity(k=61, quasi_identifiers=("age", "town"))
    message = r"k-anonymity cannot be kept: .* in 1 of 1 strata$"
    with pytest.raises(PromiseError, match=message):
        measure_feasibility(stage, terms.model_copy(update={"promises": (promise,)}))


def test_each_stratum_must_be_able_to_keep_it(deidentified_stage):
    stage, terms, _ = deidentified_stage(strata=["town"])
    towns = Counter(r["town"] for r in people() if int(r["age"]) > 18 and r["wage"])
    fewest = min(towns.values())
    assert measure_feasibility(stage, with_promise(terms, KAnonymity(k=fewest)))
    with pytest.raises(PromiseError, match=f"at best k={fewest} in 1 of {len(towns)} strata"):
        measure_feasibility(stage, with_promise(terms, KAnonymity(k=fewest + 1)))
    anything = TCloseness(t=Decimal(0), distance="equal")
    with pytest.raises(PromiseError, match="t-closeness cannot be kept: required t=0"):
        measure_feasibility(stage, with_promise(terms, anything))


def test_a_population_beside_the_spec(deidentified_stage, small):
    stage, terms, base = deidentified_stage()
    towns = [r for r in people() if int(r["age"]) > 18]
    lines = [f'{r["age"]},"{r["town"]}"' for r in towns if r["town"]] * 4
    lines += [f"{r['age']}," for r in towns if not r["town"]] * 4
    (small.folder / "register.csv").write_text("age,town\n" + "\n".join(lines) + "\n")
    promise = DeltaPresence(min=Decimal(0), max=Decimal("0.25"), reference="register.csv")
    promise = type(promise)(**{**vars(promise), "quasi_identifiers": ("age", "town")})
    (row,) = measure_promise(stage, terms, base, promise)
    assert (row["today max"], row["failing"]) == ("0.25", 0)


TYPES = {
    "person": {"role": "identifier", "unit": True},
    "zip": {"role": "quasi-identifier"},
    "price": {"role": "quasi-identifier", "type": "decimal"},
    "born": {"role": "quasi-identifier", "type": "date"},
    "seen": {"role": "quasi-identifier", "type": "timestamp"},
    "wage": {"role": "sensitive", "type": "decimal"},
}
LIVES = [
    {"zip": "02139", "price": "1.5", "born": "2000-01-01", "seen": "2020-01-01 12:00"},
    {"zip": "2139", "price": "2", "born": "2000-01-02", "seen": "2020-01-01"},
]


REGISTER = [  # twice as many people as there are rows who live like the first, and four times
    *[("02139", "1.50", "2000-01-01", "2020-01-01T12:00:00")] * 20,
    *[("2139", "2.00", "2000-01-02", "2020-01-01")] * 40,
]
STORED = (pa.string(), pa.decimal128(5, 3), pa.date32(), pa.timestamp("ms"))


@pytest.fixture
def lives(deidentified_stage):
    """Twenty rows of two vectors of quasi-identifiers of declared types, to be judged."""
    rows = [{"person": n, **LIVES[n // 10], "wage": f"{n}.5"} for n in range(20)]
    stage, terms, base = deidentified_stage(
        rows, columns=TYPES, source={"uri": "people.csv"}, evaluate={"workloads": []}
    )

    def judge_presence(register, names):
        promise = DeltaPresence(
            min=Decimal(0), max=Decimal("0.5"), reference=register, quasi_identifiers=names
        )
        return measure_promise(stage, terms, base, promise)

    return judge_presence


@pytest.mark.parametrize("names", [("zip",), ("price",), ("born", "seen"), tuple(LIVES[0])])
def test_a_population_is_read_by_the_declared_types(small, lives, names):
    """Texts are no numbers, and values are equal however many decimals a file writes."""
    lines = [",".join(fields) for fields in (LIVES[0], *REGISTER)]
    (small.folder / "register.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = (pa.array(column) for column in zip(*REGISTER, strict=True))
    values = [text.cast(type_) for text, type_ in zip(texts, STORED, strict=True)]
    table = pa.table([values[0].dictionary_encode(), *values[1:]], list(LIVES[0]))
    pq.write_table(table, small.folder / "register.parquet")
    for register in ("register.csv", "register.parquet"):
        (row,) = lives(register, names)
        assert (row["groups"], row["today min"], row["today max"]) == (2, "0.25", "0.5")


def test_a_population_of_other_types_is_refused(small, lives):
    lines = ["zip,price", *["02139,1.5"] * 59, "02139,SECRET"]
    (small.folder / "register.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 60: column 'price': not a decimal") as refused:
        lives("register.csv", ("price",))
    assert "SECRET" not in str(refused.value)
    pq.write_table(pa.table({"zip": [2139] * 60}), small.folder / "register.parquet")
    with pytest.raises(InputError, match="column 'zip': the file has values of type int64"):
        lives("register.parquet", ("zip",))


def test_risk_is_counts_alone(deidentified_stage):
    stage, terms, _ = deidentified_stage()
    narrow, wide, single = measure_risks(stage, terms)
    rows = [(r["age"], r["town"]) for r in people() if int(r["age"]) > 18 and r["wage"]]
    alone = sum(n == 1 for n in Counter(rows).values())
    assert (narrow.rows, narrow.alone, wide.alone) == (len(rows), alone, alone)
    assert narrow.average == Fraction(len(set(rows)), len(rows))
    assert {name for subset in single.minimal for name in subset.columns} <= {"age", "town"}
    written = json.dumps(read_note(stage, "risk"))
    assert not any(town in written for town in ("Aa", "Bee", "Cé"))
