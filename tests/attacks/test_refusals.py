"""Refusals by bars: none is forgotten, and none is drawn again for luck by changing a bar."""

import io
import json
import shutil
import tarfile

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.cli.main import run
from sfumato.flows.life.lines import restore
from sfumato.tasks.attacks.refusals import is_looser, read_refusals, with_refusals
from sfumato.tasks.private.people.backup import ATTACKED, REFUSED, backup, pack, unpack
from sfumato.tasks.schema.stated import KeptBar
from tests.attacks.test_bars import attack, line  # noqa: F401 - a fixture

SURE = {"belief": 1, "share": 0}
TWO_KNOWN = {"background": {"known": 2, "max-share-above": SURE}}
BY_GROUP = {"homogeneity": {"max-share-above": {"belief": 0.2, "share": 0}}}


def share_above(most, belief=0.8, known_count=None, name="background", **limit_keys):
    limit = {"limit": "max-share-above", "most": most, "belief": belief, "known": known_count}
    return KeptBar(attack=name, **limit, **limit_keys)


@pytest.mark.parametrize(
    ("first_bar", "refused", "looser"),
    [
        (share_above(0.1), share_above(0.1), False),
        (share_above(0.11), share_above(0.1), True),
        (share_above(0.09), share_above(0.1), False),
        (share_above(0.1, belief=0.9), share_above(0.1), True),
        (share_above(0.1, belief=0.7), share_above(0.1), False),
        (share_above(0.09, belief=0.9), share_above(0.1), False),
        (share_above(0.1, known_count=1), share_above(0.1, known_count=2), True),
        (share_above(0.1, known_count=3), share_above(0.1, known_count=2), False),
        (share_above(0.2, known_count=3), share_above(0.1, known_count=2), False),
        (share_above(0.1, width=4), share_above(0.1, width=5), True),
        (share_above(0.2, width=6), share_above(0.1, width=5), False),
        (share_above(0.2, width=4), share_above(0.1), False),
        (share_above(0.2), share_above(0.1, width=5), False),
        (share_above(0.1, level=1), share_above(0.1, level=2), True),
        (share_above(0.2, level=3), share_above(0.1, level=2), False),
        (share_above(0.1, times=3), share_above(0.1, times=2), True),
        (share_above(0.2, times=1.5), share_above(0.1, times=2), False),
    ],
)
def test_a_limit_is_looser_if_whatever_keeps_another_keeps_it(first_bar, refused, looser):
    assert is_looser(first_bar, refused) is looser


class TestStage:
    """Candidates of one source and spec, under one bar after another."""

    @pytest.fixture
    def plots_drawn(self, line, small):  # noqa: F811
        """Draw and attack a candidate under some bars; the bars that were judged, if any were."""
        numbers = iter("abcdefgh")

        def draw(bars):
            line(bars)
            judged = []
            with pytest.raises(PromiseError, match="this candidate stays refused"):
                attack(small, next(numbers), lambda bars: judged.append(bars) or ())
            return judged

        return draw

    def test_alternating_bars_are_refused_without_another_look(self, plots_drawn):
        assert plots_drawn(TWO_KNOWN)
        assert plots_drawn(BY_GROUP)
        for bars in (TWO_KNOWN, BY_GROUP, {**BY_GROUP, **TWO_KNOWN}):
            assert plots_drawn(bars) == []

    def test_a_bar_that_is_no_looser_is_refused_without_another_look(self, plots_drawn):
        assert plots_drawn(BY_GROUP)
        for limit in ({"belief": 0.1, "share": 0}, {"belief": 0.1, "share": 0.1}):
            assert plots_drawn({"homogeneity": {"max-share-above": limit}}) == []

    def test_a_looser_bar_and_another_source_may_be_tried(self, plots_drawn, line, small):  # noqa: F811
        assert plots_drawn(BY_GROUP)
        line({"homogeneity": {"max-share-above": {"belief": 0.2, "share": 1}}})
        (verdict,) = attack(small, "looser")
        assert verdict.is_kept
        assert plots_drawn(BY_GROUP) == []
        line(BY_GROUP, rows=301)
        judged = []
        with pytest.raises(PromiseError):
            attack(small, "another", lambda bars: judged.append(bars) or ())
        assert judged

    def test_what_earlier_software_refused_stands(self, plots_drawn, small):
        assert plots_drawn(TWO_KNOWN)
        private = small.plan().line.private
        (private / REFUSED).unlink()
        record = json.loads((private / ATTACKED).read_bytes())
        for bar in record["bars"]:
            del bar["belief"], bar["known"]
        (private / ATTACKED).write_text(json.dumps(record), encoding="utf-8")
        assert plots_drawn(TWO_KNOWN) == []
        assert plots_drawn(BY_GROUP)
        (private / ATTACKED).unlink()
        assert plots_drawn(TWO_KNOWN) == []

    def test_backups_have_them_and_no_restore_forgets_one(self, plots_drawn, line, small):  # noqa: F811
        line({}, rows=200)
        small.publish("version")
        assert plots_drawn(TWO_KNOWN)
        private, saved = small.plan().line.private, small.folder / "saved"
        saved.write_bytes(backup(private))
        backup_contents = unpack(saved, saved.read_bytes(), "wages")
        assert json.loads(backup_contents[REFUSED])["refused"][0]["by"]["known"] == 2
        assert plots_drawn(BY_GROUP)
        for forgotten in (False, True):
            if forgotten:
                (private / REFUSED).unlink()
                (private / ATTACKED).unlink()
            restore(small.spec, saved)
            assert plots_drawn(TWO_KNOWN) == []
            assert [bool(judged) for judged in [plots_drawn(BY_GROUP)]] == [forgotten]


def test_older_backups_are_read_and_take_nothing_away(tmp_path):
    older = {"key": b"", "state.json": b"{}"}
    assert with_refusals(older, tmp_path) == older
    assert json.loads(_contents(pack("wages", older)))["format"] == 1
    assert json.loads(_contents(pack("wages", {**older, REFUSED: b"{}"})))["format"] == 7


def _contents(content):
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return tar.extractfile("backup.json").read()


@pytest.mark.parametrize(
    ("content", "error"),
    [('{"format": 2}', InputError), ('{"past": []}', PromiseError), ("?", PromiseError)],
)
def test_what_cannot_be_read_refuses(content, error, tmp_path):
    (tmp_path / REFUSED).write_text(content, encoding="utf-8")
    with pytest.raises(error):
        read_refusals(tmp_path)


def test_a_record_that_cannot_be_read_refuses(tmp_path):
    (tmp_path / ATTACKED).write_text('{"of": {}}', encoding="utf-8")
    with pytest.raises(PromiseError):
        read_refusals(tmp_path)


class TestRekeyedLine:
    """Another key of a line: sources are called otherwise, and stay refused."""

    @pytest.fixture
    def rekeyed_line(self, line, small):  # noqa: F811
        line({}, rows=200)
        small.publish("version")
        shutil.copyfile(small.folder / "people.csv", small.folder / "first.csv")
        line(TWO_KNOWN)
        with pytest.raises(PromiseError):
            attack(small, "refused")
        return small.plan().line.private

    def test_refusals_stand(self, rekeyed_line, small):
        shutil.copyfile(small.folder / "people.csv", small.folder / "second.csv")
        before = read_refusals(rekeyed_line).refused
        options = ["--source=0001=first.csv", "--source=refused=second.csv"]
        for _ in range(2):
            assert run(["line", "rekey", str(small.spec), *options]) == 0
        (after,) = read_refusals(rekeyed_line).refused
        assert [refusal.by for refusal in before] == [after.by]
        assert before[0].rows != after.rows
        judged = []
        with pytest.raises(PromiseError, match="this candidate stays refused"):
            attack(small, "again", judged.append)
        assert judged == []
        record = json.loads((rekeyed_line / ATTACKED).read_bytes())
        assert record["scores"]
        assert record["bars"] == []

    def test_none_is_forgotten(self, rekeyed_line, small, capsys):
        before = (rekeyed_line / "key").read_bytes(), read_refusals(rekeyed_line)
        options = ["--source=0001=first.csv"]
        assert run(["line", "rekey", str(small.spec), *options]) == 2
        error = capsys.readouterr().err
        assert "limits on attacks refused candidates of 1 other sources" in error
        assert ((rekeyed_line / "key").read_bytes(), read_refusals(rekeyed_line)) == before
