"""Too little memory: commands say how much was asked for, as far as is known, and what to do."""

import os
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from sqlglot import parse_one

from sfumato.expectations.machine.fault import explain
from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.sql.session import fetch_table
from tests.fork_server import ROOT

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]
HUGE = 1 << 62


def arrow():
    pa.allocate_buffer(HUGE)


def numpy():
    np.empty(HUGE // 8, dtype=np.int64)


def plain():
    raise MemoryError


@pytest.mark.parametrize(("allocate", "size"), [(arrow, "EB"), (numpy, "TB"), (plain, None)])
def test_the_size_is_said_where_it_is_known(allocate, size):
    with pytest.raises(Fault) as caught, sanitise_errors("anonymize"):
        allocate()
    reason, *ways_out = str(caught.value).splitlines()
    assert reason.startswith("anonymize: out of memory")
    assert ("were needed at once" in reason) == (size is not None)
    assert any("parts: {rows:" in way for way in ways_out)
    assert any("--processes 1" in way for way in ways_out)


@pytest.mark.parametrize(
    ("error", "kind"), [(duckdb.OutOfMemoryException, Fault), (duckdb.BinderException, QueryError)]
)
def test_a_query_without_memory_is_no_wrong_query(error, kind):
    class Connection:
        def sql(self, _):
            raise error("CANARY")

    with pytest.raises(kind) as caught:
        fetch_table(Connection(), parse_one("SELECT 1"))
    assert "CANARY" not in str(caught.value)


def test_duckdbs_words_have_a_size():
    text = "Out of Memory Error: failed to allocate data of size 1.5 GiB (CANARY used)"
    fault = explain(duckdb.OutOfMemoryException(text))
    assert fault.reason.startswith("out of memory: 1.6 GB were needed at once")
    assert "CANARY" not in str(fault.error())


def test_a_killed_worker_is_said_in_words():
    fault = explain(BrokenProcessPool("A process in the process pool was terminated abruptly"))
    assert fault.kind is Fault
    assert fault.reason.startswith("a worker process was killed")
    assert fault.remedies[0] == "let fewer processes work at once (sfumato compare --processes 1)"


def test_no_file_is_blamed_for_too_little_memory(tmp_path, monkeypatch):
    from sfumato.tasks.microdata import inferred_table

    def fail(*_):
        raise pa.ArrowMemoryError("malloc of size 4096 failed")

    monkeypatch.setattr(inferred_table, "_table", fail)
    with pytest.raises(Fault, match=r"^out of memory: 4.1 kB were needed at once"):
        read_inferred(str(tmp_path / "people.csv"), ["age"], Written())


def test_a_command_with_a_limit_says_it(tmp_path):
    """The table takes more than the limit lets a process have beside its libraries."""
    table = tmp_path / "people.csv"
    with table.open("w") as file:
        file.write("age,town\n")
        file.writelines(f"{n % 90},town of number {n}\n" for n in range(600_000))
    code = (
        "import io, resource, sys\n"
        "from pathlib import Path\n"
        "import sfumato.flows.cli.main as main, sfumato.flows.cli.analyst.measure\n"
        "import sfumato.tasks.stages.measure, pyarrow.csv, pyarrow.compute\n"
        "first = io.BytesIO(Path(sys.argv[2]).read_bytes()[: 4 << 20])\n"
        "pyarrow.csv.read_csv(first)  # starts the threads, whose stacks count as well\n"
        "pages = int(Path('/proc/self/statm').read_text().split()[0])\n"
        "limit = pages * resource.getpagesize() + 48_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "main.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "measure", str(table), "--qi", "age,town"],
        cwd=ROOT,
        env={**os.environ, "SFUMATO_WORK": str(tmp_path / "work")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert "sfumato: out of memory" in done.stderr
    assert "this process may use" in done.stderr
    assert "ulimit -v unlimited" in done.stderr
