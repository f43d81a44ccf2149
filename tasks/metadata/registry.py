"""Every standard of metadata by its name; each is imported when it is named."""

from collections.abc import Callable, Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.metadata.description import Document, ReleaseDescription

Project = Callable[[ReleaseDescription], Document]
"""Returns the metadata of a release in a standard; raises InputError if it has no place for it."""

STANDARDS: Mapping[str, Project] = Entries(
    "sfumato.tasks.metadata",
    {
        "croissant": "croissant:croissant",
        "csvw": "csvw:csvw",
        "ddi": "ddi:ddi",
        "healthdcat": "healthdcat:healthdcat",
    },
)
