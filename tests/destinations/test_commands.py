"""Destinations as stewards meet them: runs, commands, lists, and what is said and left unsaid."""

import json
import os
import shutil

import pytest
import yaml

from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.tasks.destinations.bucket import Bucket
from sfumato.tasks.lines.known_destinations import DESTINATIONS, read_destinations
from sfumato.tasks.lines.line import Line
from tests.destinations.places import PREFIX, bring
from tests.flow_here import release_here
from tests.release.small import Small, people
from tests.sources.simulator import SECRET

AWAY = "http://127.0.0.1:1"
RECORD = f"{PREFIX}/wages/releases.json"
REASON = ("--reason", "the wrong table", "--yes")


@pytest.fixture
def line(tmp_path, monkeypatch, store):
    """A line with a destination, whose keys are in the environment."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    for name, text in store.environ.items():
        monkeypatch.setenv(name, text)
    return declare_destination(Small(tmp_path / "line"), store)


def declare_destination(small, store, rows=None, **changes):
    publish = {"uri": "public", "destinations": [{"uri": store.declared.uri, **changes}]}
    return small.write(rows or people(), publish=publish)


def read_destination(small):
    (destination,) = read_destinations(small.plan().line.private).destinations
    return destination


@pytest.fixture(scope="module")
def measured_line(tmp_path_factory):
    """The folder of a line that a run has published and measured; it has no destination."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        release_here(Small(folder / "line").write(people()).spec)
    return folder


@pytest.fixture
def delivered_line(measured_line, line, store, tmp_path):
    """The line with a destination, with a version that was delivered."""
    shutil.copytree(measured_line, tmp_path, symlinks=True, dirs_exist_ok=True)
    line_ = declare_destination(line, store).plan().line
    (line_.private / "published-in").write_bytes(os.fsencode(line_.public))
    assert bring(line_, store).copied == ("0001",)
    return line


class TestRun:
    def test_it_delivers_at_its_end(self, line, store):
        events = []
        release_here(line.spec, events)
        stages = [stage for stage, event in events if event == "finished"]
        assert stages[-2:] == ["evaluate", "deliver"]
        assert (f"{store.declared.uri} is complete (copied: 0001)", "said") in events
        store.require_as(line.plan().line)
        assert json.loads(store.read(RECORD))["versions"]["0001"]["accuracy"]

    def test_one_that_fails_fails_no_release(self, line, store, call):
        declare_destination(line, store, endpoint=AWAY)
        events = []
        version = release_here(line.spec, events)
        assert call("check", version)[0] == 0
        (text_said,) = [text for text, event in events if event == "said" and "is behind" in text]
        assert text_said.startswith(f"{store.declared.uri} is behind: the store")
        assert read_destination(line).behind is not None
        declare_destination(line, store)
        assert release_here(line.spec) == version  # it stands, and the copy is completed
        assert read_destination(line).behind is None
        store.require_as(line.plan().line)

    def test_the_state_says_what_is_behind(self, line, store):
        from sfumato.tasks.outcomes import published_outcome

        version = release_here(line.spec)
        message = published_outcome(version, (store.declared.uri,)).message
        assert f"; not yet complete in {store.declared.uri} (the next run" in message

    def test_a_run_that_is_refused_completes_it_too(self, line, store):
        declare_destination(line, store, endpoint=AWAY)
        release_here(line.spec)
        declare_destination(line, store, people(seed=5))  # other values of the same people
        with pytest.raises(Exception, match="units are in an earlier version"):
            release_here(line.spec)
        store.require_as(line.plan().line)

    def test_a_first_run_that_is_refused_tells_nothing_there(self, line, store):
        declare_destination(line, store, people(rows=2))
        with pytest.raises(Exception, match="ke-anonymity"):
            release_here(line.spec)
        assert store.objects() == {}
        declare_destination(line, store)
        release_here(line.spec)
        store.require_as(line.plan().line)

    def test_what_an_evaluation_withdraws_goes_there_too(self, line, store, monkeypatch):
        from sfumato.tasks.stages import evaluate

        release_here(line.spec)

        def uncover(*_):
            raise InputError("a row is covered by no group")

        monkeypatch.setattr(evaluate, "exposures", uncover)
        declare_destination(line, store, people(first=1000, seed=2))
        with pytest.raises(Fault, match="does not cover"):
            release_here(line.spec)
        record = json.loads(store.read(RECORD))
        assert (record["current"], record["versions"]["0002"]["status"]) == ("0001", "withdrawn")
        store.require_as(line.plan().line)

    def test_no_stage_of_the_run_is_left_while_it_delivers(self, line, store, monkeypatch):
        private, folders = line.plan().line.private, []

        def send(self, key, file, sha256):
            folders.append([path for path in (private / "runs").iterdir() if path.is_dir()])

        monkeypatch.setattr(Bucket, "send", send)
        release_here(line.spec)
        assert folders
        assert not any(folders)

    def test_a_line_without_destinations_has_no_note_of_them(self, small):
        events = []
        release_here(small.spec, events)
        assert "deliver" not in {stage for stage, _ in events}
        assert not (small.plan().line.private / DESTINATIONS).exists()

    def test_one_that_the_spec_names_no_more_is_told(self, line, store):
        release_here(line.spec)
        line.write(people())
        events = []
        release_here(line.spec, events)
        message = f"{store.declared.uri} is not a destination any more. Its files stay there"
        assert [text for text, event in events if event == "said" and text.startswith(message)]

    @pytest.mark.parametrize("content", [b"{", b'{"format": 9}'])
    def test_a_note_that_cannot_be_read_fails_no_release(self, line, store, content):
        release_here(line.spec)
        note = line.plan().line.private / DESTINATIONS
        note.write_bytes(content)
        line.write(
            people(first=1000, seed=2),
            publish=line.plan().spec.publish.model_dump(
                mode="json", by_alias=True, exclude_unset=True
            ),
        )
        events = []
        assert release_here(line.spec, events).name == "0002"
        assert [text for text, event in events if event == "said" and "is behind" in text]
        note.unlink()
        release_here(line.spec)
        store.require_as(line.plan().line)

    def test_a_block_that_is_missing_leaves_it_behind(self, line, monkeypatch):
        from sfumato.flows.inputs import passphrases

        def missing(variable, _name):
            raise InputError(f"{variable}: Prefect has no Secret block of that name")

        monkeypatch.setattr(passphrases, "_in_block", missing)
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY_BLOCK", "nobody")
        release_here(line.spec)
        assert "Prefect has no Secret block of that name" in read_destination(line).behind


class TestDeliver:
    @pytest.mark.parametrize("place_kind", ["spec", "directory"])
    def test_it_completes(self, delivered_line, store, call, monkeypatch, place_kind):
        place = delivered_line.spec if place_kind == "spec" else delivered_line.plan().line.public
        store.client.delete_object(Bucket=store.bucket, Key=RECORD)
        code, out, error = call("deliver", place)
        assert (code, out, error) == (0, f"{store.declared.uri} is complete\n", "")
        store.require_as(delivered_line.plan().line)

    def test_it_exits_with_1_where_one_is_behind(self, delivered_line, store, call, monkeypatch):
        monkeypatch.setenv("AWS_ENDPOINT_URL", AWAY)
        code, out, _ = call("deliver", delivered_line.spec)
        assert (code, out.startswith(f"{store.declared.uri} is behind: ")) == (1, True)

    def test_one_that_is_behind_holds_up_no_other(self, delivered_line, store, stores, call):
        other = stores()
        place = yaml.safe_load(delivered_line.spec.read_text())
        away = {"uri": "s3://away/x", "endpoint": AWAY}
        place["publish"]["destinations"] = [away, {"uri": other.declared.uri}]
        delivered_line.spec.write_text(yaml.safe_dump(place))
        code, out, error = call("deliver", delivered_line.spec)
        assert (code, [line.split()[2] for line in out.splitlines()]) == (
            1,
            ["behind:", "complete"],
        )
        assert "is not a destination any more" in error
        other.require_as(delivered_line.plan().line)

    def test_a_line_without_any_is_told(self, small, call):
        small.publish("one")
        code, _, error = call("deliver", small.spec)
        assert (code, "the line has no destination" in error) == (2, True)

    def test_another_work_directory_delivers_nothing(
        self, delivered_line, call, monkeypatch, tmp_path
    ):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "another"))
        code, _, error = call("deliver", delivered_line.folder / "public" / "wages")
        assert (code, "was not published by a line wages" in error) == (3, True)

    def test_an_unfinished_withdrawal_is_finished_first(
        self, delivered_line, store, call, monkeypatch
    ):
        from sfumato.tasks.publication import withdrawal

        def stop(*_):
            raise RuntimeError("killed")

        line = delivered_line.plan().line
        with monkeypatch.context() as patch:
            patch.setattr(withdrawal, "put_in_place", stop)
            with pytest.raises(RuntimeError):
                withdrawal.withdraw(line, "0001", "the wrong table")
        assert call("deliver", line.public)[0] == 0
        assert f"{PREFIX}/wages/0001/withdrawal.json" in store.objects()
        store.require_as(line)


class TestWithdraw:
    def test_it_goes_there_too(self, delivered_line, store, call):
        line = delivered_line.plan().line
        code, _, error = call("withdraw", line.public / "0001", *REASON)
        assert (code, f"{store.declared.uri} is complete" in error) == (0, True)
        store.require_as(line)

    def test_where_it_may_still_be_is_told_until_it_is_done(
        self, delivered_line, store, call, monkeypatch
    ):
        line = delivered_line.plan().line
        with monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", AWAY)
            code, out, error = call("withdraw", line.public / "0001", *REASON)
        assert (code, out.endswith("withdrawn; current: none\n")) == (1, True)
        assert f"to complete the withdrawal, run sfumato deliver {line.public}" in error
        assert f"{PREFIX}/wages/0001/datapackage.json" in store.objects()
        assert call("withdraw", line.public / "0001", *REASON)[0] == 0
        store.require_as(line)


def test_other_changes_go_there_too(delivered_line, store, call):
    line = delivered_line.plan().line
    code, _, error = call("describe", line.public, "--description", "Wages of May")
    assert (code, f"{store.declared.uri} is complete" in error) == (0, True)
    store.require_as(line)
    assert b"Wages of May" in store.read(f"{PREFIX}/wages/index.html")
    code, _, error = call("evaluate", line.public / "0001", "--spec", delivered_line.spec)
    assert code == 0, error
    store.require_as(line)


class TestListed:
    def test_they_are_listed(self, delivered_line, store, call):
        _, out, _ = call("releases", delivered_line.spec)
        assert f"  {store.declared.uri}: complete\n" in out
        (line,) = json.loads(call("releases", delivered_line.spec, "--json")[1])["lines"]
        (destination,) = line["destinations"]
        assert (destination["place"], destination["state"], destination["reason"]) == (
            store.declared.uri,
            "complete",
            None,
        )

    def test_one_that_fell_behind_is_told_by_all(self, delivered_line, store, call, monkeypatch):
        monkeypatch.setenv("AWS_ENDPOINT_URL", AWAY)
        call("deliver", delivered_line.spec)
        assert (
            f"  {store.declared.uri}: behind: the store cannot"
            in (call("releases", delivered_line.spec)[1])
        )
        code, out, _ = call("health")
        assert code == 1
        assert f"NOT  line wages: {store.declared.uri} is behind" in out

    def test_a_line_that_changed_since_is_behind(self, delivered_line, store, call):
        from sfumato.tasks.publication.amendments import describe

        line: Line = delivered_line.plan().line
        describe(line, {"title": "Other words"})
        message = f"  {store.declared.uri}: behind: the line has changed since the last delivery\n"
        assert message in call("releases", line.public)[1]

    def test_readers_who_have_no_private_state_see_none(self, delivered_line, call, monkeypatch):
        monkeypatch.setenv("SFUMATO_WORK", str(delivered_line.folder / "reader"))
        (line,) = json.loads(call("releases", delivered_line.folder / "public", "--json")[1])[
            "lines"
        ]
        assert line["destinations"] == []


def test_a_backup_has_no_addresses_and_a_restored_line_keeps_them(delivered_line, call, tmp_path):
    assert call("line", "backup", delivered_line.spec, tmp_path / "backup")[0] == 0
    assert b"s3://" not in (tmp_path / "backup").read_bytes()
    assert call("line", "restore", delivered_line.spec, tmp_path / "backup")[0] == 0
    assert read_destination(delivered_line).behind is None


def test_no_secret_is_in_any_file_or_object(line, store, call, monkeypatch):
    release_here(line.spec)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", f"{SECRET}-of-nobody")
    call("deliver", line.spec)
    folder = line.plan().line.work.parent
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert contents
    assert not [
        content for content in [*contents, *store.objects().values()] if SECRET.encode() in content
    ]
