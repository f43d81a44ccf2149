"""datapackage.json: a Frictionless Data Package that lists every file and what was promised."""

from pathlib import Path
from typing import Any

from sfumato.tasks.declaration.opened import MANIFEST, SIGNATURE
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.publication.resources import resources
from sfumato.tasks.schema.stated.words import PublishedWords, mail_address, web_address
from sfumato.tasks.verification.integrity import digest

_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"


def manifest(directory: Path, declared: Declared, observed: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe every file in a release directory, and seal the description with its digest."""
    document: dict[str, Any] = {
        "$schema": _PROFILE,
        "name": declared.name,
        "title": declared.title,
        **_said(declared.words),
        "resources": resources(directory, files(directory), declared),
        "sfumato": {
            **({"format": declared.format} if declared.format else {}),
            **declared.model_dump(mode="json", by_alias=True, exclude_none=True),
            "observed": observed,
            "digest": "",
        },
    }
    document["sfumato"]["digest"] = digest(document)
    return document


def files(directory: Path) -> list[Path]:
    """Every file of a release but its manifest and the signature of that, relative and sorted."""
    found = {path.relative_to(directory) for path in directory.rglob("*") if not path.is_dir()}
    return sorted(found - {Path(MANIFEST), Path(SIGNATURE)}, key=Path.as_posix)


def _said(words: PublishedWords) -> dict[str, Any]:
    """Words as a Data Package has them: `description`, `licenses` and `contributors`."""
    said: dict[str, Any] = {} if words.description is None else {"description": words.description}
    if words.licence is not None:
        key = "path" if web_address(words.licence) else "name"
        said["licenses"] = [{key: words.licence}]
    contributors = []
    if words.publisher is not None:
        contributors.append({"title": words.publisher, "roles": ["publisher"]})
    if words.contact is not None:
        contributors.append({**_contact(words.contact), "roles": ["contact"]})
    return said | ({"contributors": contributors} if contributors else {})


def _contact(text: str) -> dict[str, str]:
    if mail_address(text):
        return {"title": text, "email": text}
    return {"title": text, "path": text} if web_address(text) else {"title": text}
