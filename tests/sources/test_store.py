"""Objects of an S3-compatible store, from a simulator on this machine."""

import gzip
import hashlib
import http.server
import threading
from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import InputError, SpecError, TransientFault
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.microdata import object_store as place
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from tests.microdata.sources import column, refusal
from tests.sources.simulator import SECRET, simulator

COLUMNS = {"n": column("integer"), "s": column()}
WHOLE = b"n,s\n1,x\n2,\n"


@pytest.fixture(scope="module")
def store():
    """The endpoint of a store with a bucket, and what writes objects into it."""
    with simulator() as (environ, write):
        write("visits/2026-01.csv", WHOLE)
        write("visits/deep/2026-02.csv.gz", gzip.compress(b"n,s\n3,y\n"))
        write("visits/_SUCCESS", b"")
        write("one.csv", WHOLE)
        write("odd//one.csv", WHOLE)
        write("odd/a*.csv", WHOLE)
        write("odd/ab.csv", b"n,s\n4,z\n")
        yield environ


@pytest.fixture
def read(store, tmp_path):
    def rows(uri, environ=None, **keys):
        source = Source.model_validate({"uri": uri, **keys})
        environ_ = store if environ is None else {**store, **environ}
        result = ingest(source, COLUMNS, "category", Path(), environ_, tmp_path / "scratch")
        return result.microdata["n"].array().to_pylist()

    return rows


def refusal_of(read, uri, kind=InputError, **keys):
    return refusal(lambda: read(uri, **keys), kind, SECRET)


def test_an_object_is_read_as_a_file(read):
    assert read("s3://bucket/one.csv") == [1, 2]
    assert read("s3://bucket/${KEY}", {"KEY": "one.csv"}) == [1, 2]


def test_all_below_a_key_are_read_as_a_folder(read):
    assert read("s3://bucket/visits") == read("s3://bucket/visits/") == [1, 2, 3]


def test_a_pattern_is_one_of_objects_as_of_files(read, store, tmp_path):
    assert read("s3://bucket/visits/2026-*.csv") == [1, 2]
    assert read("s3://bucket/v*/*/2026-0?.csv.gz") == [3]
    assert read("s3://bucket/visits/**/*.csv*") == [1, 2, 3]
    for uri in ("s3://bucket/visits/2027-*.csv", "s3://bucket/nowhere/*.csv"):
        assert refusal_of(read, uri) == f"{uri}: no file matches this pattern. Correct it"
    place.fetch(Source(uri="s3://bucket/visits/*.csv"), store, tmp_path / "fetched")
    fetched = [path.name for path in (tmp_path / "fetched").rglob("*")]
    assert fetched == ["2026-01.csv"]  # and nothing else


def test_an_object_that_is_called_like_a_pattern_is_itself(read):
    assert read("s3://bucket/odd/a*.csv") == [1, 2]
    assert read("s3://bucket/odd/a?.csv") == [1, 2, 4]


def test_a_pattern_is_pinned_as_one_of_files_is(read):
    pin = hashlib.sha256(f"{hashlib.sha256(WHOLE).hexdigest()}  2026-01.csv\n".encode()).hexdigest()
    assert read("s3://bucket/visits/*.csv", sha256=pin) == [1, 2]


def test_keys_that_are_no_paths_are_refused(read):
    uri = "s3://bucket/odd/"
    assert (
        refusal_of(read, uri)
        == f"{uri}: a key of an object has two slashes in a row. Rename the object"
    )


def test_the_endpoint_may_stand_in_the_spec(read, store):
    elsewhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    assert read("s3://bucket/one.csv", elsewhere, endpoint=store["AWS_ENDPOINT_URL"]) == [1, 2]


def test_an_object_is_pinned_as_a_file_is(read):
    pin = hashlib.sha256(WHOLE).hexdigest()
    assert read("s3://bucket/one.csv", sha256=pin) == [1, 2]
    assert "its SHA-256 differs from source.sha256, so the file" in refusal_of(
        read, "s3://bucket/one.csv", sha256="0" * 64
    )


def test_what_is_not_there(read):
    for uri in ("s3://bucket/none.csv", "s3://nobody/one.csv"):
        assert refusal_of(read, uri).startswith(f"{uri}: the ")
    for uri in ("s3://bucket", "s3://bucket/", "s3:///one.csv"):
        assert refusal_of(read, uri, SpecError) == f"{uri}: must be s3://bucket/key"


def test_keys_come_from_the_environment_alone(read):
    for missing in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        message = refusal_of(read, "s3://bucket/one.csv", environ={missing: ""})
        assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in message


def test_a_large_object_is_refused_before_it_is_fetched(read, tmp_path):
    uri = "s3://bucket/one.csv"
    limit = {"max-gigabytes": (len(WHOLE) - 1) / 10**9}
    assert (
        refusal_of(read, uri, **limit)
        == f"{uri}: is larger than source.max-gigabytes. Raise this number"
    )
    assert list((tmp_path / "scratch").iterdir()) == []
    assert read(uri, **{"max-gigabytes": len(WHOLE) / 10**9}) == [1, 2]


def test_nothing_is_fetched_where_stages_are_encrypted(store, tmp_path):
    source = Source(uri="s3://bucket/one.csv")
    with encrypted_below(tmp_path):
        message = refusal(lambda: place.fetch(source, store, tmp_path / "fetched"), SpecError)
    assert "stages: `encrypted`" in message
    assert not (tmp_path / "fetched").exists()


def test_it_lies_in_a_private_directory(store, tmp_path):
    path = place.fetch(Source(uri="s3://bucket/visits"), store, tmp_path / "fetched")
    for folder in (path, path / "deep"):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("status", [403, 500, 503])
def test_statuses_are_refusals_or_worth_another_attempt(read, status):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            uri, kind = "s3://bucket/one.csv", InputError if status == 403 else TransientFault
            endpoint = f"http://127.0.0.1:{server.server_port}"
            with pytest.raises(kind) as caught:
                read(uri, endpoint=endpoint)
            assert type(caught.value) is kind
            assert str(caught.value).startswith(f"{uri}: the store ")
        finally:
            server.shutdown()
            thread.join()


def test_a_store_that_is_not_there_is_worth_another_attempt(read):
    with pytest.raises(TransientFault, match="cannot be reached"):
        read("s3://bucket/one.csv", endpoint="http://127.0.0.1:1")


def test_an_endpoint_that_is_none(read):
    assert "the store's endpoint is not an address" in refusal_of(
        read, "s3://bucket/one.csv", endpoint="ftp://127.0.0.1:1"
    )
