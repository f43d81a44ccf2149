"""A line whose versions have to be approved, and the people who do that."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.approval.held import read_held
from sfumato.tasks.approval.history import read_history
from sfumato.tasks.approval.reviewers import trust_reviewer
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.verification.signing_keys import PASSPHRASE, generate
from tests.flow_here import publish_here, release_here
from tests.release.small import Small, people


@dataclass
class Reviewed:
    """The small line, whose versions `reviewers` have to approve."""

    small: object
    call: object
    patch: object
    folder: Path

    @property
    def spec(self):
        return self.small.spec

    @property
    def line(self):
        return resolve_run(self.spec).line

    @property
    def candidate(self):
        return read_held(self.line.private)

    @property
    def endings(self):
        return [ending.end for ending in read_history(self.line.private).past]

    @property
    def record(self):
        return read_record(self.line.public)

    def write(self, rows=None, *, reviewers=2, **changes):
        approval = {"reviewers": reviewers} if reviewers else "none"
        self.small.write(rows or people(), approval=approval, **changes)
        return self

    def release(self):
        """Run the release; return the directory of a version or of a candidate."""
        return release_here(self.spec)

    def publish(self, *signatures, digest=None):
        """Publish the candidate that waits."""
        digest_given = digest or self.candidate.request.digest
        return publish_here(self.spec, digest_given, signatures)

    def reviewer(self, name, trusted="wages"):
        """A work directory with a key, which may review the lines of a pattern."""
        key = generate(self.folder / name, name)
        if trusted:
            trust_reviewer(key, trusted, os.environ)
        return name

    def decide(self, name, verdict="approve", *options, place=None, reason="as agreed"):
        """A reviewer's decision as text."""
        candidate_place = place or self.candidate.place
        with self.patch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(self.folder / name))
            options_ = ("--key", name, "--reason", reason, *options)
            code, printed, error = self.call("review", verdict, candidate_place, *options_)
        assert code == 0, error
        return printed.split()[-1]

    def copy(self):
        """A copy of the candidate that waits, in which nothing can be left."""
        place = self.folder / "copy"
        shutil.copytree(self.candidate.place, place)
        return place

    def edit(self, path, change):
        """Change a JSON document of the candidate."""
        file = self.candidate.place / path
        document = json.loads(file.read_bytes())
        change(document)
        file.write_text(json.dumps(document))


def _line_in(folder, patch, call=None):
    """The line in a folder, whose flows run here, and the publishing user's environment."""
    patch.setenv("SFUMATO_WORK", str(folder / "work"))
    patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    patch.setenv(PASSPHRASE, "correct horse")
    return Reviewed(Small(folder / "line"), call, pytest.MonkeyPatch, folder)


@pytest.fixture
def reviewed_line(call, monkeypatch, tmp_path):
    return _line_in(tmp_path, monkeypatch, call).write()


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A folder in which a candidate waits, to be copied."""
    folder = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        line = _line_in(folder, patch).write()
        line.release()
        for name in ("ann", "ben"):
            line.reviewer(name)
    return folder


@pytest.fixture
def waiting(call, monkeypatch, tmp_path, template):
    """A candidate that waits, and two reviewers."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return _line_in(tmp_path, monkeypatch, call)
