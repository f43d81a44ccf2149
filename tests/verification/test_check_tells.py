"""The limits of a check that it states, and the imports of a query of unsigned files."""

import json
import subprocess
import sys

from sfumato.flows.cli.analyst.check import UNSEEN
from sfumato.flows.cli.main import run
from tests.release.small import SPEC, people


def test_a_check_ends_with_what_it_cannot_show(small, capsys):
    assert run(["check", str(small.publish("one").directory)]) == 0
    last = capsys.readouterr().out.partition("What these files cannot show")[2]
    assert last.splitlines()[1:] == [f"  - {sentence}" for sentence in UNSEEN]
    for words in ("rows were read", "unit", "source", "other version", "same people"):
        assert words in last


def test_a_refused_release_is_told_nothing_more(small, capsys):
    release = small.publish("one").directory
    assert run(["check", str(release), "--digest", "0" * 64]) == 3
    output = capsys.readouterr()
    assert (output.out, len(output.err.splitlines())) == ("", 1)


def test_the_help_of_check_says_so_too(capsys):
    assert run(["check", "--help"]) == 0
    help_text = " ".join(capsys.readouterr().out.split())
    for sentence in UNSEEN:
        assert f"- {sentence}." in help_text


CODE = """
import json, sys
from sfumato.flows.cli.main import run
code = run(sys.argv[1:])
print()
print(json.dumps([code, sorted(name.partition(".")[0] for name in sys.modules)]))
"""


def test_an_unsigned_release_is_asked_without_cryptography(small):
    release = str(small.publish("one").directory)
    arguments = ["query", release, "SELECT AVG(wage) FROM microdata", "--format", "json"]
    done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True)
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    assert {"cryptography", "pandas", "prefect", "jinja2"} & set(modules) == set()


def test_promises_of_one_model_are_told_by_their_columns(small, capsys):
    columns = {**SPEC["columns"], "town": {"role": "sensitive"}}
    promise = {"model": "l-diversity", "variant": "distinct", "l": 2}
    promises = [{**promise, "sensitive": name} for name in ("town", "wage")]
    keys = {"columns": columns, "nulls": "drop-row", "promises": promises}
    small.write(people(rows=80), **keys, partition={"method": "anatomy"}, form={"method": "split"})
    assert run(["check", str(small.publish("one").directory)]) == 0
    output = capsys.readouterr().out
    assert "l-diversity of town is kept in all" in output
    assert "l-diversity of wage is kept in all" in output
