"""Drafts of specs, made as the command makes them, and read as a release reads them."""

import yaml

from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.flows.inputs.spec import ReleaseSpec
from sfumato.tasks.profile.dialect import DraftOptions


def draft(directory, content, name="people.csv", **options):
    """The draft for a file with this content, its private work beside it."""
    source = directory / name
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_bytes(content)
    private = {"SFUMATO_WORK": str(directory / "work")}
    place = directory / "drafted.yaml"
    return write_first_spec(str(source), place, DraftOptions(**options), private)


def document(written):
    """The draft as YAML reads it."""
    return yaml.safe_load(written.spec.read_text(encoding="utf-8"))


def confirm_draft(written):
    """The spec that a draft is, once its roles are confirmed."""
    return ReleaseSpec.model_validate(document(written) | {"roles": "confirmed"})


def confirm(written):
    """The one edit of a steward who agrees."""
    text = written.spec.read_text(encoding="utf-8")
    assert text.count("roles: proposed") == 1
    written.spec.write_text(text.replace("roles: proposed", "roles: confirmed"), encoding="utf-8")


def roles(written):
    """The proposed roles of columns that have a line."""
    return {name: column["role"] for name, column in document(written)["columns"].items()}
