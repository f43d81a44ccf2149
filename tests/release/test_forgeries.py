"""A forger may recompute hashes, sizes, counts and digest: what does not follow is refused."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.forge import edit, made_with, rebuilt, reseal


@pytest.fixture
def forged_release(writable):
    return writable


def flips(content):
    step = max(1, len(content) // 5)
    for offset in sorted({0, len(content) - 1, *range(step // 2, len(content), step)}):
        for mask in (0x01, 0x20, 0xFF):
            changed = bytearray(content)
            changed[offset] ^= mask
            yield bytes(changed)


def files(directory):
    return sorted(p.relative_to(directory) for p in directory.rglob("*") if p.is_file())


def test_any_byte_of_any_file_however_resealed(forged_release):
    seal, tried = (forged_release / MANIFEST).read_bytes(), 0
    for name in files(forged_release):
        original = (forged_release / name).read_bytes()
        for changed in flips(original):
            (forged_release / name).write_bytes(changed)
            if name.name != MANIFEST:
                reseal(forged_release)
            with pytest.raises(PromiseError):
                check(forged_release)
            (forged_release / MANIFEST).write_bytes(seal)
            tried += 1
        (forged_release / name).write_bytes(original)
    assert tried > 100
    assert check(forged_release).verdicts


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["sfumato"]["observed"][0]["observed"].update(k=99),
        lambda d: d["sfumato"]["observed"][0].update(groups=1),
        lambda d: d["sfumato"].update(observed=[]),
        lambda d: d["sfumato"].update(extra="CANARY"),
        lambda d: d.update(extra="CANARY"),
        lambda d: d["sfumato"].update(title="Another title"),
        lambda d: d.update(title="Another title"),
        lambda d: d["sfumato"]["promises"][0].update(k=4),
        lambda d: d["sfumato"]["promises"][0].update(k=60),
        lambda d: d["sfumato"].update(promises=[]),
        lambda d: d["sfumato"]["rows"].update(published=59),
        lambda d: d["sfumato"]["rows"].update(read=61),
        lambda d: d["sfumato"]["rows"].update(suppressed=-1, read=61),
        lambda d: d["sfumato"]["columns"].reverse(),
        lambda d: d["sfumato"]["columns"].pop(),
        lambda d: d["sfumato"].update(formats=["parquet"]),
        lambda d: d["sfumato"].update(strata=["CANARY"]),
        lambda d: d["sfumato"]["promises"][0].update({"quasi-identifiers": ["CANARY"]}),
        lambda d: d["sfumato"]["promises"][0].update(sensitive="CANARY"),
        lambda d: d["sfumato"]["promises"][0].pop("sensitive"),
        lambda d: d["resources"][0].update(bytes=1),
        lambda d: d["resources"][0].update(hash="sha256:" + "0" * 64),
        lambda d: d["resources"].reverse(),
        lambda d: d["resources"].pop(),
        lambda d: d.update(resources="CANARY"),
        lambda d: d["sfumato"].update(columns="CANARY"),
    ],
)
def test_a_manifest_that_says_something_else(forged_release, change):
    edit(forged_release, change)
    with pytest.raises(PromiseError):
        check(forged_release)


def test_weaker_terms_rebuilt_throughout_have_another_digest(forged_release, release):
    announced = json.loads((release / MANIFEST).read_bytes())["sfumato"]["digest"]
    (promise,) = open_release(release).declared.promises
    own = rebuilt(forged_release, promises=(type(promise)(**{**vars(promise), "k": 2}),))
    assert check(forged_release, own).verdicts
    with pytest.raises(PromiseError, match="announced"):
        check(forged_release, announced)


@pytest.mark.parametrize("resealed", [False, True])
@pytest.mark.parametrize("name", ["extra.json", "data/nested/extra.json", "sql/.hidden.json"])
def test_a_file_added(forged_release, name, resealed):
    (forged_release / name).parent.mkdir(exist_ok=True)
    shutil.copyfile(forged_release / "validation.json", forged_release / name)
    if resealed:
        reseal(forged_release)
    with pytest.raises(PromiseError, match="does not belong"):
        check(forged_release)


@pytest.mark.parametrize("name", ["extra", "data/extra", "sql/extra/nested"])
def test_an_empty_directory_added(forged_release, name):
    (forged_release / name).mkdir(parents=True)
    with pytest.raises(PromiseError, match="does not belong"):
        check(forged_release)


def test_a_link_added(forged_release):
    (forged_release / "data" / "extra").symlink_to(forged_release / "data")
    with pytest.raises(PromiseError, match="regular file"):
        check(forged_release)


def rewrite(directory, table, **options):
    path = directory / "data" / "microdata.parquet"
    options = {
        "version": "2.6",
        "data_page_version": "1.0",
        "compression": "zstd",
        "compression_level": 3,
        "row_group_size": 1 << 20,
        "store_schema": False,
        **options,
    }
    pq.write_table(table, path, **options)
    reseal(directory)
    return path


@pytest.fixture
def table(forged_release):
    return read_tables(open_release(forged_release).declared, forged_release / "data")["microdata"]


def test_rewritten_as_it_was_it_is_accepted(forged_release, table):
    rewrite(forged_release, table)
    assert check(forged_release).verdicts


def test_a_value_hidden_in_a_dictionary(forged_release, table):
    where = table.column_names.index("town")
    encoded = table["town"].combine_chunks().dictionary_encode()
    dictionary = pa.concat_arrays([encoded.dictionary, pa.array(["CANARY"])])
    hidden = pa.DictionaryArray.from_arrays(encoded.indices, dictionary)
    path = rewrite(forged_release, table.set_column(where, "town", hidden))
    read_values = pq.read_table(path, read_dictionary=["town"])["town"].combine_chunks().dictionary
    assert "CANARY" in read_values.to_pylist()
    assert pq.read_table(path)["town"].equals(table["town"])
    with pytest.raises(PromiseError, match=r"microdata\.parquet: differs from"):
        check(forged_release)


def test_metadata_of_the_file_or_of_a_column(forged_release, table):
    for schema in (
        table.schema.with_metadata({"person": "CANARY"}),
        table.schema.set(0, table.schema.field(0).with_metadata({"person": "CANARY"})),
    ):
        path = rewrite(forged_release, table.cast(schema), store_schema=True)
        assert "CANARY" in pq.read_schema(path).to_string()
        with pytest.raises(PromiseError, match=r"microdata\.parquet"):
            check(forged_release)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "none", "compression_level": None},
        {"row_group_size": 20},
        {"use_dictionary": False},
        {"write_statistics": False},
        {"data_page_version": "2.0"},
        {"sorting_columns": [pq.SortingColumn(0)]},
    ],
)
def test_the_same_table_written_otherwise(forged_release, table, options):
    rewrite(forged_release, table, **options)
    with pytest.raises(PromiseError, match=r"microdata\.parquet: differs from"):
        check(forged_release)


def test_a_canary_column(forged_release, table):
    rewrite(forged_release, table.append_column("person", pa.array(["CANARY"] * table.num_rows)))
    with pytest.raises(PromiseError, match="columns or types"):
        check(forged_release)


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "validation.json",
        "sql/duckdb.sql",
        "sql/help_wage.parquet",
        "data/microdata.csv",
        "data/microdata.parquet",
    ],
)
def test_the_announced_digest_vouches_for_bytes_of_other_software(forged_release, name):
    announced = made_with(forged_release, pyarrow="0.0.1")
    path = forged_release / name
    if path.name == "microdata.parquet":
        pq.write_table(pq.read_table(path), path, compression="none", store_schema=False)
    else:
        path.write_bytes(path.read_bytes() + b"CANARY")
    with pytest.raises(PromiseError):
        check(forged_release, announced)


@pytest.mark.parametrize(
    ("promise", "reason"),
    [
        ({"model": "k-anonymity", "k": 2, "quasi-identifiers": ["age", "town"]}, "means nothing"),
        ({"model": "ke-anonymity", "k": 2, "e": 1, "sensitive": "wage"}, "does not name the quasi"),
        (
            {
                "model": "ke-anonymity",
                "k": 2,
                "e": 1,
                "sensitive": "wage",
                "quasi-identifiers": ["age"],
            },
            "no promise is about the quasi-identifier 'town'",
        ),
    ],
)
def test_a_promise_that_protects_nobody(forged_release, promise, reason):
    """Each can be measured and holds, but not of what a reader takes it to be about."""
    rebuilt(forged_release, promises=(PROMISE.validate_python(promise),))
    with pytest.raises(PromiseError, match=reason):
        check(forged_release)


def test_a_hierarchy_that_does_not_nest(forged_release):
    columns = dict(open_release(forged_release).declared.columns)
    rows = (("Aa", "town", "*"), ("Bee", "town", "*"), ("Aa", "city", "*"))
    columns["town"] = columns["town"].model_copy(update={"hierarchy": rows})
    rebuilt(forged_release, columns=columns)
    with pytest.raises(PromiseError, match="leaf is in an earlier row"):
        check(forged_release)


def state_hierarchy(document, name, rule):
    (column,) = (c for c in document["sfumato"]["columns"] if c["name"] == name)
    column["hierarchy"] = rule


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d["sfumato"].update(formats=["parquet", "csv", "csv"]), "canonical manifest"),
        (lambda d: d["sfumato"].update(format="1"), "format must be a whole number"),
        (lambda d: d["sfumato"].update(format=-1), "format must be a whole number"),
        (lambda d: d["sfumato"].update(format=0), "format is not the lowest"),
        (lambda d: d["sfumato"].update(csv={"formulas": "keep"}), "csv is not as a manifest"),
        (lambda d: d["sfumato"]["rows"].update(read="60"), "rows is not as a manifest"),
        (lambda d: state_hierarchy(d, "town", {"intervals": [5]}), "'town' needs type integer"),
        (lambda d: state_hierarchy(d, "age", {"prefixes": [2]}), "'age' needs type string"),
        (lambda d: state_hierarchy(d, "age", {"dates": ["year"]}), "'age' needs type date"),
        (lambda d: d["sfumato"].update(strata=["CANARY"]), "strata names columns"),
    ],
)
def test_a_manifest_is_refused_for_what_is_wrong_in_it(forged_release, change, reason):
    edit(forged_release, change)
    with pytest.raises(PromiseError, match=reason):
        check(forged_release)


def test_a_table_that_is_missing_is_called_so(forged_release):
    (forged_release / "data" / "microdata.parquet").unlink()
    with pytest.raises(PromiseError, match=r"microdata\.parquet: is missing"):
        check(forged_release)
