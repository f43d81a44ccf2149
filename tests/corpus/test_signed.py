"""Signatures that earlier versions made are those of the keys that they published."""

import pytest

from sfumato.flows.cli.main import run
from tests.corpus.lines import VERSIONS, frozen_lines

SIGNED = [line for line in frozen_lines() if (line.public / "keys.json").exists()]


@pytest.mark.parametrize("line", SIGNED, ids=lambda line: f"{line.folder.name}-{line.form}")
def test_signed_versions_are_signed_by_the_key_beside_them(line, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert run(["keys", "trust", str(line.public)]) == 0
    for number in VERSIONS:
        assert run(["check", str(line.public / number)]) == 0
        assert "signed by corpus" in capsys.readouterr().out
