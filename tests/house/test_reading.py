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
    "expectations/machine/system.py": "opens directories to sync them",
    "expectations/machine/prefect_in_use.py": "reads Prefect's settings, below the reader",
    "expectations/machine/imports.py": "keeps texts beside byte code, below the reader",
    "expectations/machine/memory.py": "reads what the system has of memory, below the reader",
}


_LIBRARIES = re.compile(
    r"(pq\.(ParquetFile|read_\w+)|np\.(load|fromfile|memmap)|csv\.(read|open)_csv)"
    r"\((?!\s*(regular\(|pa\.BufferReader\())"
)
_OWN = {  # files that a run of ours wrote in its own private directory, which nobody else may open
    "tasks/arrays/at_rest.py": "stages",
    "tasks/candidates/remember.py": "the names of a stage",
    "tasks/choose/draft.py": "a stage",
    "tasks/experiments/shared/adult.py": "the one data set that comes along",
    "tasks/microdata/inferred_table.py": "files that `source_files` listed, and open files",
    "tasks/microdata/readers/delimited.py": "open files",
    "tasks/microdata/readers/fixed_width.py": "open files",
    "tasks/parts/continued.py": "a stage",
    "tasks/parts/cuts.py": "a stage",
    "tasks/parts/identity.py": "scratch files",
    "tasks/parts/original.py": "a stage",
    "tasks/parts/strata.py": "a stage",
    "tasks/private/people/maps_of_parts.py": "scratch files",
    "tasks/stages/deidentify.py": "a stage",
    "tasks/stages/validate.py": "a stage",
    "tasks/choose/trial.py": "a stage",
}


def _opening(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if _OPENS.search(line) and "def open(" not in line]


def test_no_module_but_the_reader_opens_a_path():
    readers = {str(path.relative_to(ROOT)) for path in sources() if _opening(path)}
    assert readers - _EXEMPT.keys() == set()


def test_what_libraries_open_is_a_regular_file():
    """Arrow and NumPy open paths by themselves, and would wait for whatever lies there."""
    readers = {
        str(path.relative_to(ROOT))
        for path in sources()
        if _LIBRARIES.search(path.read_text(encoding="utf-8"))
    }
    assert readers == _OWN.keys()
