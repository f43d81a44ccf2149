"""The shipped specs give, of a seeded draw, the very files that they always gave."""

import hashlib
import json
from pathlib import Path

import pytest

from sfumato.tasks.microdata.randomness import seeded_keys
from tests.corpus.lines import CORPUS
from tests.lines import prepare

SPECS = sorted((Path(__file__).parents[2] / "deployments" / "releases").glob("*.yaml"))
DIGESTS = CORPUS / "shipped.json"


def drawn_digests(spec: Path, run: Path) -> dict[str, str]:
    """The SHA-256 of every data file of a seeded candidate."""
    prepare(spec, run, seeded_keys(20260101))
    files = sorted((run / "candidate" / "release" / "data").iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize("spec", SPECS, ids=[spec.stem for spec in SPECS])
def test_a_seeded_draw_has_not_changed(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    assert drawn_digests(spec, tmp_path / "run") == json.loads(DIGESTS.read_text())[spec.stem]
