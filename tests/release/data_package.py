"""Requirements of a manifest: a Data Package by the profile, and true about the files beside it."""

import json
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path

import jsonschema
import pyarrow.parquet as pq

from sfumato.tasks.terms.opened import MANIFEST, SIGNATURE

PROFILE = Path(__file__).with_name("data-package-2.0.json")


@cache
def validator():
    profile = json.loads(PROFILE.read_text(encoding="utf-8"))
    return jsonschema.Draft7Validator(profile, format_checker=jsonschema.FormatChecker())


def faults_of_profile(document):
    """Return where a document is no Data Package."""
    return [f"{error.json_path}: {error.message}" for error in validator().iter_errors(document)]


def faults_of_files(directory, document):
    """Yield what resources say of the files of a release that these do not bear out."""
    resources = document["resources"]
    paths = {path.relative_to(directory).as_posix() for path in directory.rglob("*.*")}
    yield from {resource["path"] for resource in resources} ^ (paths - {MANIFEST, SIGNATURE})
    times = Counter(resource["name"] for resource in resources)
    yield from (name for name, count in times.items() if count > 1)
    for resource in resources:
        content = (directory / resource["path"]).read_bytes()
        if (resource["bytes"], resource["hash"]) != (
            len(content),
            f"sha256:{sha256(content).hexdigest()}",
        ):
            yield f"{resource['path']}: another file"
        if resource["format"] in ("parquet", "csv"):
            names = [field["name"] for field in resource["schema"]["fields"]]
            yield from _faults_of_table(directory / resource["path"], names, resource)


def _faults_of_table(place, names, resource):
    if resource["type"] != "table":
        yield f"{place}: is a table"
    if place.suffix == ".parquet":
        if names != pq.read_schema(place).names:
            yield f"{place}: has other columns"
        return
    first = place.read_text(encoding=resource["encoding"]).splitlines()[0].split(",")
    if len(first) != len(names):
        yield f"{place}: has other columns"
    if resource.get("dialect", {}).get("header", True) and first != [f'"{n}"' for n in names]:
        yield f"{place}: has another header"
