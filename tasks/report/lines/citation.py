"""How a line is cited: as a sentence, and as a file in the Citation File Format 1.2.0."""

import json
from collections.abc import Mapping

from sfumato.tasks.report.lines.entries import LineEntry
from sfumato.tasks.schema.stated.words import web_address

_NOBODY = "anonymous"  # as the format calls who is not named


def citation(line: LineEntry) -> str:
    """The sentence by which the current version is cited, or the line where none is current."""
    by, current = line.words.publisher or _NOBODY, line.current
    if current is None:
        return f"{by}: {line.title}. Public microdata, {line.name}."
    year, digest = current.day[:4], current.digest[:12]
    return (
        f"{by} ({year}): {line.title}. Public microdata, {line.name} version {current.number}, "
        f"digest {digest}…"
    )


def citation_file(line: LineEntry) -> str:
    """The file, each value quoted as JSON does, which YAML reads alike."""
    current, licence = line.current, line.words.licence
    told: dict[str, object] = {
        "cff-version": "1.2.0",
        "message": "Cite the version that you used.",
        "type": "dataset",
        "title": line.title,
        "authors": [{"name": line.words.publisher or _NOBODY}],
    }
    if current is not None:
        told |= {"version": current.number, "date-released": current.day}
        identifier = {"type": "other", "value": current.digest, "description": "SHA-256 digest"}
        told["identifiers"] = [identifier]
    if licence is not None:
        told["license-url" if web_address(licence) else "license"] = licence
    return _yaml(told)


def _yaml(told: Mapping[str, object]) -> str:
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in told.items())
