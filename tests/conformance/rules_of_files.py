"""Rules about files: their presence, kinds, bytes, hashes, and content that is derived."""

import json
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.schema.formats import software
from tests.conformance.drafts import MANIFEST, SIGNATURE, Document, Draft, parquet_bytes
from tests.conformance.rulebook import Expected, refusal, refuses, require, valid

BROKEN = {
    "parquet": ("table-unreadable", "table-schema", "help-table-differs", "value-hidden"),
    "csv": ("csv-differs", "hierarchy-differs"),
    "json": ("validation-wrong",),
    "sql": ("bytes-differ",),
    "html": ("bytes-differ",),
}
"""Reasons beside `hash-differs` by the ending of a file whose bytes are damaged."""


def rule_of_listed_file(draft: Draft, *endings: str) -> list[str]:
    """Return the paths of listed files, those with one of the endings if there are any."""
    names = sorted(draft.files.keys() - {MANIFEST, SIGNATURE})
    return [path for path in names if not endings or path.endswith(endings)]


def _damage(path: str) -> Expected:
    reasons = BROKEN[path.rpartition(".")[2]]
    return refusal("hash-differs", "bytes-differ", "parts-wrong", "order-wrong", *reasons)


@refuses("hash-differs")
def byte_changed(draft: Draft, rng: Random) -> Expected:
    """Change one bit of a listed file; hashes stay as they are."""
    path = rng.choice(rule_of_listed_file(draft))
    content = bytearray(draft.files[path])
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    draft.files[path] = bytes(content)
    return _damage(path)


@refuses("hash-differs")
def file_cut_off(draft: Draft, rng: Random) -> Expected:
    """Cut the end off a listed file; hashes stay as they are."""
    path = rng.choice(rule_of_listed_file(draft))
    draft.files[path] = draft.files[path][: -rng.randint(1, 20)]
    return _damage(path)


@refuses("hash-differs")
def file_emptied(draft: Draft, rng: Random) -> Expected:
    """Leave nothing of a listed file; hashes stay as they are."""
    path = rng.choice(rule_of_listed_file(draft))
    draft.files[path] = b""
    return _damage(path)


@refuses("file-missing", "resources-wrong")
def file_removed(draft: Draft, rng: Random) -> None:
    """Remove a listed file; the manifest still lists it."""
    path = rng.choice(rule_of_listed_file(draft))
    require(path.count("/") < 2)
    del draft.files[path]


@refuses("file-missing", "resources-wrong")
def file_removed_and_sealed(draft: Draft, rng: Random) -> None:
    """Remove a file, and its entry in the manifest."""
    require(not draft.in_parts)
    path = rng.choice(rule_of_listed_file(draft))
    del draft.files[path]
    draft.state(lambda document: document["resources"].remove(_entry(document, path)))


def _entry(document: Document, path: str) -> Document:
    return next(entry for entry in document["resources"] if entry["path"] == path)


@refuses("file-unexpected", "resources-wrong")
def file_added(draft: Draft, rng: Random) -> None:
    """Add a file that the manifest does not list."""
    name = rng.choice(["notes.txt", ".hidden", "data/more.csv", "sql/help.parquet", "x/y/z"])
    draft.files[name] = b"a\n1\n"


@refuses("file-unexpected", "resources-wrong")
def file_added_and_sealed(draft: Draft, rng: Random) -> None:
    """Add a copy of a file under another name, and list it in its place."""
    path = rng.choice(rule_of_listed_file(draft, ".json", ".csv", ".sql"))
    require("/" not in path or not draft.in_parts)
    ending = path.rpartition(".")[2]
    added = f"{path.removesuffix(f'.{ending}')}-copy.{ending}"
    draft.files[added] = draft.files[path]

    def add(document: Document) -> None:
        entry = {**_entry(document, path), "path": added}
        entry["name"] = added.rpartition("/")[2].replace(".", "-")
        document["resources"].append(entry)
        document["resources"].sort(key=lambda resource: resource["path"])

    draft.state(add)


@refuses("file-unexpected")
def empty_directory(draft: Draft, rng: Random) -> None:
    """Add a directory with nothing in it."""
    draft.special[rng.choice(["extra", "sql/nested", "data/x/y", "hierarchies/empty"])] = (
        "directory"
    )


@refuses("file-kind")
def file_behind_a_link(draft: Draft, rng: Random) -> None:
    """Put a symbolic link to the same bytes in the place of a file."""
    draft.special[rng.choice([MANIFEST, *rule_of_listed_file(draft)])] = "link"


@refuses("file-kind", "file-unexpected")
def link_added(draft: Draft, _rng: Random) -> None:
    """Add a symbolic link to a directory."""
    draft.special["sql/there"] = "link"


@refuses("file-kind", "file-unexpected")
def pipe_added(draft: Draft, _rng: Random) -> None:
    """Add a pipe, which nobody may open."""
    draft.special["sql/pipe.parquet"] = "pipe"


@refuses("not-a-release")
def manifest_removed(draft: Draft, _rng: Random) -> None:
    """Remove the manifest: there is no release, unless a record beside it says more."""
    require("releases.json" not in draft.beside)
    del draft.files[MANIFEST]


@refuses("file-missing", "file-unexpected", "resources-wrong")
def other_capitals(draft: Draft, _rng: Random) -> None:
    """Write the name of the page with a capital letter."""
    draft.files["Index.html"] = draft.files.pop("index.html")


@refuses("hash-differs")
def size_otherwise(draft: Draft, rng: Random) -> None:
    """State another size of a file."""
    number, more = rng.randrange(10), rng.choice([-1, 1, 1000])

    def change(document: Document) -> None:
        entry = document["resources"][number % len(document["resources"])]
        entry["bytes"] += more

    draft.state(change)


@refuses("hash-differs")
def hash_otherwise(draft: Draft, rng: Random) -> None:
    """State another hash of a file."""
    number = rng.randrange(10)

    def change(document: Document) -> None:
        entry = document["resources"][number % len(document["resources"])]
        digit = "0" if entry["hash"][-1] != "0" else "1"
        entry["hash"] = entry["hash"][:-1] + digit

    draft.state(change)


def _require_ours(draft: Draft) -> None:
    """Leave a rule about bytes where other software wrote the files."""
    require(draft.terms["software"] == software() and not draft.in_parts)


@refuses("bytes-differ", core="valid")
def page_otherwise(draft: Draft, rng: Random) -> None:
    """Change the page's text, and seal: a verifier of level core takes the page as it is."""
    _require_ours(draft)
    more = rng.choice([b"\n", b"<p>more</p>", b"<!-- -->"])
    draft.put("index.html", draft.files["index.html"] + more)


@refuses("bytes-differ", core="valid")
def script_otherwise(draft: Draft, rng: Random) -> None:
    """Change the SQL, and seal: a verifier of level core takes it as it is."""
    _require_ours(draft)
    more = rng.choice([b"\n", b"\n-- more\n", b"SELECT 1;\n"])
    draft.put("sql/duckdb.sql", draft.files["sql/duckdb.sql"] + more)


@refuses("bytes-differ", core="valid")
def parquet_written_otherwise(draft: Draft, rng: Random) -> None:
    """Write the same table with other options of Parquet, which level core accepts."""
    _require_ours(draft)
    path = rng.choice(rule_of_listed_file(draft, ".parquet"))
    require(path.startswith("data/"))
    table = pq.read_table(pa.BufferReader(draft.files[path]))
    require(table.num_rows)
    options = rng.choice(
        [
            {"compression": "none", "compression_level": None},
            {"row_group_size": 2},
            {"use_dictionary": False},
            {"write_statistics": False},
        ]
    )
    content = parquet_bytes(table, **options)
    require(content != draft.files[path])
    draft.put(path, content)


@refuses("help-table-differs", core="valid")
def help_table_otherwise(draft: Draft, rng: Random) -> None:
    """Leave the last row of a help table out."""
    path = rng.choice(rule_of_listed_file(draft, ".parquet"))
    require(path.startswith("sql/help_"))
    table = pq.read_table(pa.BufferReader(draft.files[path]))
    require(table.num_rows > 1)
    draft.put(path, parquet_bytes(table.slice(0, table.num_rows - 1)))


@refuses("hierarchy-differs")
def hierarchy_file_otherwise(draft: Draft, rng: Random) -> None:
    """Change a file of a hierarchy: its lines, ends of lines or quotes."""
    files = [path for path in rule_of_listed_file(draft, ".csv") if path.startswith("hierarchies/")]
    require(files)
    path = rng.choice(files)
    content = draft.files[path]
    changes = [
        content + content.splitlines(keepends=True)[-1],
        content.replace(b"\n", b"\r\n"),
        b'"' + content.replace(b",", b'",', 1) if not content.startswith(b'"') else content[1:],
        content.rstrip(b"\n"),
        content.replace(b",*\n", b",all\n", 1),
    ]
    draft.put(path, rng.choice(changes))


@refuses("csv-differs")
def csv_otherwise(draft: Draft, rng: Random) -> None:
    """Write a CSV file in another way, or with other content."""
    files = [path for path in rule_of_listed_file(draft, ".csv") if path.startswith("data/")]
    require(files)
    path = rng.choice(files)
    content = draft.files[path]
    head, _, rest = content.partition(b"\n")
    changes = [
        content.replace(b"\n", b"\r\n"),
        content.rstrip(b"\n"),
        b"\xef\xbb\xbf" + content,
        content + rest.splitlines(keepends=True)[-1] if rest else content + b"\n",
        head.replace(b'"', b"") + b"\n" + rest,
        head.replace(b",", b", ", 1) + b"\n" + rest if b"," in head else head.lower() + b"x\n",
    ]
    draft.put(path, rng.choice(changes))


def _validation(draft: Draft) -> list[Document]:
    entries: list[Document] = json.loads(draft.files["validation.json"])
    return entries


def _put_validation(draft: Draft, entries: object) -> None:
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    draft.put("validation.json", text.encode())


@refuses("validation-wrong")
def validation_entry_removed(draft: Draft, rng: Random) -> None:
    """Remove an entry of the validation document."""
    entries = _validation(draft)
    entries.pop(rng.randrange(len(entries)))
    _put_validation(draft, entries)


@refuses("validation-wrong")
def validation_entry_otherwise(draft: Draft, rng: Random) -> None:
    """Change what an entry says."""
    entries = _validation(draft)
    entry = rng.choice(entries)
    key, value = rng.choice(
        [("passed", False), ("table", "others"), ("observed", 10**6), ("more", 1)]
    )
    entry[key] = value
    _put_validation(draft, entries)


@refuses("validation-wrong")
def validation_in_another_order(draft: Draft, rng: Random) -> None:
    """Exchange two entries."""
    entries = _validation(draft)
    require(len(entries) > 1)
    place = rng.randrange(len(entries) - 1)
    require(entries[place] != entries[place + 1])
    entries[place], entries[place + 1] = entries[place + 1], entries[place]
    _put_validation(draft, entries)


@refuses("validation-wrong")
def validation_not_canonical(draft: Draft, rng: Random) -> None:
    """Write the validation document with other spaces."""
    content = draft.files["validation.json"]
    draft.put(
        "validation.json", rng.choice([content + b"\n", b" " + content, content[:-1] + b" ]"])
    )


@valid
def read_again(_draft: Draft, _rng: Random) -> None:
    """Change nothing: a copy of a valid release is valid."""


@valid
def sealed_again(draft: Draft, _rng: Random) -> None:
    """Seal the manifest again, which gives the same bytes."""
    before = draft.files[MANIFEST]
    draft.state(lambda document: document)
    require(before == draft.files[MANIFEST])
