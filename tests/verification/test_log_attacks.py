"""Rollback, omission, rewriting, fork and split view: none is unnoticed by who has a head."""

import json
from itertools import product

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.merkle import tree_of
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.verification import log_check
from sfumato.tasks.verification.heads import exchanged_head, read_head
from sfumato.tasks.verification.line_log import LineLog, head_of
from tests.verification.scripted_line import ScriptedLine, digest_of, reader

SIZES = [1, 2, 3, 4, 5]
SIGNED = [None, "town"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(log_check, "_PAUSE", 0)


def line_of(folder, size, key):
    line = ScriptedLine(folder, key)
    for _ in range(size):
        line.release()
    return line


def seal(line, document):
    """Write a changed log with a head of its own, as the publisher can, and anyone if unsigned."""
    log = LineLog.model_validate({**document, "head": line.log()["head"]})
    head = head_of("wages", tree_of(log.leaves), line.signer)
    content = log.model_copy(update={"head": head}).content()
    (line.folder / "log.json").write_bytes(content)


def roll_back(line, earlier, _):
    """The line as it was one release before, log and record."""
    earlier.copy(line.folder)


def roll_back_the_log(line, earlier, _):
    """The log alone is one release behind."""
    (line.folder / "log.json").write_bytes((earlier.folder / "log.json").read_bytes())


def leave_out_in_the_record(line, _, size):
    record = line.record()
    del record["versions"][f"{size:04d}"]
    line.write_record(record)


def leave_out_everywhere(line, _, size):
    """A release is taken out of the record and the log, and another one appears."""
    leave_out_in_the_record(line, _, size)
    document = line.log()
    document["entries"] = [
        entry for entry in document["entries"] if entry.get("version") != f"{size:04d}"
    ]
    if document["entries"]:
        seal(line, document)
    else:
        (line.folder / "log.json").unlink()
    line.release("other")
    line.release("other")


def leave_out_the_log(line, _, __):
    (line.folder / "log.json").unlink()


def begin_another_log(line, _, __):
    """The log is deleted and begun again by the publisher's own software, and grows."""
    (line.folder / "log.json").unlink()
    line.release()
    line.release()


def rewrite_the_record(line, _, size):
    record = line.record()
    record["versions"][f"{size:04d}"]["digest"] = digest_of(size, "rewritten")
    line.write_record(record)


def rewrite_an_entry(line, _, size):
    rewrite_the_record(line, _, size)
    document = line.log()
    document["entries"][-1]["digest"] = digest_of(size, "rewritten")
    seal(line, document)
    line.release()


def fork(line, earlier, _):
    """Two releases take the place of one; record, keys and log agree."""
    earlier.copy(line.folder)
    line.release("fork")
    line.release("fork")


def begin_anew(line, _, size):
    """A fork from nothing: every entry is another one."""
    for name in ("log.json", "releases.json"):
        (line.folder / name).unlink()
    for _ in range(size + 1):
        line.release("anew")


ATTACKS = [
    roll_back,
    roll_back_the_log,
    leave_out_in_the_record,
    leave_out_everywhere,
    leave_out_the_log,
    begin_another_log,
    rewrite_the_record,
    rewrite_an_entry,
    fork,
    begin_anew,
]


@pytest.mark.parametrize(
    ("attack", "size", "key"),
    [*product(ATTACKS, SIZES, SIGNED)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_an_attack_is_noticed_by_who_has_a_head(attack, size, key, tmp_path):
    """By the remembered head, and as a split view by another reader who was given the head."""
    line = line_of(tmp_path / "line", size, key)
    earlier = line.copy(tmp_path / "earlier")
    line.release()
    first = reader(tmp_path / "first")
    first.check(line, number=size + 1)
    exchanged = tmp_path / "head.json"
    exchanged.write_bytes(exchanged_head(line.parsed_log(), digest_of(size + 1)))
    attack(line, earlier, size + 1)
    with pytest.raises(PromiseError, match="Do not use the line"):
        first.check(line)
    second = reader(tmp_path / "second")
    with pytest.raises(PromiseError, match="Do not use the line"):
        second.check(line, read_head(exchanged))


@pytest.mark.parametrize(("size", "key"), [*product(SIZES, SIGNED)])
def test_two_readers_who_exchange_heads_notice_a_split_view(size, key, tmp_path):
    """Each is shown a line that always continues: only the other one's head tells them apart."""
    shared = line_of(tmp_path / "line", size, key)
    views, readers, heads = [], [], []
    for name in ("first", "second"):
        views.append(shared.copy(tmp_path / name / "line"))
        readers.append(reader(tmp_path / name / "memory"))
        readers[-1].check(views[-1])
        views[-1].release(name)
        assert [earlier.head.size for earlier in readers[-1].check(views[-1]).earlier]
        heads.append(tmp_path / name / "head.json")
        heads[-1].write_bytes(exchanged_head(views[-1].parsed_log(), digest_of(1)))
    for here, there in ((0, 1), (1, 0)):
        with pytest.raises(PromiseError, match="readers are shown different logs"):
            readers[here].check(views[here], read_head(heads[there]))


@pytest.mark.parametrize("key", SIGNED)
def test_an_honest_line_is_never_refused(key, tmp_path):
    """Releases, withdrawals and key changes continue every head that was seen before."""
    line, readers = ScriptedLine(tmp_path / "line", key), []
    for step in range(12):
        if step % 4 == 3:
            line.withdraw(step // 4 + 1)
        elif step == 6 and key:
            line.rotate("next")
        elif step == 10 and key:
            line.revoke("town")
        else:
            line.release()
        readers.append(reader(tmp_path / f"reader-{step}"))
        for sizes, who in enumerate(readers):
            findings = who.check(line, number=4)
            assert bool(findings.earlier) == (sizes < step)
    assert line.log()["head"]["size"] == len(line.log()["entries"]) >= 12


def test_a_copy_elsewhere_is_compared_with_the_head_of_the_line(tmp_path):
    line = line_of(tmp_path / "line", 2, None)
    copy = line.copy(tmp_path / "mirror")
    line.release()
    who = reader(tmp_path / "memory")
    who.check(line)
    statements = [*who.check(copy).lines()]
    assert any("this copy is older than the line" in statement for statement in statements)
    copy.release("fork")
    with pytest.raises(PromiseError, match="does not continue the head of 3 entries"):
        who.check(copy)
    assert who.check(line.copy(tmp_path / "mirror")).earlier


def test_who_has_no_head_is_told_that_nothing_was_compared(tmp_path):
    """And is not warned of a line that was rewritten before: that is what heads are for."""
    line = line_of(tmp_path / "line", 2, None)
    earlier = line.copy(tmp_path / "earlier")
    fork(line, earlier, 2)
    findings = reader(tmp_path / "memory").check(line)
    assert findings.earlier == ()
    assert "no earlier head of this line was at hand" in [*findings.lines()][-1]
    assert findings.document()["earlier"] == []


def test_a_head_is_never_replaced_by_a_shorter_one(tmp_path):
    """Two checks at once: the one that saw less ends last."""
    line = line_of(tmp_path / "line", 2, None)
    who = reader(tmp_path / "memory")
    before = who.check(line)
    line.release()
    who.check(line)
    assert before.remember(who.environ) == ()
    assert [earlier.head.size for earlier in who.check(line).earlier] == [3]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["head"].update(root="0" * 64),
        lambda d: d["head"].update(size=1),
        lambda d: d["entries"].reverse(),
        lambda d: d["entries"].pop(),
        lambda d: d["entries"].append(d["entries"][0]),
        lambda d: d["entries"][0].update(digest="0" * 64),
        lambda d: d["entries"][0].update(more="x"),
        lambda d: d["entries"][0].update(kind="other"),
        lambda d: d.update(more=1),
        lambda d: d.update(entries=[]),
        lambda d: d["head"].update(signature="0" * 128),
    ],
)
@pytest.mark.parametrize("key", SIGNED)
def test_a_damaged_log_is_refused_without_any_head(change, key, tmp_path):
    line = line_of(tmp_path / "line", 2, key)
    document = line.log()
    change(document)
    (line.folder / "log.json").write_bytes(canonical_json(document))
    with pytest.raises(PromiseError):
        reader(tmp_path / "memory").check(line)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format":1}', b"\xff"])
def test_what_is_no_log_is_refused(content, tmp_path):
    line = line_of(tmp_path / "line", 1, None)
    (line.folder / "log.json").write_bytes(content)
    with pytest.raises(PromiseError, match="cannot be read as the log of a line"):
        reader(tmp_path / "memory").check(line)


def test_a_log_is_read_in_one_spelling_only(tmp_path):
    line = line_of(tmp_path / "line", 1, None)
    (line.folder / "log.json").write_text(json.dumps(line.log(), indent=1))
    with pytest.raises(PromiseError, match="cannot be read as the log of a line"):
        reader(tmp_path / "memory").check(line)
