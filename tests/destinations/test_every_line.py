"""Copies of lines of every form and format, signed ones, composed ones, and in parts."""

import pytest

from sfumato.flows.cli.main import run
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.lines.line import Line
from sfumato.tasks.private.workdir import private_directory
from tests.corpus.lines import FORMATS, frozen_lines
from tests.destinations.places import bring
from tests.parts.divided import Divided, visits

KINDS = ["store", pytest.param("database", marks=pytest.mark.postgres)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", frozen_lines(), ids=lambda line: f"{line.folder.name}-{line.form}")
def test_frozen_lines(line, kind, tmp_path, request):
    place, copy = request.getfixturevalue(kind), line.copy(tmp_path)
    frozen = Line(copy.name, copy.public, private_directory(copy.private))
    assert bring(frozen, place).behind is None
    place.require_as(frozen)
    if kind == "store" and line.folder.name == FORMATS[-1]:
        downloaded = place.download(tmp_path / "download") / copy.name
        assert run(["check", str(downloaded / "0002")]) == 0  # others: tests/reader


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_in_parts(kind, tmp_path, monkeypatch, request):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    divided = Divided(tmp_path / "line").write(visits())
    divided.publish("one")
    line, place = resolve_run(divided.spec).line, request.getfixturevalue(kind)
    assert bring(line, place).behind is None
    if kind == "store":
        place.require_as(line)
        downloaded = place.download(tmp_path / "download") / "visits"
        assert run(["check", str(downloaded / "0001")]) == 0
    else:
        assert place.ask("SELECT COUNT(*) FROM visits.microdata") == [(600,)]
