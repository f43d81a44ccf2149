"""Every file is opened through one reader: no other module opens a path for reading."""

import re

from tests.house.survey import ROOT, sources

_OPENS = re.compile(
    r'\.read_bytes\(|\.read_text\(|\.open\("r|\bos\.open\(|(?<![\w.])open\([a-z_]+[,)]'
)
_EXEMPT = {
    "tasks/schema/files.py": "the reader",
    "tasks/private/durable.py": "opens to write, to lock, and directories to sync them",
    "flows/api/frames.py": "opens to write",
}


def _opening(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if _OPENS.search(line) and "def open(" not in line]


def test_no_module_but_the_reader_opens_a_path():
    found = {str(path.relative_to(ROOT)) for path in sources() if _opening(path)}
    assert found - _EXEMPT.keys() == set()
