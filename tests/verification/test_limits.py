"""Tables that grow when they are read are refused before they are read."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.cli.main import run
from sfumato.tasks.verification import limits
from sfumato.tasks.verification import limits as pages
from sfumato.tasks.verification.limits import Extent, ReadLimits, extent_within, read_limits
from tests.release.forge import reseal

RANDOM = np.random.default_rng(5)
PLAIN = {
    "integer": pa.array(RANDOM.integers(0, 9, 5000)),
    "text": pa.array(RANDOM.choice(["a", "bé", None], 5000)),
    "decimal": pa.array(RANDOM.integers(0, 99, 5000)).cast(pa.decimal128(38, 2)),
    "true": pa.array(RANDOM.random(5000) < 0.1),
    "many": pa.array([str(n) for n in RANDOM.random(5000)]),
}


def repeated_text(path, rows=150_000, width=40_000):
    """One text that every row repeats: 700 bytes, of which 6 GB are made."""
    codes = pa.array(np.zeros(rows, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * width]))
    pq.write_table(pa.table({"a": column}), path, compression="zstd", store_schema=False)


def repeated_number(path):
    """One number that five million rows repeat: hundreds of bytes, of which 40 MB are made."""
    pq.write_table(pa.table({"a": np.zeros(5_000_000, np.int64)}), path, compression="zstd")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def test_the_extent_of_plain_tables(folder):
    for compression in ("zstd", "none", "snappy"):
        for version in ("1.0", "2.0"):
            path = folder / f"{compression}-{version}.parquet"
            pq.write_table(
                pa.table(PLAIN),
                path,
                compression=compression,
                data_page_version=version,
                row_group_size=1700,
                data_page_size=1000,
            )
    pq.write_table(pa.table({"none": pa.array([], pa.string())}), folder / "none.parquet")
    assert extent_within(folder, ReadLimits()) == Extent(5000, len(PLAIN), 0)


def test_no_tables_have_no_extent(folder):
    assert extent_within(folder, ReadLimits()) == Extent()


@pytest.mark.parametrize("make", [repeated_text, repeated_number])
def test_what_grows_too_much(folder, make, monkeypatch):
    monkeypatch.setattr(limits, "_SMALL", 1 << 25)
    path = folder / "bomb.parquet"
    make(path)
    with pytest.raises(
        InputError, match=r"bomb\.parquet: needs at least \d+ bytes.*--limit expansion="
    ):
        extent_within(folder, ReadLimits())


def test_the_limit_that_is_named_reads_it(folder, monkeypatch):
    monkeypatch.setattr(limits, "_SMALL", 1 << 25)
    repeated_text(folder / "bomb.parquet", rows=10_000)
    extent = extent_within(folder, ReadLimits(expansion=10**9))
    size = (folder / "bomb.parquet").stat().st_size
    assert extent.expansion == pytest.approx(10_000 * 40_004 / size, rel=0.1)
    with pytest.raises(InputError, match="bytes in memory"):
        extent_within(folder, ReadLimits(expansion=extent.expansion // 2))
    assert extent_within(folder, ReadLimits(expansion=extent.expansion)) == extent


@pytest.mark.parametrize(
    ("most", "rule"),
    [
        (ReadLimits(rows=4999), "has 5000 rows, but the limit is 4999"),
        (ReadLimits(columns=4), "has 5 columns, but the limit is 4"),
    ],
)
def test_rows_and_columns(folder, most, rule):
    pq.write_table(pa.table(PLAIN), folder / "x.parquet")
    with pytest.raises(InputError, match=rule):
        extent_within(folder, most)


def test_little_is_never_too_much(folder):
    """Sorted labels compress a hundredfold."""
    repeated_number(folder / "x.parquet")
    assert extent_within(folder, ReadLimits()) == Extent(5_000_000, 1, 0)


def change_bytes(path, change):
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)


def test_no_parquet_file_is_read_by_its_footer(folder):
    (folder / "x.parquet").write_bytes(b"PAR1" + b"\0" * 50 + b"PAR1")
    with pytest.raises(PromiseError, match=r"x\.parquet: cannot be read"):
        extent_within(folder, ReadLimits())


def test_pages_that_state_other_sizes_than_the_footer(folder):
    """A reader makes room for what the header of a page states."""
    path = folder / "x.parquet"
    pq.write_table(pa.table({"a": RANDOM.integers(0, 2**60, 1000)}), path, use_dictionary=False)
    assert extent_within(folder, ReadLimits())
    start = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    refused = 0
    for position in range(start, start + 12):
        original = path.read_bytes()
        change_bytes(
            path,
            lambda content, position=position: content.__setitem__(
                position, content[position] ^ 0x7F
            ),
        )
        try:
            extent_within(folder, ReadLimits())
        except PromiseError:
            refused += 1
        path.write_bytes(original)
    assert refused >= 9


def test_a_page_of_negative_size_is_not_walked_for_ever(folder, monkeypatch):
    """One that leads back to itself would be."""
    path, walked = folder / "x.parquet", []
    pq.write_table(pa.table({"a": [1, 2]}), path)

    def back(content, position):
        walked.append(position)
        assert len(walked) < 9
        return {2: 10, 3: -5}, 5

    monkeypatch.setattr(pages, "_read_struct", back)
    with pytest.raises(PromiseError, match=r"x\.parquet: cannot be read"):
        extent_within(folder, ReadLimits())
    assert len(walked) == 1


def test_fields_of_a_header_are_read_or_passed_by_by_their_kind():
    """Thrift's compact protocol: kind and distance in a byte, then the value."""
    fields = [b"\x11", b"\x12", b"\x13\x7f", b"\x15\x04", b"\x17" + bytes(8), b"\x18\x02ab"]
    header = b"".join(fields) + b"\x1c" + b"\x15\x06\x00" + b"\x16\x08\x00"
    expected = {1: True, 2: False, 3: None, 4: 2, 5: None, 6: None, 7: {1: 3}, 8: 4}
    assert pages._read_struct(header + b"rest", 0) == (expected, len(header))


@pytest.mark.parametrize(
    ("rows", "groups", "values"), [(9, [5, 5], 5), (4, [5, -1], 5), (10, [5, 5], 6)]
)
def test_footers_that_contradict_themselves(rows, groups, values):
    chunk, column = SimpleNamespace(num_values=values), SimpleNamespace()
    footer = SimpleNamespace(
        num_rows=rows,
        num_columns=1,
        num_row_groups=len(groups),
        row_group=lambda number: SimpleNamespace(num_rows=groups[number], column=lambda _: chunk),
        schema=SimpleNamespace(column=lambda _: column),
    )
    with pytest.raises(PromiseError, match="contradicts itself"):
        limits._require_consistent(Path("x.parquet"), footer)


@pytest.mark.parametrize("text", ["row=1", "rows=", "rows=-1", "rows=0", "rows=1e9", "rows=٣"])
def test_limits_are_whole_numbers_by_their_names(text):
    with pytest.raises(SpecError, match="--limit row"):
        read_limits(dict([text.split("=")]))
    assert run(["query", ".", "SELECT 1", "--limit", text]) == 2


def test_limits_that_are_given():
    assert read_limits({"rows": "7", "expansion": "9"}) == ReadLimits(rows=7, expansion=9)


# The peak of this program alone: what getrusage tells includes that of the process that forked it.
APART = """
import sys
from pathlib import Path
from sfumato.flows.cli.main import run
code = run(sys.argv[1:])
(peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(code, int(peak.split()[1]) // 1024)
"""


@pytest.fixture
def bomb(small, tmp_path):
    """A sealed release with a table that would take gigabytes."""
    copy = tmp_path / "copy"
    shutil.copytree(small.publish("one").directory, copy, copy_function=shutil.copyfile)
    table = pq.read_table(copy / "data" / "microdata.parquet")
    codes = pa.array(np.zeros(150_000, dtype=np.int32))
    town = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 40_000]))
    many = table.take(pa.array(np.zeros(150_000, dtype=np.int64)))
    many = many.set_column(many.schema.get_field_index("town"), "town", town)
    pq.write_table(many, copy / "data" / "microdata.parquet", store_schema=False)
    reseal(copy)
    return copy


@pytest.mark.parametrize("command", ["check", "query", "load"])
def test_memory_is_bounded(bomb, command, tmp_path):
    more = {
        "query": ["SELECT town, COUNT(*) FROM microdata GROUP BY town"],
        "load": [f"sqlite:///{tmp_path}/x.db"],
    }.get(command, [])
    limit = 8 << 30
    done = subprocess.run(
        [sys.executable, "-c", APART, command, str(bomb), *more],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        cwd=Path(__file__).parents[2],
    )
    code, megabytes = map(int, done.stdout.split())
    assert code == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--limit expansion=" in done.stderr
    assert megabytes < 400


def test_limits_are_held_where_the_extent_is_remembered(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    release = str(small.publish("one").directory)
    assert run(["check", release]) == 0
    assert run(["query", release, "SELECT COUNT(*) FROM microdata", "--limit", "rows=59"]) == 2
    assert "60 rows" in capsys.readouterr().err
    assert run(["check", release, "--limit", "columns=1"]) == 2
