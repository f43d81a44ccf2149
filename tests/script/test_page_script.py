"""The script of pages as one text: what it contains, its types, and its units in Node."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sfumato.tasks.publication.compared_pages import SCRIPTS, WRONG_SCRIPTS
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.report import rendering
from sfumato.tasks.report.rendering import page_script, script_sha256

pytestmark = pytest.mark.node
MODULES = Path(rendering.__file__).with_name("script")
UNITS = Path(__file__).with_name("units.test.mjs")
BUNDLE = MODULES / "vendor" / "parquet.js"
MOST_BYTES = 80_000
OF_FACTS = 9_000
"""What a page of two tables with facts has in addition: the engine of people alone."""


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


ENTERED = {*WAYS, "facts"}
SCRIPTS_OF_PAGES = [(shows, fetched) for shows in sorted(ENTERED) for fetched in (False, True)]


@pytest.mark.parametrize(("shows", "fetched"), SCRIPTS_OF_PAGES)
def test_a_script_is_one_that_check_knows(shows, fetched):
    digest = script_sha256(shows, fetched=fetched)
    assert SCRIPTS.get(digest) == shows + (", fetched" if fetched else ""), f"add {digest}"


def test_scripts_that_answer_wrongly_are_known_ones():
    assert set(WRONG_SCRIPTS) <= set(SCRIPTS)


@pytest.mark.parametrize(("shows", "fetched"), SCRIPTS_OF_PAGES)
def test_a_script_is_small_whole_and_plain(shows, fetched, tmp_path):
    script = page_script(shows, fetched=fetched)
    most = MOST_BYTES + (OF_FACTS if shows == "facts" else 0)
    assert len(script.encode()) <= most + fetched * (BUNDLE.stat().st_size + 8_000)
    file = tmp_path / "script.js"
    file.write_text(script, encoding="utf-8")
    checked = run("node", "--check", file)
    assert checked.returncode == 0, checked.stderr
    if fetched:
        text = (BUNDLE.parent / "LICENSES").read_text(encoding="utf-8")
        licences = re.sub(r"\n\s*", "\n", f"/*\n{text}*/\n")
        assert licences in script
        script = script.replace(licences, "")
    assert not re.search(r"/\*|^import |^export |\n\s*\n|</script|<!--", script, re.MULTILINE)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.style\b",
        script,
    )
    addresses = re.findall(r"\bfetch\(new URL\(([^,]*)", script)
    requested = [re.sub(r"^\w+$", "a variable", address) for address in addresses]
    assert sorted(requested) == ['"../releases.json"', *(["a variable"] if fetched else [])]
    assert script.count("fetch(") == len(addresses)
    assert not re.search(r"XMLHttpRequest|WebSocket|sendBeacon|\bimport\(", script)
    assert set(re.findall(r"https?://[^\"]*", script)) == {"http://www.w3.org/2000/svg"}


def test_every_module_is_in_a_script():
    names = {path.stem for path in MODULES.glob("*.js")} - {"page"}
    imported = set(
        re.findall(r'from "\./([a-z]+)\.js"', "".join(p.read_text() for p in MODULES.glob("*.js")))
    )
    assert names == ENTERED | imported | {"fetched"}


def test_no_two_modules_declare_the_same_name():
    """A script is one scope, in which a second function of a name would replace the first."""
    declared = re.compile(
        r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE
    )
    names = [name for path in MODULES.glob("*.js") for name in declared.findall(path.read_text())]
    assert sorted(names) == sorted(set(names))


def test_the_bundle_of_others_modules_is_the_one_that_is_described():
    described = (BUNDLE.parent / "LICENSES").read_text(encoding="utf-8")
    assert hashlib.sha256(BUNDLE.read_bytes()).hexdigest() in described
    for name, version in json.loads((BUNDLE.parent / "package.json").read_text())[
        "dependencies"
    ].items():
        assert f"{name} {version}" in described


def test_the_bundle_is_what_its_packages_give(tmp_path):
    for file in ("entry.js", "package.json"):
        shutil.copy(BUNDLE.parent / file, tmp_path)
    installed = subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if installed.returncode:
        pytest.xfail("the packages cannot be fetched here")
    subprocess.run(["npm", "run", "--silent", "build"], cwd=tmp_path, check=True)
    assert (tmp_path / "parquet.js").read_bytes() == BUNDLE.read_bytes()


@pytest.mark.parametrize(("shows", "fetched"), SCRIPTS_OF_PAGES)
def test_a_short_script_is_the_same_to_a_parser(shows, fetched, tmp_path, monkeypatch):
    if (parser := typescript()) is None:
        pytest.skip("there is no TypeScript")
    monkeypatch.setattr(rendering, "_within_function", others_named)
    small = rendering.make_script(shows, fetched=fetched)
    monkeypatch.setattr(rendering, "minify", lambda script: script)
    monkeypatch.setattr(rendering, "shorten_names", lambda scripts, foreign: list(scripts))
    long = rendering.make_script(shows, fetched=fetched)
    assert len(small) < 0.65 * len(long)
    files = [tmp_path / "small.js", tmp_path / "long.js"]
    for file, text in zip(files, (small, long), strict=True):
        file.write_text(text, encoding="utf-8")
    compared = run("node", UNITS.with_name("same_syntax.cjs"), parser, *files)
    assert compared.returncode == 0, compared.stdout + compared.stderr


def others_named(file):
    """The names of others' modules, whose own ones are within a function."""
    return f"const {{ {', '.join(name for _, name in rendering._exports(file))} }} = VENDOR;\n"


def typescript():
    """Return TypeScript's parser, or None."""
    compiler = shutil.which("tsc")
    library = Path(compiler or "").resolve().parent.parent / "lib" / "typescript.js"
    return library if compiler and library.is_file() else None


def test_types_agree():
    if shutil.which("tsc") is None:
        pytest.skip("there is no TypeScript")
    checked = run("tsc", "--project", MODULES)
    assert checked.returncode == 0, checked.stdout


def test_units_pass_in_node():
    passed = run("node", "--test", "--test-reporter=tap", UNITS)
    assert passed.returncode == 0, passed.stdout[-3000:]
    assert "# pass 25" in passed.stdout
