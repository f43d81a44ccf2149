"""A reader on systems that have no POSIX calls, other ends of lines and another encoding."""

import ast
import json
import os
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.corpus.lines import FORMATS, frozen_lines
from tests.house.survey import ROOT, sources
from tests.reader.environment import make

pytestmark = pytest.mark.packaging
LATEST = {line.form: line for line in frozen_lines() if line.folder.name in FORMATS}
QUERY = "SELECT COUNT(*) AS n FROM microdata"
OF_TWO_TABLES = "SELECT COUNT(*) AS n FROM people_of_adult JOIN stays USING (person)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run `sfumato` in a reader's environment that acts another system."""
    folder = tmp_path_factory.mktemp("other")
    make(folder / "environment", "sfumato")
    (place,) = (folder / "environment" / "lib").glob("*/site-packages")
    shutil.copy(ROOT / "tests" / "reader" / "other_system.py", place)
    (place / "a_first.pth").write_text("import other_system\n", encoding="utf-8")
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("SFUMATO_")
    }
    environ = {**variables, "HOME": str(folder), "PYTHONIOENCODING": "cp1252"}

    def finish(*arguments):
        command = [str(folder / "environment" / "bin" / "sfumato"), *arguments]
        return subprocess.run(command, env=environ, cwd=folder, capture_output=True, timeout=240)

    return finish


@pytest.mark.parametrize("form", sorted(LATEST))
def test_a_release_of_each_form_is_checked_and_asked(run, form):
    for number in ("0001", "0002"):
        release = str(LATEST[form].public / number)
        checked = run("check", release)
        assert checked.returncode == 0, checked.stderr.decode()
    query = OF_TWO_TABLES if form == "apart" else QUERY
    answer = run("query", release, query, "--json", "--check")
    assert answer.returncode == 0, answer.stderr.decode()
    assert json.loads(answer.stdout)["verified"] is True


def test_versions_are_compared_and_files_filled(run, tmp_path):
    line = LATEST["permuted"].public
    compared = run("diff", str(line / "0001"), str(line / "0002"))
    assert compared.returncode == 0, compared.stderr.decode()
    for url in (f"duckdb:///{tmp_path}/filled.db", f"sqlite:///{tmp_path}/filled.sqlite"):
        filled = run("load", str(line / "0001"), url)
        assert filled.returncode == 0, filled.stderr.decode()


def test_a_release_is_copied_from_a_server(run):
    handler = partial(SimpleHTTPRequestHandler, directory=LATEST["permuted"].public)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        checked = run("check", f"http://127.0.0.1:{server.server_port}/0002/")
        server.shutdown()
    assert checked.returncode == 0, checked.stderr.decode()


def test_an_altered_release_is_refused(run, tmp_path):
    altered = tmp_path / "0001"
    shutil.copytree(LATEST["permuted"].public / "0001", altered)
    with (altered / "validation.json").open("ab") as file:
        file.write(b" ")
    checked = run("check", str(altered))
    assert (checked.returncode, checked.stdout) == (3, b"")


def test_texts_are_utf8_in_every_file_and_pipe(run):
    printed = run("query", str(LATEST["permuted"].public / "0001"), QUERY)
    assert printed.returncode == 0
    assert "│" in printed.stdout.decode("utf-8")


def test_a_remembered_check_is_not_believed(run):
    """Nobody can ask there who wrote the record of an earlier check."""
    release = str(LATEST["permuted"].public / "0001")
    assert run("check", release).returncode == 0
    assert json.loads(run("query", release, QUERY, "--json").stdout)["verified"] is False


def test_texts_are_written_with_ends_of_lines_of_their_own():
    """Windows would change them: each text file says which it has, and its encoding."""
    missing = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _writes_text(node):
                named = {keyword.arg for keyword in node.keywords}
                if not {"encoding", "newline"} <= named:
                    missing.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert missing == []


def _writes_text(call):
    """Decide whether a call writes a text file: by its name, and by the mode that it gives."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "write_text":
        return not ast.unparse(call.func).startswith("formatter.")  # of click
    modes = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return name in ("open", "fdopen") and any(mode in ("w", "a", "x", "wt", "at") for mode in modes)
