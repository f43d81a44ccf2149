"""Releases from here, the web and a store: nothing is read that is not as its manifest states."""

import io
import json
import shutil
import stat
import urllib.request
from contextlib import contextmanager

import boto3
import duckdb
import pytest

import sfumato
from sfumato.flows.cli.main import run
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.verification.elsewhere import copied
from sfumato.tasks.verification.elsewhere.copied import copy_release
from sfumato.tasks.verification.elsewhere.web import WebDirectory, _SafeRedirects
from tests.api.elsewhere import serve_directory
from tests.corpus.lines import CORPUS
from tests.sources.simulator import simulator

LINE = CORPUS / "format-2" / "public" / "corpus-permuted"
COUNT = "SELECT COUNT(*) FROM microdata"


@pytest.fixture
def line(tmp_path):
    """A copy of a line that may be changed."""
    return shutil.copytree(LINE, tmp_path / "public" / LINE.name)


@pytest.fixture
def web(line):
    with serve_directory(line.parent) as server:
        yield server


@pytest.fixture
def cache(tmp_path, monkeypatch):
    place = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    return place / "sfumato" / "elsewhere"


@pytest.fixture
def address(web, cache):
    return f"{web.address}/{LINE.name}/0002"


def files_below(directory):
    paths = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def refusal(kind, place, **more):
    with pytest.raises(kind) as caught:
        sfumato.open(place, **more)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_directory_here_is_read_where_it_is(line):
    for place in (line / "0002", str(line / "0002"), (line / "0002").as_uri()):
        release = sfumato.open(place)
        assert release.directory == line / "0002"
        assert len(release.query(COUNT)) == 1


def test_what_its_owner_says_of_columns_is_told():
    schema = sfumato.open(CORPUS / "format-6-labels/public/corpus-permuted/0001").schema
    assert schema["age"].description == "in years"
    assert schema["sex"].labels == {"Female": "women", "Male": "men", "Other": "neither"}
    assert (schema["sex"].description, schema["age"].labels) == (None, {})


def test_what_is_told_of_a_release(line):
    release = sfumato.open(line / "0002")
    assert (release.name, release.title[:9]) == ("corpus-permuted", "UCI Adult")
    assert release.digest == release.manifest["sfumato"]["digest"]
    assert release.schema["fnlwgt"] == sfumato.SchemaColumn("fnlwgt", "sensitive", "integer", False)
    assert list(release.tables) == ["microdata", "vacant", "lineage"]
    assert release.tables["microdata"].num_rows == 200
    for text in (repr(release), release._repr_html_()):
        assert "corpus-permuted 0002" in text
        assert "no: check() verifies it" in text


def test_tables_of_ones_own_are_joined(line):
    import pandas as pd

    release = sfumato.open(line / "0002")
    sides = pd.DataFrame({"sex": ["Female", "Male"], "side": ["a", "b"]})
    joined = release.query(
        "SELECT side, COUNT(*) AS n FROM microdata JOIN sides USING (sex) GROUP BY side ORDER BY n",
        tables={"sides": sides},
    )
    plain = release.query("SELECT sex, COUNT(*) AS n FROM microdata GROUP BY sex ORDER BY n")
    assert [row["n"] for row in joined] == [row["n"] for row in plain]
    with pytest.raises(sfumato.InputError, match="is not a path or a table that Arrow can read"):
        release.query(COUNT, tables={"sides": 3})


def test_a_check_makes_answers_guaranteed(line):
    release = sfumato.open(line / "0002")
    assert not release.query(COUNT).guaranteed
    report = release.check()
    assert report[0].startswith("ke-anonymity is kept in all 44 groups")
    assert release.verified
    assert release.query(COUNT).guaranteed
    assert sfumato.open(line / "0002", check=True).verified


def test_a_digest_vouches_and_another_is_refused(line):
    digest = sfumato.open(line / "0002").digest
    assert sfumato.open(line / "0002", digest=digest).verified
    assert "its digest is not the announced one" in refusal(
        sfumato.PromiseError, line / "0002", digest="0" * 64
    )


def test_limits_are_those_of_the_command(line):
    assert "the limit is 3" in refusal(sfumato.InputError, line / "0002", limits={"rows": 3})
    assert "must be one of" in refusal(sfumato.SpecError, line / "0002", limits={"depth": 3})


def test_no_answer_is_given_from_files_that_changed(line):
    release = sfumato.open(line / "0002")
    release.query(COUNT)
    table = line / "0002" / "data" / "microdata.parquet"
    write_atomically(table, (LINE / "0001" / "data" / "microdata.parquet").read_bytes())
    for ask in (lambda: release.query(COUNT), release.connect):
        with pytest.raises(sfumato.PromiseError, match="changed after they were verified"):
            ask()


@pytest.mark.usefixtures("own_databases")
class TestConnections:
    """DuckDB on the published tables, and on nothing else."""

    def test_rewritten_queries_give_the_bounds_there(self, line):
        release = sfumato.open(line / "0002")
        sql = "SELECT sex, AVG(fnlwgt) AS a FROM microdata GROUP BY sex"
        with release.connect() as connection:
            rows = connection.sql(release.rewrite(sql)).fetchall()
        ends = {sex: (low, high) for sex, low, high in rows}
        for row in release.query(sql):
            low, high = ends.pop(row["sex"])
            assert low <= row["a"].lower <= row["a"].upper <= high
            assert (low, high) == pytest.approx((row["a"].lower, row["a"].upper), rel=1e-14)
        assert not ends

    def test_tables_are_there_by_their_names(self, line):
        with sfumato.open(line / "0002").connect() as connection:
            assert connection.sql("SELECT count(*) FROM microdata").fetchall() == [(200,)]
            assert connection.sql("SELECT count(*) > 0 FROM help_fnlwgt").fetchall() == [(True,)]

    def test_no_other_file_is_read(self, line, tmp_path):
        (tmp_path / "other.csv").write_text("a\n1\n")
        connection = sfumato.open(line / "0002").connect()
        with connection, pytest.raises(duckdb.PermissionException, match="disabled"):
            connection.sql(f"SELECT * FROM '{tmp_path / 'other.csv'}'").fetchall()


class TestTheWeb:
    """Copied once, verified always."""

    def test_the_copy_is_the_release(self, address, line, cache):
        release = sfumato.open(address)
        assert files_below(release.directory) == files_below(line / "0002")
        assert release.directory.is_relative_to(cache)
        assert release.query(COUNT)[0]["COUNT(*)"].lower == 200

    def test_nobody_else_can_change_the_copy(self, address, cache):
        sfumato.open(address)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (cache, *cache.rglob("*"))}
        assert modes <= {0o700, 0o600}

    def test_files_stand_as_deep_as_they_are_listed(self, tmp_path):
        file = copied._new_file(tmp_path, "parts/0001/data/microdata.parquet")
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700

    def test_what_did_not_change_is_not_fetched_again(self, address, web):
        sfumato.open(address)
        web.asked.clear()
        sfumato.open(f"{address}/")
        assert sorted(path.rpartition("/")[2] for path in web.asked) == [
            "datapackage.json",
            "datapackage.json.sig",
            "keys.json",
            "log.json",
            "releases.json",
        ]

    def test_another_version_in_its_place_is_fetched(self, address, line):
        before = sfumato.open(address).digest
        shutil.rmtree(line / "0002")
        shutil.copytree(LINE / "0001", line / "0002")
        assert sfumato.open(address).digest != before

    def test_a_changed_file_is_refused_and_nothing_is_kept(self, address, line, cache):
        table = line / "0002" / "data" / "microdata.parquet"
        content = bytearray(table.read_bytes())
        content[100] ^= 1
        table.write_bytes(content)
        assert "its SHA-256 is not the one" in refusal(sfumato.PromiseError, address)
        assert [path.name for path in cache.rglob("*") if path.is_dir()][1:] == []

    @pytest.mark.parametrize("more", [b"", b"more"])
    def test_a_file_of_another_size_is_refused(self, address, web, more):
        web.instead["microdata.parquet"] = more
        assert "its SHA-256 is not the one" in refusal(sfumato.PromiseError, address)

    def test_a_file_without_end_is_left(self, address, monkeypatch):
        """Bytes that a server sends beyond the stated size are neither read nor written."""
        pieces, sent = WebDirectory.pieces, []

        def endless():
            while len(sent) < 99:
                sent.append(b"more" * 10**5)
                yield sent[-1]

        @contextmanager
        def instead(self, name):
            with pieces(self, name) as web:
                yield endless() if name.endswith("microdata.parquet") else web

        monkeypatch.setattr(WebDirectory, "pieces", instead)
        assert "its SHA-256 is not the one" in refusal(sfumato.PromiseError, address)
        assert len(sent) == 1

    def test_a_changed_manifest_is_refused(self, address, line):
        path = line / "0002" / "datapackage.json"
        path.write_bytes(path.read_bytes().replace(b'"published":200', b'"published":201'))
        assert "its digest is not that of its content" in refusal(sfumato.PromiseError, address)

    def test_a_missing_file_is_refused(self, address, line):
        (line / "0002" / "validation.json").unlink()
        assert refusal(sfumato.PromiseError, address) == "0002/validation.json: is missing"

    def test_no_path_leads_out_of_the_copy(self, address, line, tmp_path):
        path = line / "0002" / "datapackage.json"
        content = json.loads(path.read_bytes())
        content["resources"][0]["path"] = "../../../escaped"
        path.write_text(json.dumps(content))
        assert "outside the release" in refusal(sfumato.PromiseError, address)
        assert not list(tmp_path.rglob("escaped"))

    @pytest.mark.parametrize("place", ["https://127.0.0.1/x", "http://localhost:8080/x"])
    def test_another_machine_does_not_lead_to_this_one(self, place):
        request = urllib.request.Request("https://example.org/wages/0001/datapackage.json")
        with pytest.raises(sfumato.SpecError, match="redirects to this machine itself"):
            _SafeRedirects().redirect_request(request, io.BytesIO(), 302, "", {}, place)

    @pytest.mark.parametrize("name", ["datapackage.json", "data", "a\0b", "x" * 300])
    def test_no_path_is_one_that_is_taken_or_impossible(self, address, line, name):
        path = line / "0002" / "datapackage.json"
        content = json.loads(path.read_bytes())
        content["resources"][-1]["path"] = name
        path.write_text(json.dumps(content))
        assert "at which no file can be written" in refusal(sfumato.PromiseError, address)

    def test_a_large_release_is_refused_before_it_is_fetched(self, address, web):
        assert "the limit is 1e-06" in refusal(sfumato.InputError, address, gigabytes=1e-6)
        assert not [path for path in web.asked if path.endswith(".parquet")]

    def test_a_large_document_is_refused(self, address, web, monkeypatch):
        monkeypatch.setattr(copied, "_DOCUMENT", 1000)
        assert "is larger than 1000 bytes" in refusal(sfumato.InputError, address)

    def test_sizes_that_are_none_are_refused(self, address, line):
        path = line / "0002" / "datapackage.json"
        content = json.loads(path.read_bytes())
        content["resources"][0]["bytes"] = -1
        path.write_text(json.dumps(content))
        assert "with their sizes" in refusal(sfumato.PromiseError, address)

    def test_a_withdrawal_is_known_at_the_next_opening(self, address, line):
        sfumato.open(address)
        record = json.loads((line / "releases.json").read_text())
        record["versions"]["0002"]["status"] = "withdrawn"
        (line / "releases.json").write_text(json.dumps(record))
        assert "was withdrawn" in refusal(sfumato.PromiseError, address)

    def test_a_tombstone_takes_the_place_of_the_copy(self, address, line, cache):
        digest = sfumato.open(address).digest
        shutil.rmtree(line / "0002")
        (line / "0002").mkdir()
        tombstone = {
            "format": 1,
            "line": LINE.name,
            "version": "0002",
            "digest": digest,
            "time": "2026-05-01T00:00:00+00:00",
            "reason": "the wrong table",
        }
        (line / "0002" / "withdrawal.json").write_text(json.dumps(tombstone))
        message = refusal(sfumato.PromiseError, address)
        assert "was withdrawn on 2026-05-01: the wrong table" in message
        assert not list(cache.rglob("*.parquet"))

    def test_what_is_no_more_is_not_read_from_the_copy(self, address, line):
        sfumato.open(address)
        shutil.rmtree(line / "0002")
        assert "no release here" in refusal(sfumato.InputError, address)

    @pytest.mark.parametrize("status", [403, 404, 410])
    def test_no_release(self, address, web, status):
        web.instead = dict.fromkeys(("datapackage.json", "withdrawal.json"), status)
        assert "no release here" in refusal(sfumato.InputError, address)

    @pytest.mark.parametrize("status", [300, 401, 499])
    def test_a_server_that_refuses(self, address, web, status):
        web.instead["datapackage.json"] = status
        assert f"the server refuses access (status {status})" in refusal(
            sfumato.InputError, address
        )

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_a_server_that_has_no_answer_now(self, address, web, status):
        web.instead["releases.json"] = status
        assert f"(status {status})" in refusal(sfumato.TransientFault, address)

    def test_a_server_that_is_not_there(self, cache):
        message = refusal(sfumato.TransientFault, "http://127.0.0.1:1/wages/0001")
        assert message.endswith("cannot be reached, or the connection broke. Try again later")

    def test_redirections_lead_to_safe_places_alone(self, address, web, cache):
        web.instead["releases.json"] = f"{web.address}/{LINE.name}/0001/index.html"
        sfumato.open(address)
        web.instead["validation.json"] = f"{address}/validation.json"  # without end
        shutil.rmtree(cache)
        assert "(status 302)" in refusal(sfumato.InputError, address)
        web.instead["validation.json"] = "http://example.org/x"
        assert "Use https" in refusal(sfumato.SpecError, address)
        for elsewhere in ("file:///etc/hostname", "ftp://127.0.0.1/x"):
            web.instead["validation.json"] = elsewhere
            refusal(sfumato.SpecError if elsewhere[:3] == "ftp" else sfumato.InputError, address)

    @pytest.mark.parametrize(
        "address",
        ["http://example.org/wages/0001", "http://127.0.0.1.example.org/wages/0001"],
    )
    def test_plain_http_is_for_this_machine_alone(self, address, cache):
        assert "Use https" in refusal(sfumato.SpecError, address)

    @pytest.mark.parametrize("secret", ["https://me:hunter2@example.org/a/0001"])
    def test_no_secret_of_an_address_is_told(self, secret, cache):
        assert "hunter2" not in refusal(sfumato.SpecError, secret)

    @pytest.mark.parametrize("version", ["..", ".hidden", "a b", "0001?x=1"])
    def test_an_address_ends_with_a_version(self, web, cache, version):
        message = refusal(sfumato.SpecError, f"{web.address}/{LINE.name}/{version}")
        assert "version" in message

    def test_trusted_keys_are_asked_for_elsewhere_as_here(self, cache, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        signed = CORPUS / "format-1" / "public"
        with serve_directory(signed) as web:
            address = f"{web.address}/corpus-permuted/0002"
            release = sfumato.open(address)
            assert "a key that you do not trust yet" in release.author
            web.instead["datapackage.json.sig"] = b"{}"
            assert "datapackage.json.sig" in refusal(sfumato.PromiseError, address)


class TestLines:
    """A line's directory, or its address, stands for its current version."""

    def test_a_directory_opens_the_current_version(self, line):
        for place in (line, f"{line}/", line.as_uri()):
            release = sfumato.open(place)
            assert release.directory == line / "0002"
            assert (release.version, release.line.current) == ("0002", "0002")

    def test_an_earlier_version_may_be_current(self, line):
        record = json.loads((line / "releases.json").read_text())
        record["current"] = "0001"
        write_atomically(line / "releases.json", json.dumps(record).encode())
        assert sfumato.open(line).version == "0001"

    def test_a_line_without_a_current_version_is_refused(self, line):
        record = json.loads((line / "releases.json").read_text())
        record["current"] = None
        write_atomically(line / "releases.json", json.dumps(record).encode())
        message = refusal(sfumato.InputError, line)
        assert "has no current version (0001 superseded, 0002 published)" in message
        assert message.endswith(f"Name a version, such as {line}/0001")

    def test_a_directory_of_lines_names_them(self, line):
        shutil.copytree(line, line.with_name("other"))
        with pytest.raises(sfumato.InputError, match="has lines of releases") as caught:
            sfumato.open(line.parent)
        ways = str(caught.value).split("\n  - ")[1:]
        assert ways == [str(line), str(line.with_name("other"))]

    def test_an_address_opens_the_current_version(self, web, cache, line):
        release = sfumato.open(f"{web.address}/{LINE.name}/")
        assert (release.version, release.line.current) == ("0002", "0002")
        assert files_below(release.directory) == files_below(line / "0002")

    def test_a_version_asks_for_no_record_of_its_own(self, address, web):
        sfumato.open(address)
        assert f"/{LINE.name}/0002/releases.json" not in web.asked

    def test_what_is_no_line_is_no_release(self, web, cache):
        assert "no release here" in refusal(sfumato.InputError, f"{web.address}/nowhere")

    def test_a_damaged_record_is_refused(self, line):
        write_atomically(line / "releases.json", b"[]")
        assert "releases.json" in refusal(sfumato.PromiseError, line)

    @pytest.mark.parametrize("elsewhere", [True, False])
    def test_commands_name_the_version_that_they_read(self, line, web, cache, elsewhere, capsys):
        place = f"{web.address}/{LINE.name}" if elsewhere else str(line)
        note = "note: version 0002 is the current one of corpus-permuted"
        assert run(["query", place, COUNT, "--format", "csv"]) == 0
        output = capsys.readouterr()
        assert output.out.splitlines() == [
            "COUNT(*)_lower,COUNT(*)_upper,COUNT(*)_estimate",
            "200,200,200",
        ]
        assert output.err.splitlines()[0] == note
        assert run(["check", place]) == 0
        output = capsys.readouterr()
        assert "ke-anonymity is kept in all 44 groups" in output.out
        assert output.err.splitlines()[0] == note
        assert run(["diff", str(line / "0001"), place]) == 0
        assert "0002 continues 0001" in capsys.readouterr().out

    def test_a_version_is_read_without_a_note(self, line, capsys):
        assert run(["query", str(line / "0002"), COUNT]) == 0
        assert "current" not in capsys.readouterr().err


@pytest.fixture(scope="module")
def store():
    """The environment that leads to a store which has the line."""
    with simulator() as (environ, write):
        for path in LINE.rglob("*"):
            if path.is_file():
                write(f"public/{LINE.name}/{path.relative_to(LINE)}", path.read_bytes())
        _let_anybody_read(environ)
        yield environ


def _let_anybody_read(environ):
    client = boto3.client(
        "s3",
        endpoint_url=environ["AWS_ENDPOINT_URL"],
        aws_access_key_id=environ["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environ["AWS_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
    )
    for item in client.list_objects_v2(Bucket="bucket")["Contents"]:
        client.put_object_acl(Bucket="bucket", Key=item["Key"], ACL="public-read")
    client.close()


class TestStores:
    """The same from a store of objects."""

    @pytest.mark.parametrize("keys", [True, False])
    def test_the_copy_is_the_release(self, store, cache, keys):
        environ = {**store, "XDG_CACHE_HOME": str(cache)}
        if not keys:
            environ = {k: v for k, v in environ.items() if "KEY" not in k}
        copy = copy_release(f"s3://bucket/public/{LINE.name}/0002", environ)
        assert files_below(copy) == files_below(LINE / "0002")
        assert (copy.parent / "releases.json").read_bytes() == (LINE / "releases.json").read_bytes()

    @pytest.mark.parametrize(("place", "version"), [("/0001", "0001"), ("", "0002")])
    def test_it_is_opened_by_its_address(self, store, cache, monkeypatch, place, version):
        for name, value in store.items():
            monkeypatch.setenv(name, value)
        release = sfumato.open(f"s3://bucket/public/{LINE.name}{place}")
        assert release.query(COUNT)[0]["COUNT(*)"].lower > 0
        assert release.version == version

    @pytest.mark.parametrize("place", ["nothing/0001", "public/nothing/0001"])
    def test_no_release(self, store, cache, place):
        environ = {**store, "XDG_CACHE_HOME": str(cache)}
        with pytest.raises(sfumato.InputError, match="no release here"):
            copy_release(f"s3://bucket/{place}", environ)

    @pytest.mark.parametrize("address", ["s3://bucket/0001", "s3:///a/0001", "s3://b@c/a/0001"])
    def test_an_address_names_bucket_and_line(self, store, cache, address):
        with pytest.raises(sfumato.SpecError):
            copy_release(address, {**store, "XDG_CACHE_HOME": str(cache)})


class TestCommands:
    """The same addresses are taken by commands that read releases."""

    def test_it_is_asked_and_checked(self, address, line, capsys):
        assert run(["query", address, COUNT, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert run(["query", str(line / "0002"), COUNT, "--format", "json"]) == 0
        assert document["rows"] == json.loads(capsys.readouterr().out)["rows"]
        assert run(["check", address]) == 0
        assert "ke-anonymity is kept in all" in capsys.readouterr().out

    def test_it_is_loaded_and_compared(self, address, tmp_path, capsys):
        database = f"duckdb:///{tmp_path}/own.duckdb"
        assert run(["load", address, database]) == 0
        assert "microdata" in capsys.readouterr().out
        assert run(["diff", address.replace("0002", "0001"), address]) == 0
        assert "0002 continues 0001" in capsys.readouterr().out

    def test_what_is_not_there_is_told_by_its_address(self, address, capsys):
        assert run(["query", f"{address}9", COUNT]) == 2
        (message,) = capsys.readouterr().err.splitlines()
        assert f"{address}9" in message
        assert run(["check", "ftp://example.org/wages/0001"]) == 2
        (message,) = capsys.readouterr().err.splitlines()
        assert "ftp" in message
