"""The laws that every privacy model keeps: one suite for all that the registry names.

`ModelLaws` is parametrized by `model`. A model without examples here, or in the subclass that
judges it, fails.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.groups.counting import Coded, count, cover, merge, numbers_of
from sfumato.expectations.groups.groups import (
    Cover,
    Groups,
    HeldValues,
    Joint,
    People,
    Population,
    RelatedRows,
    Subdomains,
    Target,
)
from sfumato.expectations.groups.related import count_related
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity, KMap
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    Negative,
    RecursiveLDiversity,
)
from sfumato.expectations.models.limited_knowledge import KMAnonymity, LKCPrivacy
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.models.related import KPeople, RelatedAlpha, RelatedDiversity
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.rules.structure import RowCount
from sfumato.expectations.rules.verdicts import examine, expectation_type, verdict_of
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import plain
from sfumato.expectations.suites.gate import judge
from sfumato.expectations.suites.promises import promise_expectation

TABLES = {"microdata": pa.table({"age": [1, 2]})}
STRUCTURE = {"microdata": (RowCount(2),)}
TARGET = Target(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([1, 1, 1, 1, 1, 1, 1]))
ANCESTORS = np.array([[0, 1, 2, 3, 4], [0, 0, 1, 1, 1], [0] * 5])
RELEASES = 10
DRAWS = 12  # of examples for each of them
Draw = Callable[..., Decimal]


def _recursive(some: Draw) -> list[PrivacyModel]:
    l, c = int(some("1", "2", "3")), some("0.5", "1.5", "4")
    negative = Negative(values=("1", "0.5"), percent=some("1", "20"))
    return [
        RecursiveLDiversity(l=l, c=c),
        RecursiveLDiversity(l=l + 1, c=c, dont_care=("2.5",)),
        RecursiveLDiversity(l=l, c=some("2", "9"), negative=negative),
    ]


EXAMPLES: Mapping[type[PrivacyModel], Callable[[Draw], list[PrivacyModel]]] = {
    KAnonymity: lambda some: [
        KAnonymity(k=int(some("1", "2", "3", "4", "5"))),
        KAnonymity(k=int(some("1", "3")), members="linkable"),
    ],
    DistinctLDiversity: lambda some: [DistinctLDiversity(l=int(some("1", "2", "3")))],
    EntropyLDiversity: lambda some: [
        EntropyLDiversity(l=some("1", "1.5", "2.25")),
        EntropyLDiversity(l=some("1", "2"), dont_care=("2.5",)),
    ],
    RecursiveLDiversity: _recursive,
    TCloseness: lambda some: [
        TCloseness(t=some("0.1", "0.4", "1"), distance=distance)
        for distance in ("equal", "ordered", "hierarchical")
    ],
    KMap: lambda some: [KMap(k=int(some("1", "4", "9")))],
    KMAnonymity: lambda some: [KMAnonymity(k=int(some("1", "2", "4")), m=int(some("1", "2", "3")))],
    LKCPrivacy: lambda some: [
        LKCPrivacy(l=int(some("1", "2")), k=int(some("1", "3")), c=some("0.4", "0.75", "1")),
        LKCPrivacy(l=1, k=int(some("1", "4")), c=some("0.2", "0.5"), values=("1", "2")),
    ],
    DeltaDisclosure: lambda some: [DeltaDisclosure(delta=some("0.2", "0.7", "1.5", "4"))],
    BetaLikeness: lambda some: [
        BetaLikeness(beta=some("0.2", "0.7", "1.5", "4"), variant=variant)
        for variant in ("enhanced", "basic")
    ],
    AlphaK: lambda some: [
        AlphaK(alpha=some("0.4", "0.75", "1"), k=int(some("1", "3", "5"))),
        AlphaK(alpha=some("0.2", "0.5"), k=1, values=("1", "2")),
    ],
    KEAnonymity: lambda some: [KEAnonymity(k=int(some("1", "2", "3")), e=some("0", "0.5", "1.5"))],
    AlphaBeta: lambda some: [
        AlphaBeta(alpha=some("0.2", "0.6", "1"), beta=some("0.5", "1")),
        AlphaBeta(alpha=some("0.2", "0.6", "1"), beta=1, presence="per-group"),
    ],
    PPrivacy: lambda some: [
        PPrivacy(target="uniform", tolerance=some("0", "0.9")),
        PPrivacy(target={"normal": {"mean": 1, "variance": 2}}),
    ],
    DeltaPresence: lambda some: [
        DeltaPresence(min=some("0", "0.3"), max=some("0.6", "1"), reference="p.csv")
    ],
    KPeople: lambda some: [
        KPeople(k=int(some("1", "2", "4")), numbers=numbers) for numbers in ("hidden", "known")
    ],
    RelatedDiversity: lambda some: [
        RelatedDiversity(l=int(some("1", "2", "3")), numbers="hidden"),
        RelatedDiversity(l=int(some("1", "2", "3")), insiders=int(some("0", "1"))),
    ],
    RelatedAlpha: lambda some: [RelatedAlpha(alpha=some("0.4", "0.75", "1"))],
    BayesOptimal: lambda some: [
        BayesOptimal(rho1=Decimal("0.3"), rho2=some("0.5", "0.9"), reference="p.csv")
    ],
}


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
    value_codes, node = np.nonzero(copies)
    subdomains = Subdomains(
        value_codes, node, copies[value_codes, node], np.zeros(number, dtype=np.int64), (TARGET,)
    )
    return Groups(
        counted.sizes,
        counted.sensitive,
        {
            name: cover(key, rng.integers(0, size, rows), size)
            for name, size in (("age", 9), ("sex", 2), ("zip", 5))
        },
        Population(people.sum(axis=(1, 2)), int(rng.integers(0, 2)), {"s": joint}),
        {"s": subdomains},
        labels={name: rng.integers(0, size, number) for name, size in (("age", 3), ("zip", 2))},
        related=related_rows(rng, counted.sizes, coded),
    )


def related_rows(rng, sizes, like):
    """Rows of a second table that belong to the people of groups, some of which have none."""
    person = np.repeat(np.arange(len(sizes)), sizes)
    owner = np.sort(rng.integers(0, len(person), int(rng.integers(1, 60))))
    coded = like._replace(codes=rng.integers(0, 5, len(owner)))
    return count_related(person[owner], owner, {"s": coded})


def only_related(related, number):
    """The rows of one of the groups, which is then the first."""
    here = np.flatnonzero(related.group == number)
    if not len(here):
        return RelatedRows(
            here, Groups(here, {"s": part_of(related.rows.counts_of("s"), -1)}), here
        )
    (place,) = here
    people, counts = related.rows.people, part_of(related.rows.counts_of("s"), place)
    own, holdings = people.group == place, people.held["s"]
    has = holdings.group == place
    of_values, zeros = np.zeros(has.sum(), int), np.zeros(own.sum(), int)
    values = HeldValues(
        of_values,
        holdings.person[has],
        holdings.value[has],
        holdings.rows[has],
        counts,
    )
    owners = People(zeros, people.person[own], people.rows[own], 1, {"s": values})
    rows = Groups(related.rows.sizes[[place]], {"s": counts}, people=owners)
    return RelatedRows(np.array([0]), rows, related.most[[place]])


def part_of(counts, number):
    """The counts of one group, as the first."""
    here = counts.group == number
    zeros = np.zeros(here.sum(), int)
    return replace(counts, group=zeros, value=counts.value[here], count=counts.count[here])


def only(groups, number):
    """One of the groups, as if there were no other."""
    counts = groups.counts_of("s")
    here = counts.group == number
    one_group = replace(
        counts, group=np.zeros(here.sum(), int), value=counts.value[here], count=counts.count[here]
    )
    covers = {
        name: Cover(np.zeros_like(cover.group[own]), cover.value[own], cover.values)
        for name, cover in groups.covers.items()
        for own in [cover.group == number]
    }
    labels = {name: label[[number]] for name, label in groups.labels.items()}
    second = only_related(groups.related, number)
    return Groups(groups.sizes[[number]], {"s": one_group}, covers, labels=labels, related=second)


class ModelLaws:
    """Laws of every model; subclasses are parametrized by `model`."""

    examples: Mapping[type[PrivacyModel], Callable[[Draw], list[PrivacyModel]]] = EXAMPLES
    of_sizes_alone: frozenset[type[PrivacyModel]] = frozenset({KAnonymity, KPeople})

    def some(self, model, rng) -> list[PrivacyModel]:
        """Different promises of a model, drawn at random."""

        def draw(*texts: str) -> Decimal:
            return Decimal(str(rng.choice(texts)))

        return list(dict.fromkeys(p for _ in range(DRAWS) for p in self.examples[model](draw)))

    def test_has_examples(self, model):
        assert {type(promise) for promise in self.some(model, np.random.default_rng(0))} == {model}

    def test_is_its_own_configuration(self, model):
        scope = {"quasi_identifiers": ("age", "zip"), "sensitive": "s"}
        for promise in self.some(model, np.random.default_rng(1)):
            scoped = type(promise)(**{**vars(promise), **scope})
            for promise_ in (promise, scoped):
                assert PROMISE.validate_python(promise_.parameters()) == promise_
            assert scoped.adversary_columns[:2] == ("age", "zip")

    def test_has_words_for_people(self, model):
        groups = release(np.random.default_rng(2))
        assert model.title
        assert model.ways
        for promise in self.some(model, np.random.default_rng(2)):
            assert promise.sentence().strip()
            assert promise.sentence_of_declared().strip()
            assert set(promise.check(groups).required) <= set(model.meanings)
        assert model.distances <= set(model.meanings)
        assert all(model.meanings.values())

    def test_a_verdict_is_exact_in_a_report(self, model):
        """Great Expectations rebuilds the groups from a frame and asks the model itself."""
        rng = np.random.default_rng(20)
        releases = [release(rng) for _ in range(RELEASES)]
        promises = [(p, groups) for groups in releases for p in self.some(model, rng)]
        findings = judge("line", TABLES, STRUCTURE, promises)
        assert findings == examine(TABLES, STRUCTURE, promises)
        for (promise, groups), finding in zip(promises, findings[1:], strict=True):
            verdict = promise.check(groups)
            assert promise.failing(groups).sum() <= verdict.failing
            assert set(verdict.observed) == set(verdict.required) == set(promise.required())
            assert verdict_of(promise, finding) == verdict
            assert (finding.type, finding.passed) == (expectation_type(model), verdict.holds)
            seen = {name: plain(value) for name, value in verdict.observed.items()}
            counts = {"groups": len(groups), "failing": verdict.failing}
            assert finding.observed == seen | counts
        assert any(finding.passed for finding in findings[1:])

    def test_order_and_names_of_groups_are_free(self, model):
        rng = np.random.default_rng(3)
        for _ in range(RELEASES):
            groups = release(rng)
            renamed = merge(groups, rng.permutation(len(groups)))
            for promise in self.some(model, rng):
                assert promise.check(renamed) == promise.check(groups)

    def test_merging_never_breaks_a_monotone_promise(self, model):
        rng, merges = np.random.default_rng(4), 0
        for _ in range(60 if model.monotone else 0):
            groups = release(rng)
            into = np.unique(rng.integers(0, 3, len(groups)), return_inverse=True)[1]
            merged = merge(groups, into)
            for promise in self.some(model, rng):
                if promise.check(groups).holds:
                    merges += 1
                    assert promise.check(merged).holds
        assert merges or not model.monotone

    def test_no_rows_break_a_group_of_a_promise_that_says_so(self, model):
        rng, groups_kept, broken = np.random.default_rng(9), 0, 0
        for _ in range(0 if model.needs_labels else 60):  # merged groups have other labels
            groups = release(rng)
            into = np.unique(rng.integers(0, 3, len(groups)), return_inverse=True)[1]
            merged = merge(groups, into)
            for promise in self.some(model, rng):
                keeping = into[~promise.failing(groups)]
                groups_kept += len(keeping)
                broken += int(promise.failing(merged)[keeping].sum())
        assert (broken == 0 and groups_kept) or not model.unbroken_by_rows or model.needs_labels

    def test_a_group_is_judged_by_itself_unless_it_is_compared_with_all_rows(self, model):
        rng, differs = np.random.default_rng(8), False
        for _ in range(RELEASES):
            groups = release(rng)
            groups = replace(groups, population=None, subdomains={})
            apart = [only(groups, number) for number in range(len(groups))]
            for promise in self.some(model, rng):
                alone = [bool(promise.failing(part)[0]) for part in apart]
                differs |= promise.failing(groups).tolist() != alone
        assert differs == (model.compares_with_all or model.needs_labels)

    def test_what_parts_show_together_is_what_all_groups_show(self, model):
        """Of a promise on all groups the worst of each part is known, and which way is worse."""
        rng = np.random.default_rng(9)
        beside_others = model.compares_with_all or model.needs_labels
        for _ in range(0 if beside_others else RELEASES):
            groups = release(rng)
            groups = replace(groups, population=None, subdomains={}, labels={})
            apart = [only(groups, number) for number in range(len(groups))]
            for promise in self.some(model, rng):
                if not promise.judged_jointly:
                    verdicts = [promise.check(part) for part in apart]
                    assert promise.together(verdicts) == promise.check(groups)
                assert promise.for_part(groups) == promise

    def test_no_groups_keep_no_promise(self, model):
        nothing = count(np.array([], np.int64), 1, {"s": Coded(np.array([], np.int64), 0)})
        for promise in self.some(model, np.random.default_rng(5)):
            verdict = promise.check(nothing)
            assert not verdict.holds
            assert set(verdict.observed) == set(verdict.required)

    def test_what_is_not_shown_is_refused_or_fails(self, model):
        """All that is known of the groups is how many rows they have."""
        bare = Groups(release(np.random.default_rng(6)).sizes, {})
        for promise in self.some(model, np.random.default_rng(6)):
            try:
                (_, finding) = judge("line", TABLES, STRUCTURE, [(promise, bare)])
            except PromiseError as error:
                assert "could not be evaluated" in str(error) or "sensitive" in str(error)
            else:
                assert not finding.passed or model in self.of_sizes_alone

    @pytest.mark.parametrize("broken", [PromiseError("no"), ZeroDivisionError("secret 17"), None])
    def test_a_model_that_raises_is_refused(self, model, monkeypatch, broken):
        def check(self, groups):
            if broken is not None:
                raise broken

        groups = release(np.random.default_rng(1))
        promise = self.some(model, np.random.default_rng(1))[0]
        monkeypatch.setattr(model, "check", check)
        with pytest.raises(PromiseError) as caught:
            judge("line", TABLES, STRUCTURE, [(promise, groups)])
        assert "secret" not in str(caught.value)

    def test_the_expectation_says_the_models_sentence(self, model):
        kind = promise_expectation(model)
        for promise in self.some(model, np.random.default_rng(6)):
            keywords = {name.replace("-", "_"): v for name, v in promise.parameters().items()}
            assert kind.sentence(keywords) == promise.sentence()
            assert kind(**keywords).sentence(keywords) == promise.sentence()
