"""Sources that Hive or Spark partitioned: the names of folders are columns."""

import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.publication.check import check
from sfumato.tasks.stages.ingest import FETCHED
from sfumato.tasks.terms.opened import open_release
from tests.parts.divided import SPEC, visits
from tests.sources.simulator import simulator


def partition(divided, rows, *names):
    """Write the source as Arrow writes it in folders."""
    source = divided.folder / "visits"
    shutil.rmtree(source)
    kinds = pa.schema([rows.schema.field(name) for name in names])
    ds.write_dataset(
        rows.drop_columns(["person"]),
        source,
        format="parquet",
        partitioning=ds.partitioning(kinds, flavor="hive"),
    )


def publication(release):
    tables = [
        pq.read_table(path) for path in sorted(release.glob("parts/*/data/microdata.parquet"))
    ]
    rows = pa.concat_tables(tables)
    return [rows.group_by(n).aggregate([([], "count_all")]).sort_by(n) for n in ("year", "town")]


def test_they_are_read_as_if_they_stood_in_the_files(divided_line):
    rows = visits()
    plain = publication(divided_line.write(rows).publish("plain").directory)
    for path in (divided_line.folder / "public").rglob("*"):
        path.chmod(0o755)
    shutil.rmtree(divided_line.folder / "public")
    shutil.rmtree(divided_line.folder.parent / "work")
    divided_line.write(rows)
    partition(divided_line, rows, "year", "town")
    assert list(divided_line.folder.glob("visits/year=2020/town=C%C3%A9%2C%20the%20long"))
    release = divided_line.publish("folders").directory
    assert check(release).derived == "equal"
    assert publication(release) == plain


def test_a_folder_that_names_no_value_is_refused(divided_line):
    rows = visits()
    divided_line.write(rows)
    partition(divided_line, rows, "year")
    (divided_line.folder / "visits" / "year=2021").rename(
        divided_line.folder / "visits" / "year=late"
    )
    with pytest.raises(InputError, match=r"visits.* in a folder's name: .*'year'") as refused:
        divided_line.publish("one")
    assert "late" not in str(refused.value)


def test_folders_of_other_names_are_other_columns(divided_line):
    rows = visits()
    divided_line.write(rows)
    partition(divided_line, rows, "year")
    (divided_line.folder / "visits" / "year=2021").rename(
        divided_line.folder / "visits" / "loaded=2021"
    )
    with pytest.raises(InputError, match="its files have different columns or types"):
        divided_line.publish("one")


def test_a_column_in_files_and_folders_is_refused(divided_line):
    rows = visits().filter(pc.equal(visits()["year"], 2020))
    divided_line.write(rows)
    source = divided_line.folder / "visits"
    (source / "year=2020").mkdir()
    for path in list(source.glob("*.parquet")):
        path.rename(source / "year=2020" / path.name)
    with pytest.raises(
        InputError,
        match=("visits: column 6 has the same name as column 2"),
    ):
        divided_line.publish("one")


def test_a_column_may_begin_as_unfinished_files_do(divided_line):
    rows = visits()
    columns = {"_year" if n == "year" else n: c for n, c in SPEC["columns"].items()}
    renamed = rows.rename_columns(["_year" if n == "year" else n for n in rows.column_names])
    divided_line.write(renamed, columns=columns, strata=["_year"])
    partition(divided_line, renamed, "_year")
    declared = open_release(divided_line.publish("one").directory).declared
    assert declared.rows.read == 600


def test_what_writers_left_unfinished_is_not_read(divided_line):
    first = divided_line.write(visits()).publish("one")
    source = divided_line.folder / "visits"
    for name in ("_temporary/0.parquet", ".hidden.parquet", "_metadata.parquet"):
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(source / "0.parquet", source / name)
    assert divided_line.publish("two").directory == first.directory


def test_objects_of_a_store_are_read_as_files_and_go_when_they_are_read(divided_line, monkeypatch):
    rows = visits()
    divided_line.write(rows)
    partition(divided_line, rows, "year")
    with simulator() as (environ, write):
        for path in sorted((divided_line.folder / "visits").rglob("*.parquet")):
            write(path.relative_to(divided_line.folder).as_posix(), path.read_bytes())
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        shutil.rmtree(divided_line.folder / "visits")
        address = {"format": "parquet", "uri": "s3://bucket/visits/year=*/*.parquet"}
        divided_line.write(rows, source=address)
        shutil.rmtree(divided_line.folder / "visits")
        _, stage = divided_line.divide("one")
        assert not (stage.parent / FETCHED).exists()
        release = divided_line.publish("two").directory
    assert check(release).derived == "equal"
    tables = [pq.read_table(p) for p in sorted(release.glob("parts/*/data/microdata.parquet"))]
    assert sum(table.num_rows for table in tables) == rows.num_rows
