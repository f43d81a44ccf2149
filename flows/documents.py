"""Documents as people write them: YAML in which a key stands once, and errors that name keys."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from sfumato.expectations.errors import SpecError
from sfumato.tasks.schema.files import unreadable


def readable(error: ValidationError, document: Any) -> str:
    """Write the first faults of a document on one line, each with the path of its key."""
    found = [f"{_path(e['loc'], document)}{_rule(e['msg'])}" for e in error.errors()]
    more = f" (and {len(found) - 4} more)" if len(found) > 4 else ""
    return " ".join("; ".join(found[:4]).split()) + more


def _path(location: tuple[int | str, ...], document: Any) -> str:
    """The keys that the document has on the way to an error, and the one that is wrong."""
    kept, here = [], document
    for i, part in enumerate(location):
        known = (
            isinstance(part, int)
            or (isinstance(here, dict) and part in here)
            or i == len(location) - 1
        )
        if known:
            kept.append(str(part) if str(part).isprintable() else repr(part))
            here = _child(here, part)
    return ".".join(kept) + ": " if kept else ""


def _child(here: Any, part: int | str) -> Any:
    if isinstance(here, dict):
        return here.get(part)
    if isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
        return here[part]
    return None


def _rule(message: str) -> str:
    return message.removeprefix("Value error, ").replace("\n", " ")


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a key stands once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} twice", problem_mark=node.start_mark
                )
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Read YAML in which no key stands twice.

    Raises:
        SpecError: where the file cannot be read, or is no such YAML.
    """
    if reason := unreadable(path):
        raise SpecError(f"{path}: {reason}")
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)  # noqa: S506
    except OSError as error:
        raise SpecError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise SpecError(f"{path}: line {line}: not YAML ({error.problem})") from None
    except (yaml.YAMLError, ValueError):  # 2001-99-99 is no date
        raise SpecError(f"{path}: not YAML") from None
