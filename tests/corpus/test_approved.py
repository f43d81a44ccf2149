"""The frozen line whose record says who approved it, and whose history what was turned down."""

import shutil

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.publication.check import check
from tests.approval.conftest import reviewed_line  # noqa: F401 - a fixture
from tests.corpus.lines import CORPUS
from tests.release.small import people


@pytest.fixture
def frozen_line(reviewed_line, tmp_path):  # noqa: F811
    """A copy of the line that may be written to."""
    shutil.rmtree(tmp_path / "line")
    shutil.copytree(CORPUS / "approved" / "line", tmp_path / "line")
    shutil.copytree(CORPUS / "approved" / "private", tmp_path / "work", dirs_exist_ok=True)
    work = tmp_path / "work"
    for place in (work, *work.rglob("*")):  # a repository keeps no modes
        place.chmod(0o700 if place.is_dir() else 0o600)
    return reviewed_line


def test_who_approved_it_is_read(frozen_line):
    version = frozen_line.record.versions["0001"]
    assert [approval.by.split()[0] for approval in version.approvals] == ["ann", "ben"]
    assert [approval.reason for approval in version.approvals] == ["as agreed", "risk is low"]
    assert frozen_line.endings == ["approved", "rejected"]


def test_its_version_stands_and_is_checked(frozen_line):
    version = frozen_line.release()
    assert version == frozen_line.line.public / "0001"
    check(version)


def test_what_was_turned_down_is_known(frozen_line):
    frozen_line.write(people(first=1000, seed=2))
    with pytest.raises(PromiseError, match=r"was rejected .2026-11-23"):
        frozen_line.release()


def test_it_goes_on(frozen_line):
    frozen_line.write(people(first=2000, seed=3)).release()
    for name in ("eve", "kim"):
        frozen_line.reviewer(name)
        frozen_line.decide(name)
    check(frozen_line.publish())
    assert [version.approvals is not None for version in frozen_line.record.versions.values()] == [
        True,
        True,
    ]


def test_its_backup_of_then_is_put_back(frozen_line, call):
    shutil.rmtree(frozen_line.line.private)
    saved = CORPUS / "backups" / "format-3.tar"
    assert call("line", "restore", frozen_line.spec, saved)[0] == 0
    assert frozen_line.endings == ["approved", "rejected"]
    assert frozen_line.release() == frozen_line.line.public / "0001"
