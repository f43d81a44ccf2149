"""Files beside and above a release: nobody waits for them, and what cannot be read is no word."""

import json
import os
import shutil
import signal
import socket
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.lines.versions import RECORD
from sfumato.tasks.schema import files
from sfumato.tasks.terms.line_words import WORDS
from sfumato.tasks.verification.offered_keys import KEYS_FILE

LIMIT = 5  # seconds
COUNT = "SELECT COUNT(*) FROM microdata"
RECORDS = (RECORD, KEYS_FILE)
PLACES = (*RECORDS, WORDS, f"../{RECORD}")


def _socket(place):
    before = Path.cwd()
    os.chdir(place.parent)  # the path of a socket has at most 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.chdir(before)


def _sparse(place):
    with place.open("wb") as file:
        file.truncate(100_000_000)


KINDS = {
    "FIFO": os.mkfifo,
    "socket": _socket,
    "directory": lambda place: place.mkdir(),
    "device": lambda place: place.symlink_to("/dev/zero"),
    "link loop": lambda place: place.symlink_to(place.name),
    "is a link to a file that does not exist": lambda place: place.symlink_to("nothing"),
    "unreadable": lambda place: place.touch(mode=0),
    "empty": lambda place: place.touch(),
    "null": lambda place: place.write_text("null"),
    "list": lambda place: place.write_text("[1,2]"),
    "bytes": lambda place: place.write_bytes(bytes(range(128, 256)) * 4),
    "sparse": _sparse,
    "deep": lambda place: place.write_text("[" * 100_000 + "]" * 100_000),
}


@contextmanager
def time_limit(seconds):
    """End what takes longer, as a test that fails: it may wait for somebody."""

    def late(*_):
        raise AssertionError(f"took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def ask(capsys):
    """The code of a command, what it printed and what it said, within a time."""

    def run_in_time(*arguments):
        capsys.readouterr()
        with time_limit(LIMIT):
            code = run([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run_in_time


@pytest.fixture
def lying(two, monkeypatch):
    """Puts one kind of file in a place that is named from the directory of the line."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(two.public.parent / "cache"))

    def put(kind, name):
        place = two.public / name
        place.unlink(missing_ok=True)
        KINDS[kind](place)
        if kind == "unreadable":
            _forbid(monkeypatch, place)  # whoever runs tests may be root
        return two.public / "0001"

    return put


def _forbid(monkeypatch, place):
    opened = os.open

    def open_(path, *arguments, **named):
        if os.fspath(path) == os.fspath(place):
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **named)

    monkeypatch.setattr(files.os, "open", open_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_cannot_be_read_vouches_for_nothing(lying, ask, kind, name):
    """A withdrawal or a revocation may stand in it."""
    release = lying(kind, name)
    code, out, error = ask("check", release)
    assert (code, out) == (3, "")
    assert error.count("\n") == 1
    assert name in error
    code, out, error = ask("query", release, COUNT, "--format", "json")
    assert (code, json.loads(out)["guaranteed"]) == (0, False)
    assert f"warning: {release.parent / name}" in error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [WORDS, f"../{RECORD}"])
def test_what_is_no_word_on_a_release_keeps_nobody_waiting(lying, ask, kind, name):
    release = lying(kind, name)
    assert ask("check", release)[0] == 0
    code, out, _ = ask("query", release, COUNT, "--format", "json")
    assert (code, json.loads(out)["guaranteed"]) == (0, True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*RECORDS, WORDS, "index.html", "../index.html"])
def test_lists_and_pages_of_lines_wait_for_nobody(lying, ask, kind, name):
    """And say in one line what they cannot read."""
    line = lying(kind, name).parent
    code, _, error = ask("releases", line)
    expected = {3} if name in (RECORD, WORDS) else {0}
    assert code in expected
    assert code == 0 or (error.count("\n"), f"{line / name}" in error) == (1, True)
    assert ask("releases", line, "--rebuild")[0] in expected


def test_what_was_vouched_for_before_is_guaranteed_no_more(lying, two, ask):
    release = two.public / "0001"
    assert ask("check", release)[0] == 0
    assert '"guaranteed": true' in ask("query", release, COUNT, "--format", "json")[1]
    lying("null", RECORD)
    assert '"guaranteed": false' in ask("query", release, COUNT, "--format", "json")[1]
    assert ask("query", release, COUNT, "--check")[0] == 3


def test_a_digest_given_does_not_vouch_for_what_lies_beside(lying, two, ask):
    digest = json.loads((two.public / "0001/datapackage.json").read_bytes())["sfumato"]["digest"]
    release = lying("list", RECORD)
    _, out, _ = ask("query", release, COUNT, "--digest", digest, "--format", "json")
    assert json.loads(out)["guaranteed"] is False


def test_a_record_that_is_absent_is_said(two, tmp_path, ask):
    alone = tmp_path / "alone" / "0001"
    shutil.copytree(two.public / "0001", alone)
    code, out, _ = ask("check", alone)
    assert (code, f"no {RECORD} beside it" in out) == (0, True)
    assert f"no {RECORD} beside it" in json.loads(ask("check", alone, "--json")[1])["beside"][0]
    assert f"no {RECORD} beside it" in ask("query", alone, COUNT)[2]


def test_a_record_is_said_to_be_absent_where_there_is_none_alone(two, ask):
    assert "beside it" not in ask("check", two.public / "0001")[1]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"versions": []},
        {"versions": {"0001": None}},
        {"versions": {"0001": {"status": 7, "digest": "0" * 64}}},
        {"versions": {"0002": {"status": "withdrawn"}}},
    ],
)
def test_json_that_is_no_record_is_no_word(two, ask, document):
    (two.public / RECORD).write_text(json.dumps(document))
    assert ask("check", two.public / "0001")[0] == 3


def test_a_record_of_newer_software_is_read_for_withdrawals(two, ask):
    record = json.loads((two.public / RECORD).read_bytes())
    record |= {"format": 99, "news": True}
    (two.public / RECORD).write_text(json.dumps(record))
    assert ask("check", two.public / "0001")[0] == 0
    record["versions"]["0001"]["status"] = "withdrawn"
    (two.public / RECORD).write_text(json.dumps(record))
    assert "was withdrawn" in ask("check", two.public / "0001")[2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_of_ones_own_is_a_file(two, ask, tmp_path, kind, ending):
    place = tmp_path / f"t.{ending}"
    KINDS[kind](place)
    begun = time.monotonic()
    code, _, error = ask("query", two.public / "0001", COUNT, "--table", f"t={place}")
    assert time.monotonic() - begun < LIMIT
    assert (code, error.count("\n")) == (2, 1)


@pytest.mark.parametrize("option", ["--file", "--reference"])
def test_what_an_option_names_is_a_file(two, ask, tmp_path, option):
    os.mkfifo(tmp_path / "pipe")
    command = "query" if option == "--file" else "check"
    code, _, error = ask(command, two.public / "0001", option, tmp_path / "pipe")
    assert (code, error.count("\n")) == (2, 1)
