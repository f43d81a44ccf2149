"""The places of private files, and what may be read: nothing open to others, nothing endless."""

import errno
import hashlib
import os
from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import InputError, SfumatoError, SpecError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.lines import tombstones
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.publication import publish as publication
from tests.release.small import SPEC, people


@pytest.mark.parametrize(
    ("uri", "work"),
    [
        ("place", "place"),
        ("place/public", "place"),
        ("place", "place/work"),
        ("place/../place/x/y", "place/x"),
        ("link/public", "place"),
    ],
)
def test_nothing_is_published_where_private_files_are(small, monkeypatch, uri, work):
    (small.folder / "place").mkdir()
    (small.folder / "link").symlink_to(small.folder / "place")
    monkeypatch.setenv("SFUMATO_WORK", str(small.folder / work))
    small.write(people(), publish={"uri": uri})
    with pytest.raises(SpecError, match=r"publish\.uri: .* must be separate"):
        small.plan()
    assert not list((small.folder / "place").iterdir())


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o750, 0o701])
def test_a_directory_open_to_others_is_refused_and_left_as_it_is(
    small, tmp_path, monkeypatch, mode
):
    work = tmp_path / "open"
    work.mkdir()
    work.chmod(mode)
    monkeypatch.setenv("SFUMATO_WORK", str(work))
    with pytest.raises(
        InputError, match=rf"open to other users \(mode {mode:04o}\)\. Run `chmod 700`"
    ):
        small.publish("one")
    assert work.stat().st_mode & 0o7777 == mode
    assert not list(work.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ["keys", "list"],
        ["keys", "backup", "copy"],
        ["releases"],
        ["releases", "--json"],
        ["releases", "--rebuild", "line/public"],
        ["withdraw", "line/public/wages/0001", "--reason", "x", "--yes"],
    ],
    ids=" ".join,
)
def test_commands_that_only_read_refuse_it_alike(command, small, call, tmp_path, monkeypatch):
    """Whoever may write there may have put in the keys and lines that they would tell of."""
    small.write(people()).publish("one")
    monkeypatch.chdir(small.folder.parent)
    work = tmp_path / "open"
    work.mkdir()
    work.chmod(0o1777)
    monkeypatch.setenv("SFUMATO_WORK", str(work))
    place = small.folder.relative_to(small.folder.parent)
    code, out, error = call(*(part.replace("line", str(place)) for part in command))
    assert (code, out) == (2, "")
    assert f"{work}: is open to other users (mode 1777). Run `chmod 700`" in error
    assert not list(work.iterdir())


def test_another_users_directory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InputError, match="belongs to another user"):
        private_directory(tmp_path / "work")


def test_a_file_in_its_place_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    for place in ("file", "file/below"):
        with pytest.raises(InputError, match="cannot be used as a private directory"):
            private_directory(tmp_path / place)


@pytest.fixture(params=["device", "pipe", "directory"])
def no_file(request, tmp_path):
    """Return a path that is no regular file, and may be endless."""
    place = tmp_path / "no-file"
    if request.param == "pipe":
        os.mkfifo(place)
    elif request.param == "directory":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    return place


@pytest.mark.timeout(30)
@pytest.mark.parametrize("role", ["source", "hierarchy", "spec", "backup", "measured"])
def test_what_is_no_regular_file_is_refused_unread(small, no_file, role):
    changes = {"source": {"uri": str(no_file)}} if role == "source" else {}
    if role == "hierarchy":
        columns = read_columns()
        columns["town"] = {**columns["town"], "hierarchy": str(no_file)}
        changes = {"columns": columns, **GENERALIZED}
    small.write(people(), **changes)
    if role == "measured":
        assert run(["measure", str(no_file), "--qi", "age"]) == 2
        return
    if role == "backup":
        assert run(["line", "restore", str(small.spec), str(no_file)]) == 2
        return
    with pytest.raises(
        SfumatoError, match=r"is not a regular file|Is a directory|contains no file \*\.csv"
    ) as refused:
        read_spec(no_file) if role == "spec" else small.publish("one")
    assert refused.value.exit_code == 2


GENERALIZED = {
    "promises": [{"model": "k-anonymity", "k": 2}],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "evaluate": {},
}


def read_columns():
    age = {**SPEC["columns"]["age"], "hierarchy": {"intervals": [10, 50]}}
    wage = {**SPEC["columns"]["wage"], "unprotected": "no"}
    return {**SPEC["columns"], "age": age, "wage": wage}


def test_a_pinned_source_that_changed_is_refused_without_its_digest(small):
    small.write(people(), source={"uri": "people.csv", "sha256": "0" * 64})
    digest_found = hashlib.sha256((small.folder / "people.csv").read_bytes()).hexdigest()
    with pytest.raises(
        InputError, match=r"its SHA-256 differs from source\.sha256, so the file"
    ) as refused:
        small.publish("one")
    assert digest_found not in str(refused.value)


def test_what_is_staged_is_nobodys_to_copy(small, monkeypatch):
    """A killed run leaves its staged release behind: others cannot enter it."""
    seen = []

    def look(staging, place):
        seen.append(staging.stat().st_mode & 0o777)
        appear(staging, place)

    appear = publication.appear
    monkeypatch.setattr(publication, "appear", look)
    version = small.publish("one").directory
    assert seen == [0o700]
    assert version.stat().st_mode & 0o777 == 0o755


def test_a_version_that_had_not_been_opened_is_opened_by_the_next_run(small, monkeypatch):
    def kill(_place):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(publication, "_open_to_all", kill)
        with pytest.raises(KeyboardInterrupt):
            small.publish("one")
    again = small.publish("two")
    assert again.existed
    assert again.directory.stat().st_mode & 0o777 == 0o755


def test_every_directory_that_is_made_is_private_and_durable(tmp_path, monkeypatch):
    from sfumato.tasks.private import workdir

    synced = []
    monkeypatch.setattr(workdir, "sync_directory", synced.append)
    private_directory(tmp_path / "a" / "b" / "c")
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
    assert synced == [path.parent for path in made]


def test_a_half_written_record_is_swept(small, first):
    line = first.directory.parent
    (line / ".releases.json.4194305.tmp").write_bytes(b"half")
    small.publish("two")
    assert not list(line.glob(".*.tmp"))


def test_a_public_place_that_is_none_is_named(small, monkeypatch):
    small.write(people(), publish={"uri": "file"})
    (small.folder / "file").write_text("x")
    with pytest.raises(InputError) as caught:
        small.publish("one")
    place = small.folder / "file" / "wages"
    assert (
        str(caught.value)
        == f"publish.uri: {place} cannot be created, because a file is in the way. "
        "Move the file, or change publish.uri"
    )


def test_a_public_place_that_is_closed_is_named(small, monkeypatch, capsys):
    """Of the file that could not be written nothing is said: work files are not named."""
    version = small.write(people()).publish("one").directory

    def refuse_access(path, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(tombstones, "write_atomically", refuse_access)
    assert run(["withdraw", str(version), "--reason", "r", "--yes"]) == 1
    error = capsys.readouterr().err.splitlines()[-2]
    reason = f"permission denied in {version.parent}"
    assert error.startswith(f"sfumato: {version.parent}: cannot be written ({reason}")
    assert error.endswith(": the command runs as root)")


def test_a_closed_directory_is_no_bug(small, monkeypatch, capsys):
    """A record that lies there unread may hold a withdrawal: nothing is decided without it."""
    version = small.write(people()).publish("one").directory
    private = small.plan().line.private
    record = "releases.json: cannot be read as a record of versions"
    for closed, message, code in (
        (version.parent, f"{version.parent}/{record} (permission denied in ", 3),
        (private, f"{private}: cannot be read (permission denied in ", 2),
    ):

        def stat(path, *, follow_symlinks=True, closed=closed, real=Path.stat):
            if closed == path.parent:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return real(path, follow_symlinks=follow_symlinks)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "stat", stat)
            assert run(["withdraw", str(version), "--reason", "r", "--yes"]) == code
        assert f"sfumato: {message}" in capsys.readouterr().err
