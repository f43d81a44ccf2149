"""Grounds to trust a release that is opened: a check here, or an announced digest."""

import json
import os
import shutil
import time
from decimal import Decimal
from importlib.metadata import version

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.cli.main import run
from sfumato.tasks.publication.check import check
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.verification import integrity, record
from sfumato.tasks.verification.way_in import WayIn
from tests.release.forge import reseal
from tests.release.small import Small, people

AVERAGE = "SELECT AVG(wage) FROM microdata"


@pytest.fixture(scope="module")
def published_directory(tmp_path_factory):
    """A published version of the small line."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        return Small(folder / "line").write(people()).publish("one").directory


@pytest.fixture
def release(published_directory, tmp_path):
    """A copy of it that may be changed."""
    copy = tmp_path / "copy"
    shutil.copytree(published_directory, copy, copy_function=shutil.copyfile)
    return copy


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A reader who has seen nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def ask(release, reader, capsys):
    """The document that answers a query, and what is said on stderr."""

    def ask_release(*options, query=AVERAGE):
        code = run(["query", str(release), query, "--format", "json", *options])
        output = capsys.readouterr()
        return code, json.loads(output.out.splitlines()[-1]) if output.out else None, output.err

    return ask_release


@pytest.fixture
def hashed_files(monkeypatch):
    """The files that were hashed."""
    files = []
    sha256_of = integrity.sha256_of
    monkeypatch.setattr(integrity, "sha256_of", lambda p: files.append(p) or sha256_of(p))
    return files


def announced_digest(directory):
    return open_release(directory).manifest["sfumato"]["digest"]


def forge_help(directory):
    """Make every sum of the help table a cent, and list its hash: what a forger does."""
    (path,) = (directory / "sql").glob("help_*.parquet")
    table = pq.read_table(path)
    for position, field in enumerate(table.schema):
        if field.name in ("l_sum", "u_sum"):
            cents = pa.array([Decimal("0.01")] * len(table), pa.decimal128(9, 2))
            table = table.set_column(position, field, cents.cast(field.type))
    pq.write_table(table, path)
    return reseal(directory)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + " ",
        lambda text: text.replace(",", ", "),
        lambda text: '{"title":"evil",' + text[1:],
    ],
    ids=["a space", "spaces", "a key twice"],
)
def test_other_bytes_of_the_same_manifest_are_refused(release, ask, change):
    """Whoever reads the first of two keys alike would read another release than is verified."""
    manifest = release / "datapackage.json"
    manifest.write_text(change(manifest.read_text(encoding="utf-8")), encoding="utf-8")
    code, _, error = ask()
    assert (code, "not the canonical manifest" in error) == (3, True)


def test_a_forged_help_table_guarantees_nothing(release, ask):
    total = AVERAGE.replace("AVG", "SUM")
    _, before, _ = ask("--check", query=total)
    forge_help(release)
    code, after, error = ask(query=total)
    assert before["rows"][0]["SUM(wage)"]["lower"] > 100
    assert (before["guaranteed"], before["verified"]) == (True, True)
    assert after["rows"][0]["SUM(wage)"]["lower"] < 1
    assert (code, after["guaranteed"], after["verified"]) == (0, False, False)
    absent, unverified = error.splitlines()
    assert absent == "note: no releases.json beside it: a withdrawal would not be noticed here"
    assert unverified.startswith("not verified")
    code, none, error = ask("--check")
    assert (code, none, len(error.splitlines())) == (3, None, 1)
    assert ask(query=total)[1]["guaranteed"] is False
    code, refusal, error = ask()
    assert (code, set(refusal)) == (1, {"error", "exit"}), (
        "no wage is a cent: such a mean is not given out at all"
    )
    assert "AVG(wage): its bounds lie outside what is possible" in error


def test_a_release_that_nobody_checked_is_answered_unverified(ask):
    code, document, error = ask()
    assert (code, document["guaranteed"], document["verified"]) == (0, False, False)
    assert "not verified" in error
    assert list(document) == [
        "form",
        "guaranteed",
        "verified",
        "not_represented",
        "columns",
        "rows",
    ]


def test_people_are_told_too(release, reader, capsys):
    assert run(["query", str(release), AVERAGE]) == 0
    output = capsys.readouterr()
    assert "without guarantee: the files are not verified" in output.out
    assert "guaranteed" not in output.out


@pytest.mark.parametrize("how", [["--check"], "digest", "check"])
def test_what_was_verified_here_is_remembered_and_hashed_no_more(release, ask, hashed_files, how):
    if how == "check":
        assert run(["check", str(release)]) == 0
    else:
        options = ["--digest", announced_digest(release)] if how == "digest" else how
        assert ask(*options)[1]["verified"] is True
    hashed_files.clear()
    code, document, error = ask()
    assert (code, document["guaranteed"], document["verified"]) == (0, True, True)
    assert "not verified" not in error
    assert hashed_files == []


def test_integrity_is_remembered_and_is_not_verification(ask, hashed_files):
    ask()
    assert hashed_files
    hashed_files.clear()
    assert ask()[1]["verified"] is False
    assert hashed_files == []


def test_another_digest_than_the_announced_one(release, ask):
    code, _, error = ask("--digest", "0" * 64)
    assert (code, len(error.splitlines())) == (3, 1)
    ask("--check")
    assert ask("--digest", "0" * 64)[0] == 3
    assert ask("--digest", announced_digest(release))[0] == 0


def test_an_empty_digest_vouches_for_nothing(ask):
    assert ask("--digest", "")[0] == 3


def rewritten(path):
    path.write_bytes(path.read_bytes())


def set_back(path):
    """Other bytes of the same size, with the old times as far as they can be set."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_file(path):
    shutil.copy2(path, path.with_name("other"))
    path.with_name("other").replace(path)


@pytest.mark.parametrize("change", [os.utime, rewritten, set_back, replace_file])
@pytest.mark.parametrize("file", ["data/microdata.parquet", "sql/duckdb.sql", MANIFEST])
def test_a_file_that_is_touched_must_be_verified_again(release, reader, change, file):
    WayIn(reader, check=check).open(release)
    assert WayIn(reader).open(release).verified
    time.sleep(0.02)
    change(release / file)
    if change is set_back:
        with pytest.raises((PromiseError, InputError)):
            WayIn(reader).open(release)
    else:
        assert not WayIn(reader).open(release).verified


def test_a_file_more_or_less_is_refused(release, reader):
    WayIn(reader, check=check).open(release)
    (release / "data" / "more.csv").write_text("a\n")
    with pytest.raises(PromiseError, match="does not belong"):
        WayIn(reader).open(release)
    (release / "data" / "more.csv").unlink()
    (release / "sql" / "duckdb.sql").unlink()
    with pytest.raises(PromiseError, match="is missing"):
        WayIn(reader).open(release)


def test_an_empty_directory_more_is_refused(release, reader):
    WayIn(reader, check=check).open(release)
    (release / "data" / "more").mkdir()
    with pytest.raises(PromiseError, match="does not belong"):
        WayIn(reader).open(release)


def test_links_are_refused(release, reader, tmp_path):
    (release / "data").rename(tmp_path / "elsewhere")
    (release / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PromiseError, match="not a regular file"):
        WayIn(reader).open(release)


@pytest.mark.parametrize("path", ["../../secret", "/etc/passwd", "data/../../x"])
def test_a_manifest_lists_no_file_elsewhere(release, reader, path):
    manifest = json.loads((release / MANIFEST).read_bytes())
    manifest["resources"][0]["path"] = path
    manifest["sfumato"]["digest"] = integrity.digest(manifest)
    (release / MANIFEST).write_bytes(canonical_json(manifest))
    with pytest.raises(PromiseError, match="outside"):
        WayIn(reader).open(release)


@pytest.mark.parametrize("command", ["query", "load", "rewrite"])
def test_files_unlike_their_hashes_are_always_refused(release, reader, command, capsys, tmp_path):
    set_back(next((release / "data").glob("*.csv")))
    place = f"sqlite:///{tmp_path}/x.db"
    arguments = {
        "query": ["query", str(release), AVERAGE],
        "load": ["load", str(release), place],
        "rewrite": ["query", str(release), AVERAGE, "--rewrite", "duckdb"],
    }[command]
    assert run(arguments) == 3
    output = capsys.readouterr()
    assert (output.out, len(output.err.splitlines())) == ("", 1)
    assert "SHA-256" in output.err
    assert not (tmp_path / "x.db").exists()


def test_a_manifest_unlike_its_digest_is_refused(release, reader):
    manifest = json.loads((release / MANIFEST).read_bytes())
    manifest["title"] = "Another"
    (release / MANIFEST).write_bytes(canonical_json(manifest))
    with pytest.raises(PromiseError, match="digest"):
        WayIn(reader).open(release)


@pytest.mark.parametrize("arguments", [["load"], ["rewrite"]])
def test_load_and_rewrite_say_what_is_not_verified(release, reader, arguments, capsys, tmp_path):
    def call(*options):
        url = f"sqlite:///{tmp_path}/{len(options)}.db"
        arguments_given = [url] if arguments == ["load"] else [AVERAGE, "--rewrite", "duckdb"]
        name = "load" if arguments == ["load"] else "query"
        assert run([name, str(release), *arguments_given, *options]) == 0
        return capsys.readouterr().err

    assert "not verified" in call()
    assert "not verified" not in call("--digest", announced_digest(release))
    assert "not verified" not in call("--check", "--limit", "rows=100")


class TestTheRecord:
    @pytest.fixture
    def record(self, release, reader, tmp_path):
        WayIn(reader, check=check).open(release)
        (record_file,) = (tmp_path / "cache" / "sfumato" / "verified").iterdir()
        return record_file

    def test_it_is_the_users_alone(self, record):
        assert record.stat().st_mode & 0o777 == 0o600
        assert record.parent.stat().st_mode & 0o777 == 0o700
        assert record.parent.parent.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("mode", [0o644, 0o660, 0o700])
    def test_one_of_another_mode_is_ignored(self, record, release, reader, mode):
        record.chmod(mode)
        assert not WayIn(reader).open(release).verified

    def test_one_in_a_directory_of_others_is_ignored(self, record, release, reader):
        record.parent.chmod(0o777)
        assert not WayIn(reader).open(release).verified
        assert "true" in record.read_text()

    def test_one_of_another_user_is_ignored(self, record, release, reader, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert not WayIn(reader).open(release).verified

    def test_a_link_is_ignored(self, record, release, reader):
        record.rename(record.with_name("other"))
        record.symlink_to("other")
        assert not WayIn(reader).open(release).verified

    @pytest.mark.parametrize("content", ["", "{}", "[" * 100_000, '{"key": 1}', "null"])
    def test_one_that_cannot_be_read_is_ignored(self, record, release, reader, content):
        record.write_text(content)
        assert not WayIn(reader).open(release).verified

    @pytest.mark.parametrize("software", ["0.0.1", None])
    def test_what_other_software_found_is_found_again(
        self, record, release, reader, hashed_files, software
    ):
        content = json.loads(record.read_text())
        assert content.pop("software") == version("sfumato")
        record.write_text(json.dumps({**content, **({"software": software} if software else {})}))
        hashed_files.clear()
        assert not WayIn(reader).open(release).verified
        assert hashed_files
        assert WayIn(reader, check=check).open(release).verified
        assert WayIn(reader).open(release).verified

    def test_it_is_not_another_directorys(self, record, release, reader, tmp_path):
        shutil.copytree(release, tmp_path / "copied")
        assert not WayIn(reader).open(tmp_path / "copied").verified

    def test_a_cache_that_cannot_be_written_is_done_without(self, release, tmp_path):
        (tmp_path / "file").write_text("")
        nowhere = {"XDG_CACHE_HOME": str(tmp_path / "file")}
        assert WayIn(nowhere, check=check).open(release).verified
        assert not WayIn(nowhere).open(release).verified


def test_a_change_while_it_is_checked_is_not_remembered(release, reader):
    def changing(*_):
        os.utime(release / MANIFEST)

    WayIn(reader, check=changing).open(release)
    assert not WayIn(reader).open(release).verified


def test_what_changed_just_now_is_not_remembered(release, reader, monkeypatch):
    """Within a tick of the clock a file can change twice, and its time once."""
    monkeypatch.setattr(record, "_TICK_NS", 10**18)
    monkeypatch.setattr(record.time, "sleep", lambda _: None)
    assert WayIn(reader, check=check).open(release).verified
    assert not WayIn(reader).open(release).verified


@pytest.mark.parametrize("command", [["check"], ["query", AVERAGE], ["load", "sqlite:///x.db"]])
def test_where_there_is_no_release_nothing_is_walked(tmp_path, monkeypatch, command, capsys):
    monkeypatch.setattr(record, "_look", None)
    os.mkfifo(tmp_path / MANIFEST)
    assert run([command[0], str(tmp_path), *command[1:]]) == 2
    assert "is not a release: datapackage.json is missing" in capsys.readouterr().err
    assert run([command[0], str(tmp_path / ("x" * 300)), *command[1:]]) == 2
    assert "is not a release: datapackage.json is missing" in capsys.readouterr().err


def test_the_options_of_load_and_rewriting(release, reader, capsys, tmp_path):
    place = f"sqlite:///{tmp_path}/a.db"
    assert run(["load", str(release), place, "--digest", "0" * 64]) == 3
    assert run(["query", str(release), AVERAGE, "--rewrite", "duckdb", "--limit", "rows=1"]) == 2
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize("command", [["query"], ["load"], ["query", "--rewrite"]])
def test_tables_have_the_columns_that_the_manifest_tells(
    release, reader, capsys, tmp_path, command
):
    path = release / "data" / "microdata.parquet"
    table_read = pq.read_table(path)
    pq.write_table(
        table_read.rename_columns([f"{name}_" for name in table_read.column_names]), path
    )
    reseal(release)
    url = f"sqlite:///{tmp_path}/x.db"
    dialect = ["duckdb"] * (len(command) - 1)
    options = [url] if command == ["load"] else [AVERAGE, *command[1:], *dialect]
    assert run([command[0], str(release), *options]) == 3
    error = capsys.readouterr().err
    assert error == "sfumato: microdata.parquet: has other columns or types than declared\n"


def test_help_tables_have_the_columns_that_queries_need(release, reader, capsys):
    path = release / "sql" / "help_wage.parquet"
    table_read = pq.read_table(path)
    pq.write_table(
        table_read.rename_columns([f"{name}_" for name in table_read.column_names]), path
    )
    reseal(release)
    assert run(["query", str(release), AVERAGE]) == 3
    assert capsys.readouterr().err.startswith(
        "sfumato: help_wage.parquet: has no column 'group_id'. The release is damaged"
    )
