"""Microdata in stages can be encrypted with a key that lives as long as their run."""

import os

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import Fault, SpecError
from sfumato.tasks.arrays import at_rest
from sfumato.tasks.arrays.at_rest import encrypted_below, read_stage_table, write_stage_table
from sfumato.tasks.microdata.table import Microdata, encode, load, save
from tests.flow_here import release_here
from tests.release.small import people

CANARY = "CANARYtown"


@pytest.fixture
def microdata():
    towns = encode("town", "quasi-identifier", pa.array([CANARY, "b", None, CANARY]))
    return Microdata((towns,), 4)


def content(directory):
    return b"".join(path.read_bytes() for path in directory.iterdir())


def test_what_was_saved_is_loaded(microdata, tmp_path):
    with encrypted_below(tmp_path):
        save(microdata, tmp_path)
        again = load(tmp_path)
    assert again.table().equals(microdata.table())
    assert CANARY.encode() not in content(tmp_path)


def test_without_a_key_it_is_plain(microdata, tmp_path):
    save(microdata, tmp_path)
    assert CANARY.encode() in content(tmp_path)


def test_another_run_cannot_read_it(microdata, tmp_path):
    with encrypted_below(tmp_path):
        save(microdata, tmp_path)
    with encrypted_below(tmp_path), pytest.raises(Fault, match="is not as this run encrypted it"):
        load(tmp_path)
    with pytest.raises(pa.ArrowInvalid):
        load(tmp_path)


def test_every_file_has_nonces_of_its_own(microdata, tmp_path):
    with encrypted_below(tmp_path):
        save(microdata, tmp_path)
        first = (tmp_path / "values.parquet").read_bytes()
        save(microdata, tmp_path)
        assert (tmp_path / "values.parquet").read_bytes()[:12] != first[:12]


@pytest.mark.parametrize("size", [0, 1, 5, 64, 128, 129])
def test_pieces_are_bound_to_their_places(tmp_path, monkeypatch, size):
    monkeypatch.setattr(at_rest, "_PIECE", 64)
    table = pa.table({"x": np.frombuffer(os.urandom(8 * size), dtype=np.int64)})
    path = tmp_path / "table"
    with encrypted_below(tmp_path):
        write_stage_table(table, path)
        assert read_stage_table(path).equals(table)
        whole, piece = path.read_bytes(), 64 + 12 + 16
        for damaged in (
            whole[:-1],
            whole[piece:],
            whole[: (len(whole) - 1) // piece * piece],
            whole[piece : 2 * piece] + whole[:piece] + whole[2 * piece :],
            bytes([whole[0] ^ 1]) + whole[1:],
        ):
            path.write_bytes(damaged)
            with pytest.raises((Fault, pa.ArrowInvalid)):
                read_stage_table(path)


def test_a_killed_run_leaves_nothing_readable(small, monkeypatch):
    """The flow with `stages: encrypted`, looked at where it would publish."""
    from sfumato.flows.runs import releasing as flow

    seen = []

    def look(_candidate, deidentified, *_rest, **_named):
        run = deidentified.parent
        stages = [path for path in run.rglob("*") if run / "candidate" not in path.parents]
        seen.extend(path.read_bytes() for path in stages if path.is_file())
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(flow, "publish", look)
        for stages in ("plain", "encrypted"):
            small.write([{**row, "town": CANARY} for row in people()], stages=stages)
            seen.clear()
            with pytest.raises(KeyboardInterrupt):
                release_here(small.spec)
            assert any(CANARY.encode() in raw for raw in seen) == (stages == "plain")
    assert release_here(small.spec).name == "0001"


@pytest.mark.parametrize("other", [{"retain": 2}, {"approval": "required"}])
def test_what_needs_stages_later_refuses_encrypted_ones(small, other):
    with pytest.raises(SpecError, match=f"{next(iter(other))}: needs stages that a later run"):
        small.write(people(), stages="encrypted", **other).plan()
