"""A forger who recomputes every hash and every observed value is still found out."""

import hashlib
import json
import shutil

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.forms.order import canonical_table
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables, write_table
from sfumato.tasks.verification.integrity import digest


@pytest.fixture
def forged_release(release, tmp_path):
    """A copy that may be changed."""
    copy = tmp_path / "forged"
    shutil.copytree(release, copy, copy_function=shutil.copyfile)
    return copy


def reseal(directory, **rows):
    """List every file with its true size and hash, and seal the manifest anew."""
    opened = open_release(directory)
    declared = opened.declared
    if rows:
        counts = declared.rows.model_copy(update=rows)
        declared = declared.model_copy(update={"rows": counts})
    document = manifest(directory, declared, opened.manifest["sfumato"]["observed"])
    (directory / "datapackage.json").write_bytes(canonical_json(document))


def rebuild(directory, table, **rows):
    """The whole release anew from a forged table, all derived files consistent with it."""
    declared = open_release(directory).declared
    declared = declared.model_copy(
        update={"rows": declared.rows.model_copy(update={"published": table.num_rows, **rows})}
    )
    shutil.rmtree(directory)
    write_release(directory, assess(declared, {"microdata": table}))


def published_table(directory):
    return read_tables(open_release(directory).declared, directory / "data")["microdata"]


def files(directory):
    return sorted(p for p in directory.rglob("*") if p.is_file())


def test_accepts_what_was_published(release):
    ((promise, verdict),) = check(release).verdicts
    assert verdict.holds
    assert promise.k == 3
    sealed = json.loads((release / "datapackage.json").read_text())["sfumato"]["digest"]
    assert check(release, sealed).verdicts
    with pytest.raises(PromiseError, match="announced"):
        check(release, "0" * 64)


def test_the_announced_digest_is_that_of_the_manifest(release):
    document = json.loads((release / "datapackage.json").read_text())
    unsealed = {**document, "sfumato": {**document["sfumato"], "digest": ""}}
    expected = hashlib.sha256(canonical_json(unsealed)).hexdigest()
    assert document["sfumato"]["digest"] == expected == digest(document)


def test_any_byte_of_any_file(forged_release):
    """Nothing else is changed here; test_forgeries.py seals each anew."""
    refused = 0
    for path in files(forged_release):
        original = path.read_bytes()
        step = max(1, len(original) // 6)
        for offset in {0, len(original) - 1, *range(0, len(original), step)}:
            changed = bytearray(original)
            changed[offset] ^= 1
            path.write_bytes(changed)
            with pytest.raises(PromiseError):
                check(forged_release)
            refused += 1
            path.write_bytes(original)
    assert refused > 40
    assert check(forged_release).verdicts


def test_a_row_removed(forged_release):
    table = published_table(forged_release)
    rows = list(zip(table["group_id"].to_pylist(), table["wage"].to_pylist(), strict=True))
    inner = next(  # of a group that keeps its promise without it
        i
        for i, (group, wage) in enumerate(rows)
        if len(others := [w for g, w in rows if g == group and w != wage]) > 2
        and min(others) < wage < max(others)
    )
    kept_rows = [i for i in range(len(rows)) if i != inner]
    rebuild(forged_release, canonical_table(table.take(pa.array(kept_rows))), published=len(rows))
    with pytest.raises(PromiseError, match=r"row_count_to_equal is broken: .* observed 59"):
        check(forged_release)


def test_a_file_added(forged_release):
    (forged_release / "data" / "extra.csv").write_text("a\n1\n")
    with pytest.raises(PromiseError, match="does not belong"):
        check(forged_release)


def test_a_link_instead_of_a_file(forged_release, tmp_path):
    page = forged_release / "index.html"
    shutil.move(page, tmp_path / "page")
    page.symlink_to(tmp_path / "page")
    with pytest.raises(PromiseError, match="regular file"):
        check(forged_release)


def test_a_file_removed(forged_release):
    (forged_release / "sql" / "duckdb.sql").unlink()
    reseal(forged_release)
    with pytest.raises(PromiseError, match="is missing"):
        check(forged_release)


def test_rows_reordered(forged_release):
    table = published_table(forged_release)
    rebuild(forged_release, table.take(pa.array(range(table.num_rows)[::-1])))
    with pytest.raises(PromiseError, match="canonical_order"):
        check(forged_release)


def test_groups_renamed(forged_release):
    table = published_table(forged_release)
    field = table.schema.field("group_id")
    swapped = pa.array([{0: 1, 1: 0}.get(g, g) for g in table["group_id"].to_pylist()])
    rebuild(forged_release, table.set_column(table.column_names.index("group_id"), field, swapped))
    with pytest.raises(PromiseError, match="canonical_order"):
        check(forged_release)


def test_a_group_made_to_break_the_promise(forged_release):
    table = published_table(forged_release)
    field = table.schema.field("group_id")
    ids = table["group_id"].to_pylist()
    ids[0] = max(ids) + 1
    broken = canonical_table(
        table.set_column(table.column_names.index("group_id"), field, pa.array(ids))
    )
    rebuild(forged_release, broken.cast(table.schema))
    with pytest.raises(PromiseError, match="ke-anonymity is broken in"):
        check(forged_release)


@pytest.mark.parametrize(
    "name", ["sql/help_wage.parquet", "index.html", "validation.json", "sql/duckdb.sql"]
)
def test_a_derived_file_altered(forged_release, name):
    path = forged_release / name
    if path.suffix == ".parquet":
        write_table(pq.read_table(path).slice(1), path)
    elif path.suffix == ".html":
        page = path.read_text(encoding="utf-8")
        plot = page.index("<svg", page.index("Size of the groups"))
        plot_start = page.index('d="M', plot)
        path.write_text(page[:plot_start] + 'd="M1 1"' + page[plot_start + 4 :], encoding="utf-8")
    else:
        path.write_bytes(path.read_bytes() + b" ")
    reseal(forged_release)
    with pytest.raises(PromiseError, match="differs from the published tables"):
        check(forged_release)


def test_something_smuggled_into_parquet(forged_release):
    table = published_table(forged_release).replace_schema_metadata({"note": "smuggled"})
    pq.write_table(table, forged_release / "data" / "microdata.parquet")
    reseal(forged_release)
    with pytest.raises(PromiseError):
        check(forged_release)


def test_csv_that_says_something_else(forged_release):
    table = published_table(forged_release)
    pa.csv.write_csv(table.slice(1), forged_release / "data" / "microdata.csv")
    reseal(forged_release)
    with pytest.raises(PromiseError):
        check(forged_release)


def test_no_release_is_wrong_input_and_no_manifest_a_broken_one(forged_release, tmp_path):
    with pytest.raises(InputError):
        check(tmp_path / "nowhere")
    (forged_release / "datapackage.json").write_text("[" * 10_000)
    with pytest.raises(PromiseError):
        check(forged_release)
