"""The units of tests that workers are given."""

from tests.fork_server import ROOT
from tests.units import LONG


def test_every_file_that_is_named_is_there():
    assert [file for file in LONG if not (ROOT / file).is_file()] == []
