"""The command as a whole: its help, its codes, and what it prints for people and for programs."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from importlib import import_module

import click
import pytest

from sfumato.flows.cli.main import cli
from sfumato.flows.cli.registry import MODULES, SECTIONS, WITH_GREAT_EXPECTATIONS
from tests.corpus.lines import CORPUS
from tests.release.small import SPEC, people

RELEASE = CORPUS / "format-2" / "public" / "corpus-permuted" / "0002"
LABELS = CORPUS / "format-2" / "public" / "corpus-generalized" / "0002"
COUNT = "SELECT sex, COUNT(*) FROM microdata GROUP BY sex"
PROGRAM = "from sfumato.flows.cli.main import main; main()"
COMMAND = [sys.executable, "-c", PROGRAM]
PROGRAM_OF_TERMINAL = f"import sys; sys.stdout.isatty() or exit(9); {PROGRAM}"


def every_command(group=cli, named=()):
    """All commands that do something, by the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*named, name))
        else:
            yield (*named, name), command


class TestHelp:
    """Who uses what."""

    @pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
    def test_every_command_is_listed_under_who_uses_it(self, call, arguments):
        code, out, err = call(*arguments)
        assert (code, err) == (0, "")
        assert out.startswith("Usage: sfumato [OPTIONS] [COMMAND]")
        lines = out.splitlines()
        for section, names in SECTIONS.items():
            start = lines.index(f"{section}:")
            below = lines[start + 1 : start + 1 + len(names)]
            assert [line.split()[0] for line in below] == list(names)

    def test_every_module_of_a_command_is_in_the_registry(self):
        for name, module in MODULES.items():
            assert getattr(import_module(module), name).name == name
        assert set(WITH_GREAT_EXPECTATIONS) <= set(MODULES)

    def test_every_command_prints_documents(self):
        for words, command in every_command():
            options = {name for parameter in command.params for name in parameter.opts}
            assert "--json" in options, words

    def test_every_command_has_help(self, call):
        for words, command in every_command():
            assert command.help, words
            code, out, _ = call(*words, "--help")
            assert (code, out.startswith(f"Usage: sfumato {' '.join(words)} ")) == (0, True)

    def test_what_is_no_command_is_told_in_one_line(self, call):
        assert call("anonymise") == (2, "", "sfumato: No such command 'anonymise'.\n")


def test_a_command_imports_no_other_command():
    code = (
        "import json, sys; from sfumato.flows.cli.main import run; run(['keys', 'list']); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(json.loads(done.stdout.splitlines()[-1]))
    assert imported & set(MODULES.values()) == {MODULES["keys"]}


class TestDocuments:
    """With --json stdout is one document."""

    def run_for_document(self, call, *arguments):
        code, out, _ = call(*arguments, "--json")
        assert code == 0
        return json.loads(out)

    def test_keys(self, call, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
        monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", "correct horse")
        key = self.run_for_document(call, "keys", "generate", "town")["key"]
        assert key.startswith("town (")
        saved = tmp_path / "keys"
        assert self.run_for_document(call, "keys", "backup", saved) == {"file": str(saved)}
        assert self.run_for_document(call, "keys", "restore", saved) == {"own": []}
        next((tmp_path / "work" / "keys").iterdir()).unlink()
        assert self.run_for_document(call, "keys", "restore", saved) == {"own": [{"key": key}]}
        exported = tmp_path / "town.json"
        exported.write_text(call("keys", "export", "town", "--json")[1], encoding="utf-8")
        trusted = self.run_for_document(call, "keys", "trust", exported, "--line", "wages")
        assert trusted == {"trusted": [{"line": "wages", "key": key}]}
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "publisher"))
        reviewer = self.run_for_document(call, "review", "trust", exported, "--line", "wages")
        assert reviewer == {"line": "wages", "key": key}
        distrusted = self.run_for_document(
            call, "review", "distrust", key.partition("(")[2].rstrip(")")
        )
        assert distrusted == {"no_more": [{"key": key}]}

    def test_what_is_done_before_a_failure_is_told(self, call, tmp_path, monkeypatch, small):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
        monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", "correct horse")
        call("keys", "generate", "town")
        release, none = small.write(people()).publish("one").directory, tmp_path / "none"
        code, out, err = call("keys", "sign", "town", release, none, "--json")
        assert (code, str(none) in err) == (2, True)
        (done,) = json.loads(out)["releases"]
        assert (done["release"], done["signed"]) == (str(release), True)
        assert call("keys", "sign", "town", none, "--json")[:2] == (2, "")

    def test_a_sweep_and_deployments(self, call, tmp_path, monkeypatch, small):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
        (tmp_path / "work").mkdir(mode=0o700)
        assert self.run_for_document(call, "sweep") == {
            "dry": False,
            "directories": 0,
            "servers": 0,
        }
        small.write(people(), schedule={"cron": "0 6 1 * *"})
        root, file = small.folder, tmp_path / "prefect.yaml"
        document = self.run_for_document(call, "deploy", small.spec, "--root", root, "--file", file)
        assert document["file"] == str(file)
        assert document["deployments"][0] == {
            "deployment": "release/wages",
            "schedule": {"cron": "0 6 1 * *", "timezone": "UTC"},
        }
        assert all(
            set(deployment) == {"deployment", "schedule", "pool"}
            for deployment in document["deployments"][1:]
        )

    def test_the_state_of_a_line(self, call, tmp_path, small):
        small.write(people()).publish("one")
        saved = tmp_path / "saved"
        assert self.run_for_document(call, "line", "backup", small.spec, saved) == {
            "file": str(saved)
        }
        assert self.run_for_document(call, "line", "restore", small.spec, saved) == {
            "restored": str(saved)
        }

    def test_the_schema(self, call):
        assert self.run_for_document(call, "schema")["title"] == "ReleaseSpec"

    def test_an_answer(self, call):
        document = self.run_for_document(call, "query", RELEASE, COUNT)
        assert [row["sex"] for row in document["rows"]] == ["Female", "Male"]

    def test_a_check(self, call):
        document = self.run_for_document(call, "check", RELEASE)
        (promise,) = document["promises"]
        assert promise["promise"]["model"] == "ke-anonymity"
        assert promise["required"] == {"k": 4, "e": 2000}
        assert promise["groups"] == 44
        assert document["derived"] == "equivalent"  # its page is laid out as pages were then
        assert document["author"] == "not signed"
        assert len(document["unseen"]) > 5

    def test_a_check_against_versions_before(self, call):
        document = self.run_for_document(
            call, "check", RELEASE, "--previous", RELEASE.parent / "0001"
        )
        assert document["previous"][0].startswith(f"{RELEASE} continues {RELEASE.parent}")

    def test_what_was_loaded(self, call, tmp_path):
        document = self.run_for_document(
            call, "load", RELEASE, f"sqlite:///{tmp_path / 'release.db'}"
        )
        assert "microdata" in document["tables"]

    def test_which_experiments_there_are(self, call):
        assert len(self.run_for_document(call, "experiment")["experiments"]) > 3

    def test_a_draft_of_a_spec(self, call, small):
        target = small.folder / "draft.yaml"
        document = self.run_for_document(call, "init", small.folder / "people.csv", "--out", target)
        assert document["spec"] == str(target)

    def test_keys_and_reviewers(self, call, small, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody"))
        assert self.run_for_document(call, "keys", "list") == {"own": [], "trusted": {}}
        assert self.run_for_document(call, "review", "reviewers") == {"reviewers": {}}

    def test_a_measure_and_a_hierarchy(self, call, small):
        table = small.folder / "people.csv"
        assert self.run_for_document(call, "measure", table, "--qi", "town")["rows"] == 62

    def test_words_and_withdrawal(self, call, small):
        version = small.publish("one").directory
        document = self.run_for_document(
            call, "describe", version.parent, "--title", "Pay in a town"
        )
        assert document["title"] == "Pay in a town"
        document = self.run_for_document(
            call, "withdraw", version, "--reason", "the wrong table", "--yes"
        )
        assert (document["version"], document["current"]) == (str(version), None)

    def test_a_comparison(self, call, small):
        grid = "{partition: [{method: ke}], form: [{method: permuted}]}"
        document = self.run_for_document(
            call, "compare", small.spec, "--grid", grid, "--processes", "1"
        )
        assert document["recommended"] == "ke · permuted"


class TestAfterARelease:
    """Totals on stderr; the directory is the last line of stdout."""

    @pytest.fixture
    def release_with(self, small, call):
        def release_line(*options, **changes):
            small.write(people(), **changes)
            return call("release", small.spec, *options)

        return release_line

    def test_totals_are_told(self, release_with, small):
        code, out, err = release_with()
        version = small.folder / "public" / "wages" / "0001"
        assert (code, out.splitlines()) == (0, [str(version)])
        totals = dict(
            line.split(maxsplit=1) for line in err.splitlines() if not line.endswith(" s")
        )
        assert totals["rows"].startswith("62 read; 1 removed by the filter; 1 removed for missing")
        assert totals["rows"].endswith("60 published")
        assert int(totals["groups"]) > 1
        assert totals["promise"].startswith(
            "ke-anonymity of wage: required e 10.5, k 3, reached e "
        )
        assert "; medians of 5 queries" in totals["accuracy"]
        assert totals["page"] == str(version / "index.html")
        assert "loss" not in totals

    def test_labels_tell_what_they_lose(self, release_with):
        columns = {
            "person": SPEC["columns"]["person"],
            "age": {
                "role": "quasi-identifier",
                "type": "integer",
                "hierarchy": {"intervals": [10]},
            },
            "town": {"role": "drop"},
            "note": {"role": "drop"},
            "wage": {**SPEC["columns"]["wage"], "unprotected": "a test"},
        }
        changes = {
            "columns": columns,
            "promises": [{"model": "k-anonymity", "k": 3}],
            "partition": {"method": "mondrian"},
            "form": {"method": "generalized"},
            "evaluate": {"workloads": []},
        }
        code, _, err = release_with(**changes)
        assert code == 0, err
        assert "% of a column's range on average (NCP)" in err

    def test_as_a_document(self, release_with, small):
        code, out, err = release_with("--json")
        document = json.loads(out)
        assert code == 0
        assert document["directory"] == str(small.folder / "public" / "wages" / "0001")
        assert document["rows"]["published"] == 60
        assert document["published"] is True
        assert "promise" not in err

    def test_of_a_candidate_that_waits(self, release_with):
        code, out, err = release_with(approval="required")
        assert code == 0
        assert "report/review.html" in err
        assert out.splitlines()[-1].split("/")[-1] != "0001"

    def test_nothing_of_a_value_is_told(self, release_with):
        _, _, err = release_with()
        assert not any(word in err for word in ("IDENT", "NOTE", "Bee", "Cé"))


def test_the_loss_of_labels_is_that_of_the_page():
    from sfumato.flows.life.version_summary import summarise_version

    summary = summarise_version(LABELS)
    assert summary.loss is not None
    page = (LABELS / "index.html").read_text(encoding="utf-8")
    share = float(summary.loss.split()[2])
    assert any(f"{share / 100:.{digits}f}"[:5] in page for digits in (3, 4))


def _hear_interrupts():
    """Accept interrupts: what runs these tests may ignore them, as a shell's background jobs do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_with_130_and_one_line():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        command = [*COMMAND, "check", f"http://127.0.0.1:{server.getsockname()[1]}/line/0001"]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, preexec_fn=_hear_interrupts
        ) as process:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)  # it asks for a file, and waits for an answer
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "sfumato: interrupted\n")


def test_a_pipe_is_no_file_of_queries(tmp_path):
    os.mkfifo(tmp_path / "queries.sql")
    command = [*COMMAND, "query", str(RELEASE), "--file", str(tmp_path / "queries.sql")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("queries.sql: cannot be read (is not a regular file)\n")


@pytest.mark.parametrize(("no_color", "coloured"), [("1", False), ("", True)])
def test_colours_are_left_out_where_nobody_wants_them(no_color, coloured):
    environ = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm-256color"}
    lines = RELEASE.parent
    command = [sys.executable, "-c", PROGRAM_OF_TERMINAL, "releases", str(lines)]
    main, end = pty.openpty()
    with subprocess.Popen(command, stdout=end, stderr=subprocess.DEVNULL, env=environ) as process:
        os.close(end)
        help_text = b"".join(_pieces(main))
        assert process.wait(timeout=60) == 0
    os.close(main)
    assert b"corpus-permuted" in help_text
    codes = [f"\x1b[{number}m".encode() for number in range(30, 38)]
    assert coloured or not any(code in help_text for code in codes)


def _pieces(descriptor):
    """Yield what a terminal shows, until nobody writes to it any more."""
    while True:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:
            return
        if not piece:
            return
        yield piece


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell):
    environ = {**os.environ, "_SFUMATO_COMPLETE": f"{shell}_source"}
    done = subprocess.run(COMMAND, env=environ, capture_output=True, text=True)
    assert "_SFUMATO_COMPLETE" in done.stdout
    words = {"COMP_WORDS": "sfumato wi", "COMP_CWORD": "1" if shell != "fish" else "wi"}
    environ = {**os.environ, **words, "_SFUMATO_COMPLETE": f"{shell}_complete"}
    done = subprocess.run(COMMAND, env=environ, capture_output=True, text=True)
    assert (done.returncode, "withdraw" in done.stdout) == (0, True)
