"""Coded candidates that wait for approval: thresholds are kept when they are published."""

from decimal import Decimal

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.people.frozen import CODINGS, FrozenCodings, freeze, read_frozen
from sfumato.tasks.publication.check import check
from sfumato.tasks.verification.signing_keys import PASSPHRASE
from tests.approval.conftest import Reviewed
from tests.codings.stays import Stays, stays
from tests.codings.test_release import threshold


@pytest.fixture
def waiting(tmp_path, monkeypatch, call):
    """A line whose first candidate was approved."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    small = Stays(tmp_path / "line")
    line = Reviewed(small, call, pytest.MonkeyPatch, tmp_path).write(stays(), reviewers=1)
    line.release()
    line.reviewer("ann", "stays")
    line.decide("ann")
    return line


def test_what_was_found_is_kept_once_it_is_published(waiting):
    private = waiting.line.private
    assert not (private / CODINGS).exists()
    assert check(waiting.publish()).derived == "equal"
    codings = {column.column: column.found for column in read_frozen(private).columns}
    assert codings["cost"] == {"top": str(threshold(stays()))}
    dear = [row | {"cost": str(Decimal(row["cost"]) * 9)} for row in stays(first=1000)]
    waiting.write(dear, reviewers=1).release()
    waiting.decide("ann")
    assert waiting.publish().name == "0002"


def test_a_candidate_of_other_thresholds_is_not_published(waiting):
    """Another one has been published since."""
    (note,) = waiting.line.private.rglob("codings.json")
    used = FrozenCodings.model_validate_json(note.read_bytes())
    others = {"cost": {"top": "1"}, "job": {"fold": []}}
    columns = [
        column.model_copy(update={"found": others[column.column]}) for column in used.columns
    ]
    freeze(waiting.line.private, used.model_copy(update={"columns": tuple(columns)}))
    with pytest.raises(PromiseError, match="other thresholds in the meantime"):
        waiting.publish()
