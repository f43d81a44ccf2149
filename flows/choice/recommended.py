"""The spec that a comparison recommends, beside the one that was compared."""

import re
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

import yaml

from sfumato.flows.documents import parse_yaml, read_yaml
from sfumato.flows.overrides import Overrides
from sfumato.flows.spec import read_spec
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import read_bytes, read_text

_ENDING = ".recommended"


def write_recommended(path: Path, instead: Mapping[str, Any], overrides: Overrides) -> Path:
    """Write a spec with other keys in place of some, comments and all; a key that is None goes.

    Nothing is written over: another file of its name leaves it a number.

    Returns:
        Where it was written: beside the spec, whose paths it has.
    """
    text = read_text(path)
    for key, value in instead.items():
        text = _replaced(text, key, value)
    wanted = {k: v for k, v in {**read_yaml(path), **instead}.items() if v is not None}
    if not _says(text, wanted):  # it was written in a way that is not known here
        text = yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)
    stem = path.name.removesuffix(path.suffix) + _ENDING
    names = chain([f"{stem}.yaml"], (f"{stem}-{number}.yaml" for number in count(2)))
    place = next(found for name in names if _is_free(found := path.with_name(name), text))
    write_atomically(place, text.encode(), mode=0o644)
    read_spec(place, overrides)
    return place


def _is_free(place: Path, text: str) -> bool:
    """True where there is nothing, or the same text already."""
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return False
    return not place.exists() or read_bytes(place) == text.encode()


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return bool(parse_yaml(text) == wanted)
    except yaml.YAMLError:
        return False


def _replaced(text: str, key: str, value: Any) -> str:
    """The text with another value of a key at its top."""
    dumped = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    line = "" if value is None else f"{key}: {dumped.strip()}\n"
    block = re.compile(
        rf"^{re.escape(key)}:.*\n(?:(?:[ \t].*|-.*|)\n)*?(?=[^\s-]|\Z)", re.MULTILINE
    )
    found, times = block.subn(lambda _: line, text, count=1)
    return found if times else f"{text.rstrip()}\n{line}"
