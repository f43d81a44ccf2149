"""Laws of every destination: once a delivery has ended well, it is as the line is."""

import shutil
from dataclasses import replace

import pytest

from sfumato.tasks.publication.withdrawal import withdraw
from tests.destinations.places import bring
from tests.release.small import Small, people


class DestinationLaws:
    """Laws of one kind of place; a subclass has a fixture `place`."""

    def test_it_is_as_the_line_is(self, with_versions, place):
        line = with_versions(2)
        delivery = bring(line, place)
        assert (delivery.behind, delivery.copied) == (None, ("0001", "0002"))
        place.require_as(line)

    def test_once_more_nothing_is_copied(self, with_versions, place):
        line = with_versions(2)
        bring(line, place)
        delivery = bring(line, place)
        assert (delivery.behind, delivery.copied) == (None, ())
        place.require_as(line)

    @pytest.mark.parametrize("number", ["0001", "0002"])
    def test_what_was_withdrawn_goes(self, with_versions, place, number):
        line = with_versions(2)
        bring(line, place)
        withdraw(line, number, "the wrong table")
        assert bring(line, place).behind is None
        place.require_as(line)

    def test_nothing_is_left_of_a_line_whose_versions_were_all_withdrawn(
        self, with_versions, place
    ):
        line = with_versions(2)
        bring(line, place)
        for number in ("0001", "0002"):
            withdraw(line, number, "the wrong table")
        assert bring(line, place).behind is None
        place.require_as(line)

    def test_what_was_withdrawn_before_is_never_copied(self, with_versions, place):
        line = with_versions(2)
        withdraw(line, "0002", "the wrong table")
        delivery = bring(line, place)
        assert (delivery.behind, delivery.copied) == (None, ("0001",))
        place.require_as(line)

    def test_what_was_withdrawn_there_does_not_come_back(self, with_versions, place, tmp_path):
        """From a copy of the line that was made before."""
        line = with_versions(2)
        shutil.copytree(line.work.parent, tmp_path / "copy", symlinks=True)
        bring(line, place)
        withdraw(line, "0002", "the wrong table")
        bring(line, place)
        public = tmp_path / "copy" / "line" / "public" / "wages"
        copy = replace(line, public=public, private=tmp_path / "copy" / "work" / "wages")
        assert "version 0002 was withdrawn there" in bring(copy, place).behind
        place.require_as(line)

    def test_another_line_of_that_name_is_refused_and_nothing_overwritten(
        self, with_versions, place, tmp_path, monkeypatch
    ):
        line = with_versions(1)
        bring(line, place)
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "other" / "work"))
        (tmp_path / "other").mkdir()
        other = Small(tmp_path / "other" / "line").write(people(first=9000, seed=9))
        other.publish("of-another")
        delivery = bring(other.plan().line, place)
        assert "of another work directory" in delivery.behind
        place.require_as(line)

    def test_a_version_that_is_gone_here_is_told(self, with_versions, place):
        line = with_versions(2)
        shutil.rmtree(line.public / "0001")
        delivery = bring(line, place)
        assert (
            f"version 0001 is missing in {line.public / '0001'}. Restore its directory"
            in delivery.behind
        )

    def test_what_is_not_as_it_was_published_is_not_copied(self, with_versions, place):
        line = with_versions(1)
        for data in (line.public / "0001" / "data").iterdir():
            data.chmod(0o644)
            data.write_bytes(data.read_bytes()[:-1] + b"x")
        delivery = bring(line, place)
        assert "its SHA-256 is not the one that datapackage.json states" in delivery.behind
