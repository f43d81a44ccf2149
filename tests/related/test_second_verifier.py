"""Both verifiers hold two related tables to what their manifest states of them."""

import json
import subprocess
from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.publication.check import check
from tests.flow_here import release_here
from tests.related.hospital import patients, spec_with, stays, toy
from tests.release.forge import edit

VERIFY = Path(__file__).parents[2] / "deployments" / "verifier" / "verify.mjs"
EASY = [
    {"model": "people", "k": 1},
    {"model": "related-l-diversity", "l": 1, "sensitive": "diagnosis", "numbers": "hidden"},
]
pytestmark = pytest.mark.node


def verify_again(release):
    command = ["node", str(VERIFY), str(release), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


@pytest.mark.parametrize("most", [3, 2])
def test_nobody_has_more_rows_than_is_stated(most, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    both = {"patients": patients(), "stays": stays(maximum={"at-most": 3, "else": "leave-out"})}
    release = release_here(spec_with(tmp_path, toy(), promises=EASY, tables=both))
    edit(release, lambda document: document["sfumato"]["form"].update(cap=most))
    answer = verify_again(release)
    if most == 3:
        check(release)
        assert answer["verdict"] == "valid", answer
        return
    with pytest.raises(PromiseError, match=r"form\.cap is 2"):
        check(release)
    assert answer["verdict"] == "refused"
    assert "tables-disagree" in json.dumps(answer)
