"""Every privacy model as an expectation: on thousands of random releases its verdict stands."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counting import Coded, count, cover, numbers_of
from sfumato.expectations.groups.frames import from_frame, to_frame
from sfumato.expectations.groups.groups import Groups, Joint, Population, Subdomains, Target
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    Negative,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import plain
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.promises import PROMISE, models
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.rules.structure import RowCount
from sfumato.expectations.suites import gate
from sfumato.expectations.suites.gate import judge
from sfumato.expectations.verdicts import examine

TABLES = {"microdata": pa.table({"age": [1, 2]})}
STRUCTURE = {"microdata": (RowCount(2),)}
TARGET = Target(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([1, 1, 1, 1, 1, 1, 1]))
ANCESTORS = np.array([[0, 1, 2, 3, 4], [0, 0, 1, 1, 1], [0] * 5])


def every(rng):
    """A promise of each model and variant, which random groups may keep or break."""

    def some(*texts):
        return Decimal(str(rng.choice(texts)))

    l, k = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    dont_care, negative = ("2.5",), Negative(values=("1", "0.5"), percent=some("1", "20"))
    population = {"population": "p.csv"}
    return [
        KAnonymity(k=k),
        DistinctLDiversity(l=l),
        EntropyLDiversity(l=some("1", "1.5", "2.25")),
        EntropyLDiversity(l=some("1", "2"), dont_care=dont_care),
        RecursiveLDiversity(l=l, c=some("0.5", "1.5", "4")),
        RecursiveLDiversity(l=l + 1, c=some("0.5", "1.5", "4"), dont_care=dont_care),
        RecursiveLDiversity(l=l, c=some("2", "9"), negative=negative),
        *(
            TCloseness(t=some("0.1", "0.4", "1"), distance=d)
            for d in ("equal", "ordered", "hierarchical")
        ),
        AlphaK(alpha=some("0.4", "0.75", "1"), k=k),
        AlphaK(alpha=some("0.2", "0.5"), k=1, values=("1", "2")),
        KEAnonymity(k=l, e=some("0", "0.5", "1.5")),
        AlphaBeta(alpha=some("0.2", "0.6", "1"), beta=some("0.5", "1")),
        AlphaBeta(alpha=some("0.2", "0.6", "1"), beta=1, presence="per-group"),
        PPrivacy(target="uniform", tolerance=some("0", "0.9")),
        PPrivacy(target={"normal": {"mean": 1, "variance": 2}}),
        DeltaPresence(min=some("0", "0.3"), max=some("0.6", "1"), **population),
        BayesOptimal(rho1=Decimal("0.3"), rho2=some("0.5", "0.9"), **population),
    ]


def release(rng):
    """Groups with everything that any model looks at."""
    rows = int(rng.integers(1, 50))
    values = pa.array([0.5, 1.0, 1.5, 2.0, 2.5])
    code, key = rng.integers(0, 5, rows), rng.integers(0, int(rng.integers(1, 6)), rows)
    key = np.unique(key, return_inverse=True)[1]
    coded = Coded(code, 5, numbers_of(values, False, "s"), values, ANCESTORS)
    counted = count(key, int(key.max()) + 1, {"s": coded})
    number = len(counted)
    people = rng.integers(0, 4, (number, 2, 5))
    people[:, 0, :] += 1 + (counted.sizes[:, None] if rng.random() < 0.8 else 0)
    group, cell, value = np.nonzero(people)
    joint = Joint(group, cell, value, people[group, cell, value])
    copies = rng.integers(0, 3, (number, 7))
    copies[:, 0] += 1
    if rng.random() < 0.5:
        copies[:] = [0, 1, 1, 0, 0, 0, 0]
    of, node = np.nonzero(copies)
    subdomains = Subdomains(of, node, copies[of, node], np.zeros(number, dtype=np.int64), (TARGET,))
    return Groups(
        counted.sizes,
        counted.sensitive,
        {
            name: cover(key, rng.integers(0, size, rows), size)
            for name, size in (("age", 9), ("sex", 2), ("zip", 5))
        },
        Population(people.sum(axis=(1, 2)), int(rng.integers(0, 2)), {"s": joint}),
        {"s": subdomains},
    )


def test_a_promise_of_every_model_is_among_them():
    promises = every(np.random.default_rng(0))
    assert {type(promise) for promise in promises} == set(models())


def test_every_verdict_is_the_models():
    """Great Expectations rebuilds the groups from a frame in any order and asks the model."""
    rng = np.random.default_rng(20)
    judged_, held = 0, 0
    for _ in range(120):
        groups = release(rng)
        promises = [(promise, groups) for promise in every(rng)]
        rows = judge("line", TABLES, STRUCTURE, promises)
        assert rows == examine(TABLES, STRUCTURE, promises)
        for (promise, _), row in zip(promises, rows[1:], strict=True):
            verdict = promise.check(groups)
            assert promise.failing(groups).sum() <= verdict.failing
            assert (row.type, row.passed) == (
                f"expect_{promise.name.replace('-', '_')}",
                verdict.holds,
            )
            assert row.observed == {
                **{name: plain(value) for name, value in verdict.observed.items()},
                "groups": len(groups),
                "failing": verdict.failing,
            }
            judged_, held = judged_ + 1, held + row.passed
    assert judged_ == 120 * 19
    assert 400 < held < judged_ - 400


def test_frames_hold_everything_in_any_order():
    rng = np.random.default_rng(2)
    for _ in range(30):
        groups = release(rng)
        df = to_frame(groups).sample(frac=1, random_state=int(rng.integers(1000)))
        df.index = rng.permutation(len(df)) * 2
        again = from_frame(df)
        for promise in every(rng):
            assert promise.check(again) == promise.check(groups)


def without(groups, *parts):
    """The groups with nothing of these parts."""
    return Groups(
        groups.sizes,
        {} if "sensitive" in parts else groups.sensitive,
        {} if "covers" in parts else groups.covers,
        None if "population" in parts else groups.population,
        {} if "subdomains" in parts else groups.subdomains,
    )


def test_what_is_not_shown_is_refused_or_fails():
    rng = np.random.default_rng(4)
    bare = without(release(rng), "sensitive", "covers", "population", "subdomains")
    for promise in every(rng):
        if isinstance(promise, KAnonymity):
            continue
        try:
            rows = judge("line", TABLES, STRUCTURE, [(promise, bare)])
        except PromiseError as error:
            assert "s" in str(error)
        else:
            assert not rows[-1].passed


@pytest.mark.parametrize("broken", [PromiseError("no"), ZeroDivisionError("secret 17"), None])
def test_a_model_that_raises_is_refused(monkeypatch, broken):
    groups = release(np.random.default_rng(1))
    for model in models():

        def check(self, groups):
            if broken is not None:
                raise broken
            return

        promise = next(p for p in every(np.random.default_rng(1)) if isinstance(p, model))
        monkeypatch.setattr(model, "check", check)
        with pytest.raises(PromiseError) as caught:
            judge("line", TABLES, STRUCTURE, [(promise, groups)])
        assert "secret" not in str(caught.value)


def test_every_expectation_says_its_own_sentence():
    from sfumato.expectations.suites.engine import get_expectation_impl

    for promise in every(np.random.default_rng(6)):
        kind = get_expectation_impl(f"expect_{promise.name.replace('-', '_')}")
        given = {name.replace("-", "_"): value for name, value in promise.parameters().items()}
        assert kind.sentence(given) == PROMISE.validate_python(given).sentence()
        assert kind.sentence(given).strip()
        assert kind(**given).sentence(given) == promise.sentence()


def test_the_suite_of_the_promises_has_the_name_of_the_release(tmp_path):
    groups = release(np.random.default_rng(1))
    judge("line", TABLES, STRUCTURE, [(KAnonymity(k=1), groups)], tmp_path)
    names = {path.name for path in tmp_path.glob("*.json")}
    assert names == {"line.release.json", "line.release.microdata.json"}
    assert gate.GROUPS == "groups"
