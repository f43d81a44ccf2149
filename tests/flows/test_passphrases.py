"""Passphrases in Prefect Secret blocks: read by the flow, through a server, and shown nowhere."""

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.tasks.private.keys import PASSPHRASE as KEY
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.terms.opened import SIGNATURE
from sfumato.tasks.verification.signing_keys import PASSPHRASE as SIGNING
from sfumato.tasks.verification.signing_keys import open_signer
from tests.flows.test_worker import deployment, readings
from tests.release.small import SPEC, Small, people

KEY_SECRET, SIGNING_SECRET = "battery-staple-of-the-line", "correct-horse-of-the-signer"
SIGNED = {"publish": {**SPEC["publish"], "signed-by": "town"}}
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def blocks(prefect_api):
    """Blocks on the run's server, by the variables that name them."""
    from tests.prefect_server import save_secret

    save_secret("line-passphrase", KEY_SECRET)
    save_secret("signing-passphrase", SIGNING_SECRET)
    save_secret("no-text", {"not": "a text"})
    return {f"{KEY}_BLOCK": "line-passphrase", f"{SIGNING}_BLOCK": "signing-passphrase"}


@pytest.fixture(scope="module")
def ran(blocks, prefect_api, tmp_path_factory):
    """A signed line whose deployment names the blocks, run on a worker that has no passphrase."""
    from tests.prefect_server import Deployed, run_on_worker

    folder = tmp_path_factory.mktemp("passphrases")
    line = Small(folder / "line").write(people(), **SIGNED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "private"))
        patch.setenv(SIGNING, SIGNING_SECRET)
        assert run(["keys", "generate", "town"]) == 0
    entrypoint, parameters = deployment()["entrypoint"], {"spec": str(line.spec)}
    deployed = Deployed(entrypoint, parameters, folder / "private", blocks)
    return folder, *run_on_worker(prefect_api, folder, {"signed": deployed})


def test_a_worker_signs_and_wraps_with_passphrases_in_blocks(ran):
    folder, states, worker_log = ran
    assert states["signed"] == "COMPLETED", worker_log
    assert (folder / "line" / "public" / "wages" / "0001" / SIGNATURE).is_file()
    assert len(line_key(folder / "private" / "wages", {KEY: KEY_SECRET})) == 32
    with pytest.raises(InputError, match="is encrypted"):
        line_key(folder / "private" / "wages", {})


def test_the_passphrases_are_shown_nowhere(ran, prefect_api):
    """Not in the database (Prefect encrypts blocks), a log, a parameter, a state, a file."""
    from tests.flows.test_release_flow import stored_texts
    from tests.prefect_server import database

    folder, _, worker_log = ran
    paths = [path for path in folder.rglob("*") if path.is_file()]
    paths += [path for path in database().parent.rglob("*") if path.is_file()]
    assert database() in paths
    for secret in (KEY_SECRET, SIGNING_SECRET):
        assert secret not in worker_log
        assert secret not in stored_texts(prefect_api)
        paths_found = [
            path for path in paths for r in readings(path.read_bytes()) if secret.encode() in r
        ]
        assert paths_found == []


@pytest.fixture
def reader(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.delenv(SIGNING, raising=False)
    monkeypatch.delenv(KEY, raising=False)
    return tmp_path / "work" / "keys" / "town"


def test_commands_read_the_block_too(reader, blocks, monkeypatch, capsys):
    for variable, name in blocks.items():
        monkeypatch.setenv(variable, name)
    assert run(["keys", "generate", "town"]) == 0
    assert open_signer(reader, {SIGNING: SIGNING_SECRET}).key.name == "town"
    with pytest.raises(InputError, match="is encrypted"):
        open_signer(reader, {})
    output = capsys.readouterr()
    assert SIGNING_SECRET not in output.out + output.err


@pytest.mark.parametrize(
    ("name", "words"),
    [("gone", "Prefect has no Secret block of that name"), ("no-text", "contains no text")],
)
def test_a_block_that_is_none_is_told_in_one_line(reader, blocks, monkeypatch, capsys, name, words):
    monkeypatch.setenv(f"{SIGNING}_BLOCK", name)
    assert run(["keys", "generate", "town"]) == 2
    error = capsys.readouterr().err
    assert (words in error, len(error.splitlines())) == (True, 1)
    assert not reader.exists()


def test_a_passphrase_is_given_in_one_way():
    environ = {SIGNING: "x", f"{SIGNING}_BLOCK": "y"}
    with pytest.raises(InputError, match="Keep one"), passphrases(environ):
        pass


def test_a_missing_passphrase_says_both_ways(reader, monkeypatch, capsys):
    monkeypatch.setenv(SIGNING, "x")
    assert run(["keys", "generate", "town"]) == 0
    monkeypatch.delenv(SIGNING)
    with pytest.raises(InputError, match=f"Set {SIGNING} .*or {SIGNING}_BLOCK"):
        open_signer(reader, {})
