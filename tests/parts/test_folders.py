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


def told(release):
    tables = [
        pq.read_table(path) for path in sorted(release.glob("parts/*/data/microdata.parquet"))
    ]
    rows = pa.concat_tables(tables)
    return [rows.group_by(n).aggregate([([], "count_all")]).sort_by(n) for n in ("year", "town")]


def test_they_are_read_as_if_they_stood_in_the_files(divided):
    rows = visits()
    plain = told(divided.write(rows).publish("plain").directory)
    for path in (divided.folder / "public").rglob("*"):
        path.chmod(0o755)
    shutil.rmtree(divided.folder / "public")
    shutil.rmtree(divided.folder.parent / "work")
    divided.write(rows)
    partition(divided, rows, "year", "town")
    assert list(divided.folder.glob("visits/year=2020/town=C%C3%A9%2C%20the%20long"))
    release = divided.publish("folders").directory
    assert check(release).derived == "equal"
    assert told(release) == plain


def test_a_folder_that_names_no_value_is_refused(divided):
    rows = visits()
    divided.write(rows)
    partition(divided, rows, "year")
    (divided.folder / "visits" / "year=2021").rename(divided.folder / "visits" / "year=late")
    with pytest.raises(InputError, match=r"visits.* in a folder's name: .*'year'") as refused:
        divided.publish("one")
    assert "late" not in str(refused.value)


def test_folders_of_other_names_are_other_columns(divided):
    rows = visits()
    divided.write(rows)
    partition(divided, rows, "year")
    (divided.folder / "visits" / "year=2021").rename(divided.folder / "visits" / "loaded=2021")
    with pytest.raises(InputError, match="its files have different columns, or types"):
        divided.publish("one")


def test_a_column_in_files_and_folders_is_refused(divided):
    rows = visits().filter(pc.equal(visits()["year"], 2020))
    divided.write(rows)
    source = divided.folder / "visits"
    (source / "year=2020").mkdir()
    for path in list(source.glob("*.parquet")):
        path.rename(source / "year=2020" / path.name)
    with pytest.raises(InputError, match="visits: column 6 has the name of column 2"):
        divided.publish("one")


def test_a_column_may_begin_as_unfinished_files_do(divided):
    rows = visits()
    columns = {"_year" if n == "year" else n: c for n, c in SPEC["columns"].items()}
    renamed = rows.rename_columns(["_year" if n == "year" else n for n in rows.column_names])
    divided.write(renamed, columns=columns, strata=["_year"])
    partition(divided, renamed, "_year")
    declared = open_release(divided.publish("one").directory).declared
    assert declared.rows.read == 600


def test_what_writers_left_unfinished_is_not_read(divided):
    first = divided.write(visits()).publish("one")
    source = divided.folder / "visits"
    for name in ("_temporary/0.parquet", ".hidden.parquet", "_metadata.parquet"):
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(source / "0.parquet", source / name)
    assert divided.publish("two").directory == first.directory


def test_objects_of_a_store_are_read_as_files_and_go_when_they_are_read(divided, monkeypatch):
    rows = visits()
    divided.write(rows)
    partition(divided, rows, "year")
    with simulator() as (environ, write):
        for path in sorted((divided.folder / "visits").rglob("*.parquet")):
            write(path.relative_to(divided.folder).as_posix(), path.read_bytes())
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        shutil.rmtree(divided.folder / "visits")
        address = {"format": "parquet", "uri": "s3://bucket/visits/year=*/*.parquet"}
        divided.write(rows, source=address)
        shutil.rmtree(divided.folder / "visits")
        _, stage = divided.divide("one")
        assert not (stage.parent / FETCHED).exists()
        release = divided.publish("two").directory
    assert check(release).derived == "equal"
    tables = [pq.read_table(p) for p in sorted(release.glob("parts/*/data/microdata.parquet"))]
    assert sum(table.num_rows for table in tables) == rows.num_rows
