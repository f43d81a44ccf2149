"""Releases changed after the fact, and sealed as if they had been published so."""

import json
import shutil

from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.verification.integrity import digest


def seal_manifest(document):
    """A manifest as it is written, with its digest."""
    document["sfumato"]["digest"] = digest(document)
    return canonical_json(document)


def reseal(directory):
    """List every file with its true size and hash, and seal the manifest anew: its digest."""
    opened = open_release(directory)
    document = manifest(directory, opened.declared, opened.manifest["sfumato"]["observed"])
    (directory / MANIFEST).write_bytes(seal_manifest(document))
    return document["sfumato"]["digest"]


def edit(directory, change):
    """Change the manifest and seal it again."""
    document = json.loads((directory / MANIFEST).read_bytes())
    change(document)
    (directory / MANIFEST).write_bytes(seal_manifest(document))


def rebuilt(directory, **terms):
    """The whole release anew under changed terms: its digest."""
    declared = open_release(directory).declared
    tables = read_tables(declared, directory / "data")
    shutil.rmtree(directory)
    write_release(directory, assess(declared.model_copy(update=terms), tables))
    return json.loads((directory / MANIFEST).read_bytes())["sfumato"]["digest"]


def made_with(directory, **versions):
    """The whole release anew, as if these versions of packages had made it: its digest."""
    declared = open_release(directory).declared
    return rebuilt(directory, software={**declared.software, **versions})
