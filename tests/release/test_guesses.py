"""Guesses on a release's page: from its files alone, and the bars that it states."""

import json
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.attacks.declared import JUDGED
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.attacks.registry import targets_of
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.people.backup import ATTACKED, backup, unpack
from sfumato.tasks.publication.check import check
from sfumato.tasks.report.stated import guess_lines
from sfumato.tasks.schema.formats import LAYOUT
from sfumato.tasks.schema.stated import KeptBar, KeptBars
from sfumato.tasks.terms.opened import PAGE, open_release
from tests.release.forge import edit, made_with, rebuilt
from tests.release.small import SPEC, people
from tests.report.html import Read

DIVERSE = {
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 3}],
    "partition": {"method": "anatomy"},
}
BARS = {
    "background": {"known": 1, "max-share-above": {"belief": 1, "share": 0.25}},
    "definetti": {"max-lift": 0.5},
    "homogeneity": {"max-share-above": {"belief": 0.9, "share": 0.5}, "on-failure": "tell"},
}


def page_of(directory):
    return Read((directory / PAGE).read_text(encoding="utf-8"))


def words_in(page):
    return " ".join(page.text.split())


def test_the_page_counts_what_its_files_show(small):
    directory = small.write(people(rows=120), **DIVERSE).publish("one").directory
    release = open_release(directory)
    rows = release.table("microdata").select(["group_id", "wage"]).to_pylist()
    groups = Counter((row["group_id"], row["wage"]) for row in rows)
    most = Counter()
    for (group, _), times in groups.items():
        most[group] = max(most[group], times)
    guessed = Fraction(sum(most.values()), len(rows))
    before = Fraction(max(Counter(row["wage"] for row in rows).values()), len(rows))
    page = page_of(directory)
    expected = (
        f"own value guessed from the group alone {float(100 * guessed):.1f} % "
        f"without the release: {float(100 * before):.1f} %"
    )
    assert expected in words_in(page)
    assert "Bars on attacks" not in page.text
    assert check(directory, None)


def test_bars_are_stated_and_nothing_that_was_measured(small):
    directory = small.write(people(rows=300), **DIVERSE, attacks=BARS).publish("one").directory
    release = open_release(directory)
    assert release.declared.bars == KeptBars(
        bars=(
            KeptBar(attack="background", limit="max-share-above", most=0.25, belief=1, known=1),
            KeptBar(attack="definetti", limit="max-lift", most=0.5),
        )
    )
    page_words = words_in(page_of(directory))
    assert "can rule out 1 other value for a person" in page_words
    assert "own value believed with 100.0 % or more 25.0 %" in page_words
    assert "guessed more often than from the group only 50.0 %" in page_words
    assert "not verifiable from these files" in page_words
    stated = json.loads((directory / "validation.json").read_bytes())[-2:]
    assert [bar["passed"] for bar in stated] == [True, True]
    assert [bar["observed"] for bar in stated] == [None, None]
    assert {bar["table"] for bar in stated} == {"attacks"}
    assert check(directory, None)
    terms = small.plan().terms
    again = small.write(people(rows=300), **DIVERSE).plan().terms
    assert terms.digest() == again.digest(), "bars are no terms"


def test_no_figure_where_rows_are_nobodys(small):
    small.write(
        people(),
        promises=[{"model": "p-privacy", "target": "source"}],
        partition={"method": "stratum"},
        form={"method": "redistributed", "fakes": 5},
    )
    assert "What can be guessed" not in page_of(small.publish("one").directory).text


def stating(*bars, shows="rows"):
    return SimpleNamespace(bars=KeptBars(bars=bars), form=SimpleNamespace(shows=shows))


@pytest.mark.parametrize("attack", JUDGED)
def test_every_bar_is_told_in_words(attack):
    settings = {"known": 2, "width": "50.5", "level": 1, "times": 2.5}
    for limit in JUDGED[attack].limits:
        belief = 0.8 if limit == "max-share-above" else None
        bar = KeptBar(attack=attack, limit=limit, most=0.1, belief=belief, **settings)
        (lines_of_bar,) = guess_lines({}, stating(bar))["bars"]
        assert lines_of_bar.who
        assert lines_of_bar.limit
        assert not {"{", "None"} & {*f"{lines_of_bar.who} {lines_of_bar.limit}".split()}
        assert ("80.0 %" in lines_of_bar.limit) == (belief is not None)
    assert lines_of_bar.most == "10.0 %"


def test_what_a_bar_says_is_told():
    bars = [
        KeptBar(attack="skewness", limit="max-share", most=0.1, times=2.5),
        KeptBar(attack="small-range", limit="max-share-above", most=0.1, belief=0.5, width="50.5"),
        KeptBar(attack="known-people", limit="max-share-above", most=0.1, belief=0.5, known=1),
    ]
    lines = guess_lines({}, stating(*bars))["bars"]
    texts = [f"{line.who}: {line.limit}" for line in lines]
    assert "own value 2.5 times as likely there, or more" in texts[0]
    assert "a range as wide as 50.5: own number believed in such a range with 50.0 %" in texts[1]
    assert "knows 1 other person of the group" in texts[2]


def test_a_bar_on_how_ranges_were_chosen_is_told():
    bar = KeptBar(attack="minimality", limit="max-share", most=0)
    (line,) = guess_lines({}, stating(bar, shows="subdomains"))["bars"]
    assert line.who == "knows how the ranges, and the targets of groups, were chosen"
    assert line.limit == "groups in which a promise fails for this attacker"
    (line,) = guess_lines({}, stating(bar))["bars"]
    assert line.who == "knows which finer groups were tried, and broke a promise"


LIFT = KeptBar(attack="definetti", limit="max-lift", most=0.1)


@pytest.mark.parametrize("bars", [(LIFT.model_copy(update={"attack": "oracle"}),), (LIFT, LIFT)])
def test_bars_that_are_none_are_refused(small, bars):
    directory = small.write(people(), **DIVERSE).publish("one").directory
    announced = rebuilt(directory, bars=KeptBars(bars=bars))
    with pytest.raises(
        PromiseError, match=("states limits on attacks twice, or on unknown attacks")
    ):
        check(directory, announced)


def test_a_share_is_a_share(small):
    directory = small.write(people(rows=300), **DIVERSE, attacks=BARS).publish("one").directory

    def change(document):
        document["sfumato"]["bars"]["bars"][0]["most"] = 7

    edit(directory, change)
    with pytest.raises(PromiseError, match="not the canonical manifest"):
        check(directory, None)


def test_an_older_page_tells_no_guesses(small):
    directory = small.write(people(), **DIVERSE).publish("one").directory
    assert check(directory, made_with(directory, **{LAYOUT: "2"}))
    page = page_of(directory)
    assert "What can be guessed" not in page.text
    assert "Codebook" in page.text


def test_a_refusal_survives_a_restore(small):
    small.write(people(rows=300), **DIVERSE).publish("one")
    line = small.plan().line.private
    (line / ATTACKED).write_bytes(b'{"of": {}, "bars": [], "scores": {}}')
    saved = backup(line)
    assert unpack(line, saved, line.name)[ATTACKED] == (line / ATTACKED).read_bytes()


def test_a_page_tells_how_to_get_the_software_and_an_older_one_does_not(small):
    directory = small.write(people(), **DIVERSE).publish("one").directory
    assert "pip install ./sfumato-" in page_of(directory).text
    assert check(directory, made_with(directory, **{LAYOUT: "3"}))
    page = page_of(directory)
    assert "pip install" not in page.text
    assert "What can be guessed" in page.text


LEARNED = "guessed by who learns from all groups (deFinetti's attack), as they expect"


def test_a_page_tells_what_all_groups_teach_and_an_older_one_does_not(small):
    directory = small.write(people(rows=120), **DIVERSE).publish("one").directory
    release = open_release(directory)
    tables = {"microdata": release.table("microdata")}
    (target,) = targets_of(release.declared, tables, Microdata((), 0))
    (expected,) = definetti.expect_hits(target)
    page_words = words_in(page_of(directory))
    assert f"{LEARNED} {100 * expected.share:.1f} % as who learns nothing expects: " in page_words
    assert check(directory, None)
    assert check(directory, made_with(directory, **{LAYOUT: "4"}))
    older = words_in(page_of(directory))
    assert LEARNED not in older
    assert "What can be guessed" in older


def test_of_more_rows_than_are_learned_from_as_a_whole_nothing_is_told(small, monkeypatch):
    monkeypatch.setattr(definetti, "_ENOUGH", 100)
    directory = small.write(people(rows=120), **DIVERSE).publish("one").directory
    assert LEARNED not in words_in(page_of(directory))


def test_a_page_of_labels_tells_nothing_of_learning(small):
    columns = {
        **SPEC["columns"],
        "age": {**SPEC["columns"]["age"], "hierarchy": {"intervals": [20]}},
    }
    way = {"partition": {"method": "mondrian"}, "form": {"method": "generalized"}}
    small.write(people(rows=120), columns=columns, **{**DIVERSE, **way}, evaluate={"workloads": []})
    assert "deFinetti" not in page_of(small.publish("one").directory).text
