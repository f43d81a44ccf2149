"""A store of objects: in which order, by whom, and what is said where it refuses."""

import hashlib
import json
import threading
from contextlib import contextmanager

import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.destinations import bucket, bucket_client
from sfumato.tasks.destinations.bucket import Bucket
from sfumato.tasks.destinations.declared import StoreDestination
from sfumato.tasks.destinations.store import ObjectStore
from sfumato.tasks.lines.known_destinations import DESTINATIONS, read_destinations
from sfumato.tasks.lines.pages import rebuild_pages
from sfumato.tasks.publication.withdrawal import withdraw
from tests.destinations.dying import kill_delivery
from tests.destinations.places import PREFIX, bring
from tests.destinations.test_kills import STEPS
from tests.release.small import Small, people
from tests.sources.simulator import SECRET

ROOT = f"{PREFIX}/wages/"
RECORD, MANIFEST = f"{ROOT}releases.json", f"{ROOT}0001/datapackage.json"
LOG = f"{ROOT}log.json"


@pytest.fixture
def calls(monkeypatch):
    """Return the keys that are written and deleted, in order."""
    calls_made = []
    for name in STEPS[:-1]:
        original = getattr(Bucket, name)

        def note(self, keys, *rest, name=name, original=original):
            calls_made.extend((name, key) for key in ([keys] if isinstance(keys, str) else keys))
            return original(self, keys, *rest)

        monkeypatch.setattr(Bucket, name, note)
    return calls_made


def head_object(store, key):
    return store.client.head_object(Bucket=store.bucket, Key=key, ChecksumMode="ENABLED")


def places(calls, key):
    return [place for place, (_, key_called) in enumerate(calls) if key_called == key]


def test_a_claim_then_data_then_the_manifest_then_the_record_and_its_log(
    with_versions, store, calls
):
    bring(with_versions(1), store)
    of_version = [place for place, (_, key) in enumerate(calls) if f"{ROOT}0001/" in key]
    claims = places(calls, f"{ROOT}.claims/0001")
    assert claims[-1] < of_version[0]
    assert places(calls, MANIFEST) == [of_version[-1]]
    (record,) = places(calls, RECORD)
    of_line = [place for place, (_, key) in enumerate(calls) if key.startswith(ROOT)]
    assert [record, *places(calls, LOG)] == of_line[-2:]
    assert {calls[place][0] for place in (*claims, of_version[-1], record)} == {"create"}


def test_the_verifier_is_replaced_whole_and_only_if_it_differs(with_versions, store, calls):
    line = with_versions(1)
    older = line.public / "verifier"
    (older / "modules" / "older.js").write_text("export {}")
    (older / "SHA256SUMS").write_bytes((older / "SHA256SUMS").read_bytes() + b"\n")
    bring(line, store)
    store.require_as(line)
    assert rebuild_pages(line.public.parent) == ()
    bring(line, store)
    store.require_as(line)
    assert f"{ROOT}verifier/modules/older.js" not in store.objects()
    calls.clear()
    withdraw(line, "0001", "a wrong table")
    bring(line, store)
    assert [key for _, key in calls if "/verifier/" in key] == []
    kinds = {
        name: head_object(store, f"{ROOT}verifier/{name}")["ContentType"].partition(";")[0]
        for name in ("index.html", "page.js", "page.css")
    }
    assert list(kinds.values()) == ["text/html", "text/javascript", "text/css"]


def test_the_record_is_replaced_as_it_was_read(with_versions, store, calls):
    line = with_versions(1)
    bring(line, store)
    Small(line.public.parents[1]).write(people(first=7000, seed=7)).publish("another")
    calls.clear()
    bring(line, store)
    assert ("replace", RECORD) in calls
    assert [call for call in calls if "/0001/" in call[1]] == []


def test_a_withdrawal_is_told_before_anything_goes(with_versions, store, calls):
    line = with_versions(2)
    bring(line, store)
    calls.clear()
    withdraw(line, "0002", "the wrong table")
    bring(line, store)
    below = f"{ROOT}0002/"
    assert calls[0] == ("replace", RECORD)
    assert calls[1:3] == [("write", f"{below}index.html"), ("write", f"{below}withdrawal.json")]
    assert calls[3] == ("delete", f"{below}datapackage.json")
    gone = [key for name, key in calls if name == "delete"]
    assert len(gone) > 4
    assert all(key.startswith(below) for key in gone)


def test_types_checksums_and_no_long_life_in_caches(with_versions, store):
    bring(with_versions(1), store)
    types = {
        "0001/data/microdata.parquet": "application/vnd.apache.parquet",
        "0001/data/microdata.csv": "text/csv",
        "0001/datapackage.json": "application/json",
        "0001/index.html": "text/html; charset=utf-8",
        "0001/sql/duckdb.sql": "application/sql",
        "index.html": "text/html; charset=utf-8",
        "feed.atom": "application/atom+xml",
        "dcat.jsonld": "application/ld+json",
        "CITATION.cff": "application/yaml",
        "releases.json": "application/json",
    }
    for name, kind in types.items():
        head = head_object(store, f"{ROOT}{name}")
        assert (head["ContentType"], head["CacheControl"]) == (kind, "no-cache"), name
        digest = hashlib.sha256(store.read(f"{ROOT}{name}")).digest()
        assert head["Metadata"] == {"sfumato-sha256": digest.hex()}


def test_large_files_are_sent_in_parts(with_versions, store, monkeypatch, tmp_path):
    monkeypatch.setattr(bucket, "_PART", 5 << 20)
    line = with_versions(1)
    bring(line, store)
    large = tmp_path / "large.parquet"
    large.write_bytes(b"0123456789abcdef" * (12 << 16))
    with bucket_client.open_bucket(store.declared, store.bucket, store.environ) as opened:
        opened.send("large", large, "f" * 64)
        assert opened.sha256("large") == "f" * 64
    assert store.read("large") == large.read_bytes()
    assert head_object(store, "large")["ETag"].strip('"').endswith("-3")


def test_what_is_missing_or_was_cut_is_sent_again(with_versions, store):
    line = with_versions(1)
    bring(line, store)
    store.client.delete_object(Bucket=store.bucket, Key=f"{ROOT}0001/data/microdata.csv")
    store.write(f"{ROOT}0001/index.html", b"defaced")
    store.write(
        f"{ROOT}0001/validation.json", b"x" * len(store.read(f"{ROOT}0001/validation.json"))
    )
    assert bring(line, store).copied == ("0001",)
    store.require_as(line)


class TestTwoWriters:
    """Two lines of the same name, and of other people, in two work directories."""

    @pytest.fixture
    def other(self, tmp_path, monkeypatch):
        work = tmp_path / "other"
        work.mkdir()
        with monkeypatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(work / "work"))
            small = Small(work / "line").write(people(first=9000, seed=9))
            small.publish("of-another")
            return small.plan().line

    def test_the_second_is_refused_before_it_overwrites_anything(self, with_versions, store, other):
        line = with_versions(1)
        assert kill_delivery(line, store, 5, Bucket, STEPS)  # has claimed, and sent some
        before = store.objects()
        delivery = bring(other, store)
        assert "has another release as version 0001" in delivery.behind
        assert "nothing was overwritten" in delivery.behind
        assert store.objects() == before
        assert bring(line, store).behind is None
        store.require_as(line)

    def test_a_manifest_that_came_meanwhile_stays(self, with_versions, store, monkeypatch):
        line, create = with_versions(1), Bucket.create

        def late(self, key, *rest):
            if key == MANIFEST:
                store.write(MANIFEST, b'{"sfumato": {"digest": "of-somebody-else"}}')
            return create(self, key, *rest)

        monkeypatch.setattr(Bucket, "create", late)
        delivery = bring(line, store)
        assert "has another release as version 0001 (digest of-somebody-" in delivery.behind
        assert b"somebody-else" in store.read(MANIFEST)
        assert RECORD not in store.objects()

    def test_a_record_that_came_meanwhile_is_not_written_over(
        self, with_versions, store, other, monkeypatch
    ):
        line, create = with_versions(1), Bucket.create
        theirs = (other.public / "releases.json").read_bytes()

        def late(self, key, *rest):
            if key == RECORD and RECORD not in store.objects():
                store.write(RECORD, theirs)
            return create(self, key, *rest)

        monkeypatch.setattr(Bucket, "create", late)
        assert "another work directory" in bring(line, store).behind
        assert store.read(RECORD) == theirs

    @pytest.mark.parametrize("same", [True, False])
    def test_at_once(self, with_versions, store, other, same):
        """In processes of their own, which begin when both are there."""
        import multiprocessing

        context = multiprocessing.get_context("fork")
        line, ready, results = with_versions(1), context.Barrier(2), context.Queue()

        def write(target_line):
            ready.wait(30)
            results.put(bring(target_line, store).behind)

        runs = [line, line] if same else [line, other]
        processes = [context.Process(target=write, args=(target_line,)) for target_line in runs]
        for process in processes:
            process.start()
        results_ = [results.get(timeout=60) for _ in processes]
        for process in processes:
            process.join(30)
        if same:
            assert results_ == [None, None]
            store.require_as(line)
        else:
            (refused,) = [result for result in results_ if result is not None]
            assert "nothing was overwritten" in refused or "another work directory" in refused
            record = json.loads(store.read(RECORD))
            store.require_as(line if record["owner"] == owner(line) else other)


def owner(line):
    return json.loads((line.public / "releases.json").read_bytes())["owner"]


def test_a_store_that_knows_no_conditions_is_refused(with_versions, store, monkeypatch):
    put = Bucket._put

    def unconditional(self, key, content, **_):
        return put(self, key, content)

    monkeypatch.setattr(Bucket, "_put", unconditional)
    delivery = bring(with_versions(1), store)
    assert "the store does not support conditional writes" in delivery.behind
    assert list(store.objects()) == [f"{ROOT}.claims/0001"]


def answering(monkeypatch, operation, code, status=403):
    """Have the store answer one operation with an error."""
    from botocore.client import BaseClient
    from botocore.exceptions import ClientError

    original = BaseClient._make_api_call

    def call(self, name, parameters):
        if name == operation:
            text = f"{SECRET} CANARYanswer"
            raise ClientError({"Error": {"Code": code, "Message": text}}, name)
        return original(self, name, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", call)


@pytest.mark.parametrize(
    ("operation", "code", "rule"),
    [
        ("PutObject", "AccessDenied", "the keys may not do this there (s3:PutObject)"),
        ("GetObject", "InvalidAccessKeyId", "does not know the access key (AWS_ACCESS_KEY_ID)"),
        ("GetObject", "SignatureDoesNotMatch", "refuses the secret key (AWS_SECRET_ACCESS_KEY)"),
        ("ListObjectsV2", "AccessDenied", "the keys may not do this there (s3:ListBucket)"),
        ("GetObject", "ExpiredToken", "the session has ended (AWS_SESSION_TOKEN)"),
        ("GetObject", "PermanentRedirect", "the bucket is in another region (AWS_REGION)"),
        ("PutObject", "NotImplemented", "the store does not support conditional writes"),
        (
            "PutObject",
            "SlowDown",
            ("the store cannot be reached, or broke the connection off (SlowDown)"),
        ),
        ("PutObject", "Strange", "the store refuses (Strange)"),
        ("PutObject", "very strange: CANARYanswer", "the store refuses (an unknown code)"),
    ],
)
def test_each_refusal_is_a_line_of_ours(
    with_versions, store, monkeypatch, operation, code, rule, caplog
):
    line = with_versions(1)
    answering(monkeypatch, operation, code)
    delivery = bring(line, store)
    assert rule in delivery.behind
    noted = (line.private / DESTINATIONS).read_text()
    for place in (delivery.behind, noted, caplog.text):
        assert "CANARY" not in place


def elsewhere(store, **changes):
    store.declared = store.declared.model_copy(update=changes)
    return store


def test_there_is_no_such_bucket(with_versions, store):
    delivery = bring(with_versions(1), elsewhere(store, uri="s3://nobody-has-this/x"))
    assert delivery.behind == "the bucket does not exist. Make it first"


def test_nobody_answers(with_versions, store):
    delivery = bring(with_versions(1), elsewhere(store, endpoint="http://127.0.0.1:1"))
    assert (
        "the store cannot be reached, or broke the connection off (EndpointConnectionError)"
        in delivery.behind
    )


@pytest.mark.parametrize("missing", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_keys_come_from_the_environment_alone(with_versions, store, missing, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-this-process")
    (tmp_path / "keys").write_text("[default]\naws_access_key_id=a\naws_secret_access_key=b\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    line = with_versions(1)
    assert bring(line, store).behind is None
    del store.environ[missing]
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set" in bring(line, store).behind


def test_each_destination_may_have_keys_of_its_own(with_versions, store):
    line = with_versions(1)
    secrets = {name.replace("AWS_", "OPEN_DATA_"): text for name, text in store.environ.items()}
    store.environ = {**secrets, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    assert bring(line, elsewhere(store, prefix="OPEN_DATA")).behind is None
    assert store.declared.variables[0] == "OPEN_DATA_ACCESS_KEY_ID"


def test_secrets_of_a_block_are_handed_over_for_the_delivery_alone(with_versions, store):
    from sfumato.tasks.private.wrapping import hand_over, with_secrets

    variables_read = []
    secret = {"AWS_SECRET_ACCESS_KEY": store.environ.pop("AWS_SECRET_ACCESS_KEY")}

    @contextmanager
    def secrets(variables):
        variables_read.extend(variables)
        with hand_over(secret):
            yield

    assert bring(with_versions(1), store, secrets).behind is None
    assert variables_read == ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]
    assert with_secrets({}) == {}


def test_what_is_withdrawn_while_it_is_sent_gets_no_manifest(with_versions, store, monkeypatch):
    line = with_versions(1)
    with monkeypatch.context() as patch:

        def late(*_):
            withdraw(line, "0001", "the wrong table")
            return False

        patch.setattr(ObjectStore, "_write_signature", late)
        assert "version 0001 is missing in" in bring(line, store).behind
    assert MANIFEST not in store.objects()
    assert bring(line, store).behind is None
    store.require_as(line)


class TestVersionedBucket:
    @pytest.fixture
    def versioned_store(self, store):
        configuration = {"Status": "Enabled"}
        store.client.put_bucket_versioning(
            Bucket=store.bucket, VersioningConfiguration=configuration
        )
        return store

    def list_kept_versions(self, store):
        listing = store.client.list_object_versions(Bucket=store.bucket, Prefix=f"{ROOT}0002/")
        versions = [item["Key"] for item in listing.get("Versions", [])]
        return sorted(versions), listing.get("DeleteMarkers", [])

    def test_of_what_was_withdrawn_no_old_version_is_kept(self, with_versions, versioned_store):
        line = with_versions(2)
        bring(line, versioned_store)
        withdraw(line, "0002", "the wrong table")
        delivery = bring(line, versioned_store)
        assert (delivery.behind, list(delivery.notices)) == (None, [])
        names = [f"{ROOT}0002/index.html", f"{ROOT}0002/withdrawal.json"]
        assert self.list_kept_versions(versioned_store) == (names, [])
        versioned_store.require_as(line)

    def test_that_they_cannot_be_deleted_is_no_end(
        self, with_versions, versioned_store, monkeypatch
    ):
        line = with_versions(2)
        bring(line, versioned_store)
        withdraw(line, "0002", "the wrong table")
        answering(monkeypatch, "ListObjectVersions", "AccessDenied")
        assert (
            "s3:ListBucketVersions, s3:DeleteObjectVersion" in bring(line, versioned_store).behind
        )

    def test_that_it_does_not_say_is_told(self, with_versions, store, monkeypatch):
        line = with_versions(2)
        bring(line, store)
        withdraw(line, "0002", "the wrong table")
        answering(monkeypatch, "GetBucketVersioning", "AccessDenied")
        delivery = bring(line, store)
        assert delivery.behind is None
        assert "these keys cannot see if the bucket keeps deleted objects" in delivery.notices[0]


def test_a_page_of_somebody_else_stays(with_versions, store):
    store.write(f"{PREFIX}/index.html", b"the town's own page")
    delivery = bring(with_versions(1), store)
    assert delivery.behind is None
    message = (
        f"{store.declared.uri}: {PREFIX}/index.html was not made by Sfumato, and was not changed"
    )
    assert delivery.notices == (message,)
    assert store.read(f"{PREFIX}/index.html") == b"the town's own page"


class TestCatalogue:
    def test_it_lists_the_lines_that_are_there(self, with_versions, store):
        line = with_versions(1)
        bring(line, store)
        page = store.read(f"{PREFIX}/index.html").decode()
        assert page == (line.public.parent / "index.html").read_text()

    def test_lines_that_stay_here_are_not_in_it(self, with_versions, store):
        line = with_versions(1)
        folder = line.public.parents[1]
        Small(folder).write(people(first=5000, seed=5), name="incomes").publish("of-incomes")
        bring(line, store)
        assert b"incomes" in (line.public.parent / "index.html").read_bytes()
        assert b"incomes" not in store.read(f"{PREFIX}/index.html")

    def test_where_another_machine_publishes_too_it_is_left(self, with_versions, store):
        store.write(f"{PREFIX}/of-others/releases.json", b"{}")
        bring(with_versions(1), store)
        assert f"{PREFIX}/index.html" not in store.objects()


def test_an_analyst_reads_the_copy(with_versions, store, tmp_path, capsys):
    line = with_versions(2)
    bring(line, store)
    copy = store.download(tmp_path / "download") / "wages"
    for number in ("0001", "0002"):
        assert run(["check", str(copy / number)]) == 0
    withdraw(line, "0002", "the wrong table")
    bring(line, store)
    copy = store.download(tmp_path / "later") / "wages"
    assert run(["check", str(copy / "0002")]) == 3
    assert "was withdrawn on" in capsys.readouterr().err
    assert json.loads((copy / "releases.json").read_bytes())["current"] == "0001"


def test_a_signature_that_came_later_is_copied(with_versions, store, call, monkeypatch):
    from sfumato.tasks.verification.signing_keys import PASSPHRASE

    line = with_versions(1)
    bring(line, store)
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    assert call("keys", "generate", "town")[0] == 0
    for name, text in store.environ.items():
        monkeypatch.setenv(name, text)
    code, _, error = call("keys", "sign", "town", line.public / "0001")
    assert (code, f"{store.declared.uri} is complete (copied: 0001)" in error) == (0, True)
    assert f"{ROOT}0001/datapackage.json.sig" in store.objects()
    assert f"{ROOT}keys.json" in store.objects()
    store.require_as(line)


def test_a_copy_of_a_newer_state_is_not_gone_back_from(with_versions, store):
    older, newer = with_versions(1), with_versions(2)
    bring(newer, store)
    assert "has a newer state of the line than this machine (" in bring(older, store).behind
    store.require_as(newer)


def test_one_delivery_goes_at_a_time(with_versions, store, monkeypatch):
    line, inside = with_versions(1), threading.Semaphore(1)
    send = Bucket.send

    def alone(self, *arguments):
        assert inside.acquire(blocking=False)
        try:
            return send(self, *arguments)
        finally:
            inside.release()

    monkeypatch.setattr(Bucket, "send", alone)
    deliveries = []
    threads = [
        threading.Thread(target=lambda: deliveries.append(bring(line, store))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [delivery.behind for delivery in deliveries] == [None, None]
    assert sorted(len(delivery.copied) for delivery in deliveries) == [0, 1]


def test_a_destination_that_is_none_any_more_is_forgotten_and_told(with_versions, store):
    from sfumato.tasks.destinations.deliver import remember

    line = with_versions(1)
    bring(line, store)
    other = StoreDestination(uri="s3://other/place")
    message = (
        f"{store.declared.uri} is not a destination any more. Its files stay there, also of "
        "withdrawn versions"
    )
    assert remember(line, (other,)) == [message]
    assert [destination.place for destination in read_destinations(line.private).destinations] == [
        other.uri
    ]
