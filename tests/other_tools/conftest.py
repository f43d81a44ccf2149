"""Private work beside the projects of each test, and drafts made as the command makes them."""

import pytest

from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.tasks.profile.dialect import DraftOptions


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return tmp_path / "work"


@pytest.fixture
def draft(tmp_path):
    """A function that drafts a spec from a project, with a table or without."""

    def make(project, data=None, name="drafted.yaml", **options):
        private = {"SFUMATO_WORK": str(tmp_path / "work")}
        address = None if data is None else str(data)
        settings = DraftOptions(**options)
        return write_first_spec(address, tmp_path / name, settings, private, project=project)

    return make
