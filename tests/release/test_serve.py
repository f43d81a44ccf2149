"""`sfumato query --serve`: one line of JSON out for each line in, whatever the line is."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.flows.cli.analyst.serve import LONGEST, Served
from sfumato.flows.cli.main import run
from sfumato.tasks.query import ask as conversations
from sfumato.tasks.query.ask import Conversation, answer
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.verification.record import files_as_they_stand
from tests.corpus.lines import CORPUS, FrozenLine
from tests.release.small import Small, people

BY_TOWN = "SELECT town, COUNT(*), AVG(wage) FROM microdata WHERE age < 40 GROUP BY town"
COUNT = "SELECT COUNT(*) FROM microdata"
MAIN = (
    # interrupts are ignored below nohup
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sfumato.flows.cli.main import main; main()"
)
QUERIES = (COUNT, BY_TOWN, "SELECT STDDEV(wage) FROM microdata", "SELECT", "'\x00'", "\ud800")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(), parts, max_size=3),
    max_leaves=8,
)
requests = st.fixed_dictionaries(
    {"query": st.sampled_from(QUERIES) | st.text() | json_values},
    optional={
        "id": json_values,
        "estimator": st.sampled_from(["uniform", "weighted", "other"]) | json_values,
        "x": json_values,
    },
)
lines = st.one_of(
    st.binary().map(lambda line: line.replace(b"\n", b"")),
    json_values.map(lambda value: json.dumps(value).encode()),
    requests.map(lambda request: json.dumps(request).encode()),
    requests.map(lambda request: json.dumps(request).encode()[:-1]),
    st.sampled_from([b"", b"\0", b"\xff", b"[" * 60 + b"]" * 60, b"[" * 9999, b"1" * 9999]),
    st.integers(LONGEST - 1, LONGEST + 1).map(lambda length: b" " * length),
)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A published version of the small line, which nobody changes."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SFUMATO_WORK", str(folder / "work"))
        return Small(folder / "line").write(people()).publish("one").directory


@pytest.fixture
def serve(release, monkeypatch, capsys):
    """The code, documents and messages of the command on lines of stdin."""

    def serving(*lines, options=(), directory=release):
        content = b"".join(line + b"\n" for line in lines)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code = run(["query", str(directory), "--serve", *options])
        output = capsys.readouterr()
        return code, [json.loads(line) for line in output.out.splitlines()], output.err

    return serving


def request(query, **more):
    return json.dumps({"query": query, **more}).encode()


def test_answers_are_those_of_the_command_with_an_id(serve, release, capsys):
    question = request(BY_TOWN, id=[1, {"a": "é\x1b"}])
    code, replies, error = serve(question, request(COUNT), options=["--check"])
    assert code == 0
    assert error == "verified; not signed\n"
    assert [document.pop("id") for document in replies] == [[1, {"a": "é\x1b"}], None]
    assert run(["query", str(release), BY_TOWN, "--format", "json"]) == 0
    assert replies[0] == json.loads(capsys.readouterr().out)
    assert replies[0]["verified"] is replies[0]["guaranteed"] is True


@pytest.mark.parametrize(
    "line,error",
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"query": "\0"}', "not JSON"),
        (b"\xff", "not UTF-8 text"),
        (b"[]", 'not a mapping such as {"query": "SELECT ...", "id": 1}'),
        (b"[" * 51 + b"]" * 51, "nested deeper than 50 levels"),
        (b"[" * 100_000, "nested deeper than 50 levels"),
        (b" " * (LONGEST + 1), f"the line is longer than {LONGEST} bytes. Send a shorter one"),
        (b" " * (3 * LONGEST), f"the line is longer than {LONGEST} bytes. Send a shorter one"),
        (b'{"query": 1}', 'query: is missing or not a text. Write {"query": "SELECT …"}'),
        (b"{}", 'query: is missing or not a text. Write {"query": "SELECT …"}'),
        (request(COUNT, estimator="best"), "estimator: unknown; choose from weighted, uniform"),
        (request(COUNT, having="certain"), "no key 'having'; the keys are query, id, estimator"),
        (
            request("SELECT * FROM people"),
            "FROM names another table. A release has one, so write FROM microdata",
        ),
        (b'{"query": "", "id": 1e999}', "id: has a number that JSON cannot write, such as NaN"),
    ],
)
def test_what_is_wrong_is_one_line_and_the_next_is_read(serve, line, error):
    code, (first, second), _ = serve(line, request(COUNT, id=7))
    assert (code, first) == (0, {"id": None, "error": error, "exit": 2})
    assert (second["id"], second["rows"][0]["COUNT(*)"]["lower"]) == (7, 60)


def test_a_wrong_query_keeps_its_id(serve):
    _, (reply_found,), _ = serve(request("SELECT", id="x"))
    assert (reply_found["id"], reply_found["exit"]) == ("x", 2)


def test_no_line_at_all(serve):
    assert serve()[:2] == (0, [])


@pytest.mark.parametrize("options", [["--format", "csv"], ["--rewrite", "duckdb"], [COUNT]])
def test_queries_come_from_stdin_and_answers_are_json(serve, options):
    code, replies, error = serve(options=options)
    assert (code, replies) == (2, [])
    assert "--serve takes queries from stdin" in error


def test_a_directory_without_a_release(serve, tmp_path):
    assert serve(request(COUNT), directory=tmp_path)[:2] == (2, [])


@given(st.lists(lines, max_size=6))
def test_every_line_is_replied_to(served_release, lines_asked):
    replies = list(
        served_release.replies(io.BytesIO(b"".join(line + b"\n" for line in lines_asked)))
    )
    assert len(replies) == len(lines_asked)
    for document in replies:
        json.dumps(document, allow_nan=False)
        assert "rows" in document or document["exit"] == 2, document


@pytest.fixture(scope="module")
def served_release(release):
    with Conversation(open_release(release)) as conversation:
        yield Served(release, files_as_they_stand(release), conversation, "weighted")


FROZEN = sorted((CORPUS / "format-2" / "public").glob("*/0002"))


@pytest.mark.parametrize("directory", FROZEN, ids=lambda path: path.parent.name)
def test_every_form_answers_as_it_does_for_each_query_alone(directory):
    line = FrozenLine(CORPUS / "format-2", directory.parent.name.removeprefix("corpus-"))
    release = open_release(directory)
    with Conversation(release) as conversation:
        for sql in line.queries:
            assert conversation.answer(sql) == answer(release, sql)


def test_engines_are_opened_once_and_anew_after_many_questions(release, monkeypatch):
    opened = []
    opening = conversations.open_release
    monkeypatch.setattr(
        conversations,
        "open_release",
        lambda *arguments: opened.append(arguments) or opening(*arguments),
    )
    monkeypatch.setattr(conversations, "_QUESTIONS", 3)
    with Conversation(open_release(release)) as conversation:
        for expected in (1, 1, 1, 2):
            assert conversation.answer(COUNT).rows
            assert len(opened) == expected


def test_files_that_change_are_refused_from_there_on(release, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(release, copy)
    with Conversation(open_release(copy)) as conversation:
        served = Served(copy, files_as_they_stand(copy), conversation, "weighted")
        assert "rows" in reply(served)
        table = copy / "data" / "microdata.parquet"
        content = table.read_bytes()
        table.chmod(0o644)
        table.write_bytes(content[:-1] + b"?")
        assert (reply(served)["exit"], "changed" in reply(served)["error"]) == (3, True)
        table.write_bytes(content)
        assert reply(served)["exit"] == 3
        shutil.rmtree(copy)
        assert reply(served)["exit"] == 3


def reply(served):
    (reply_found,) = served.replies(io.BytesIO(request(COUNT)))
    return reply_found


def test_a_reply_is_there_before_the_next_line_and_an_interrupt_ends_with_130(release):
    started = [sys.executable, "-c", MAIN, "query", str(release), "--serve"]
    with subprocess.Popen(
        started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        for number in range(2):
            process.stdin.write(request(COUNT, id=number) + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stdout.read() == b""
