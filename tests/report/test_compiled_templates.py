"""Templates are compiled once for all processes, and again when they change."""

import sys

import pytest
from jinja2 import DictLoader, Environment, FileSystemLoader

from sfumato.expectations.machine.imports import compiled_templates
from sfumato.tasks.report.rendering import environment_of


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """The directory in which code is kept for this test, by a new process as it were."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    compiled_templates.cache_clear()
    templates = compiled_templates()
    templates.code.clear()
    templates.directory = str(tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    yield tmp_path / "cache"
    compiled_templates.cache_clear()


def render(folder, monkeypatch=None):
    """Render a template as another process would, which may not compile if so patched."""
    compiled_templates().code.clear()
    environment = environment_of(FileSystemLoader(folder))
    if monkeypatch is not None:
        monkeypatch.setattr(Environment, "compile", lambda *_: pytest.fail("compiled again"))
    return environment.get_template("page.j2").render(name="<b>")


def test_another_process_does_not_compile_again(cache_folder, tmp_path, monkeypatch):
    (tmp_path / "page.j2").write_text("Hello {{ name }}", encoding="utf-8")
    first = render(tmp_path)
    assert len([*cache_folder.glob("template-*.pyc")]) == 1
    assert render(tmp_path, monkeypatch) == first == "Hello &lt;b&gt;"


def test_a_changed_template_is_compiled_again(cache_folder, tmp_path):
    (tmp_path / "page.j2").write_text("Hello {{ name }}", encoding="utf-8")
    render(tmp_path)
    (tmp_path / "page.j2").write_text("Bye {{ name }}", encoding="utf-8")
    assert render(tmp_path) == "Bye &lt;b&gt;"


@pytest.mark.parametrize("state", ["missing", "damaged", "turned off"])
def test_pages_are_made_without_kept_code(cache_folder, tmp_path, state, monkeypatch):
    (tmp_path / "page.j2").write_text("Hello {{ name }}", encoding="utf-8")
    if state == "damaged":
        render(tmp_path)
        for path in cache_folder.glob("*"):
            path.write_bytes(b"no code")
    elif state == "turned off":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        cache_folder.rmdir()
    assert render(tmp_path) == "Hello &lt;b&gt;"
    assert state == "damaged" or not [*tmp_path.glob("cache/*")]


def test_a_process_compiles_a_template_once(cache_folder, monkeypatch):
    environments = [environment_of(DictLoader({"page.j2": "{{ 1 + 1 }}"})) for _ in range(2)]
    assert environments[0].get_template("page.j2").render() == "2"
    monkeypatch.setattr(Environment, "compile", lambda *_: pytest.fail("compiled again"))
    assert environments[1].get_template("page.j2").render() == "2"
