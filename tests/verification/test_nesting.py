"""Documents from outside that are nested too deep are refused in one line."""

import io
import json
import tarfile

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.documents import parse_yaml
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.people.backup import unpack
from sfumato.tasks.private.state import parse_state
from sfumato.tasks.schema.files import DEEPEST, NestingError, parse_json
from sfumato.tasks.terms.opened import MANIFEST


def lists(depth, inner="1"):
    return "[" * depth + inner + "]" * depth


def mappings(depth):
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("nested", [lists, mappings, lambda depth: lists(depth, "")])
def test_as_deep_as_may_be(nested):
    assert parse_json(nested(DEEPEST)) == json.loads(nested(DEEPEST))
    with pytest.raises(NestingError, match="nested deeper than 50 levels"):
        parse_json(nested(DEEPEST + 1))


@pytest.mark.parametrize("depth", [1000, 100_000, 1_000_000])
@pytest.mark.parametrize("nested", [lists, mappings])
def test_far_too_deep(nested, depth):
    with pytest.raises(NestingError):
        parse_json(nested(depth))


@pytest.mark.parametrize("text", ["1", '"[[["', "null", "[]", "{}", '["' + "[" * 99 + '"]'])
def test_flat_documents(text):
    assert parse_json(text.encode()) == json.loads(text)


def test_no_json_is_no_json():
    with pytest.raises(ValueError, match="Expecting"):
        parse_json("[")


def yaml_lists(depth):
    return f"a: {lists(depth)}"


def yaml_blocks(depth):
    return "\n".join(" " * n + "a:" for n in range(depth)) + " 1"


LAUGHS = "\n".join(
    ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]
)
DOUBLED = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60))])


@pytest.mark.parametrize(
    "text",
    [yaml_lists(60), yaml_lists(3000), yaml_blocks(51), LAUGHS, DOUBLED, "a: &a [*a]"],
    ids=["60 lists", "3000 lists", "blocks", "laughs", "aliases", "a circle"],
)
def test_specs_and_settings(text, tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    spec.write_text(text)
    with pytest.raises(NestingError):
        parse_yaml(text)
    for arguments in (
        ["release", str(spec)],
        ["measure", str(spec), "--qi", "a", "--model", text],
        ["release", str(spec), "--set", f"evaluate={text.replace(chr(10), ', ')}"],
    ):
        assert run(arguments) == 2
        error = capsys.readouterr().err
        assert len(error.splitlines()) == 1
        assert "Error" not in error


def test_aliases_may_repeat():
    assert parse_yaml("a: &a [1, 2]\nb: *a\nc: [*a, *a]")["c"] == [[1, 2], [1, 2]]
    assert parse_yaml(yaml_lists(49))


@pytest.mark.parametrize("depth", [60, 100_000])
def test_a_manifest(small, depth, capsys):
    release = small.publish("one").directory
    (release / MANIFEST).chmod(0o644)
    (release / MANIFEST).write_text('{"sfumato": ' + lists(depth) + "}")
    for command, code in ((["check"], 3), (["query", "SELECT COUNT(*) FROM microdata"], 2)):
        assert run([command[0], str(release), *command[1:]]) == code
        assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("depth", [60, 100_000])
def test_records_and_states(small, depth):
    plan = small.plan()
    small.publish("one")
    (plan.line.public / "releases.json").write_text(lists(depth))
    with pytest.raises(PromiseError, match="cannot be read"):
        read_record(plan.line.public)
    with pytest.raises(PromiseError, match="cannot be read"):
        parse_state(plan.line.private, lists(depth).encode())


@pytest.mark.parametrize("depth", [60, 100_000])
def test_backups(depth, tmp_path):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo("backup.json")
        content = lists(depth).encode()
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    with pytest.raises(InputError, match="not a backup"):
        unpack(tmp_path, archive.getvalue(), "wages")


def test_a_file_of_queries(small, tmp_path, capsys):
    release = str(small.publish("one").directory)
    for text in ("(" * 5000, "SELECT " + "(" * 5000 + "1" + ")" * 5000 + " FROM microdata"):
        (tmp_path / "q.sql").write_text(text)
        assert run(["query", release, "--file", str(tmp_path / "q.sql")]) == 2
        output = capsys.readouterr()
        first, _, last = output.err.splitlines()
        assert output.out == ""
        assert first.startswith("sfumato: query 1, line 1: ")
        assert last == "sfumato: 1 of 1 queries have no answer (reasons above)"
