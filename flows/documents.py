"""Documents as people write them: YAML in which a key stands once, and errors that name keys."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from sfumato.expectations.errors import SpecError
from sfumato.tasks.schema.files import unreadable
from sfumato.tasks.schema.nesting import NestingError, require_shallow


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
    """YAML in which a key stands once, and that aliases do not make large."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Count what an alias stands for each time that it stands there."""
        alias, before = self.check_event(yaml.AliasEvent), self._nodes
        node = super().compose_node(parent, index)
        self._nodes += self._sizes.get(id(node), _MOST_NODES) if alias else 1
        if self._nodes > _MOST_NODES:
            raise NestingError
        self._sizes.setdefault(id(node), self._nodes - before)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} twice", problem_mark=node.start_mark
                )
        return super().construct_mapping(node, deep)


_MOST_NODES = 1_000_000  # of a document, in which an alias counts as what it stands for


def parse_yaml(text: str) -> Any:
    """Parse YAML in which no key stands twice.

    Raises:
        NestingError: where it is nested too deep, or its aliases make it too large.
        ValueError, YAMLError: where it is no such YAML.
    """
    try:
        document = yaml.load(text, Loader=_StrictLoader)  # noqa: S506
    except RecursionError:
        raise NestingError from None
    require_shallow(document)
    return document


def require_exact_integers(place: Path, document: Any, key: str = "") -> None:
    """Refuse integers that JSON cannot hold exactly: a manifest has to say what a spec says.

    Raises:
        SpecError: naming the key.
    """
    if isinstance(document, dict | list):
        items = document.items() if isinstance(document, dict) else enumerate(document)
        for name, value in items:
            require_exact_integers(place, value, f"{key}.{name}" if key else str(name))
    elif isinstance(document, int) and abs(document) > _LARGEST:
        raise SpecError(f"{place}: {key}: an integer may be at most 2^53 - 1")


_LARGEST = 2**53 - 1


def read_yaml(path: Path) -> Any:
    """Read YAML in which no key stands twice.

    Raises:
        SpecError: where the file cannot be read, or is no such YAML.
    """
    if reason := unreadable(path):
        raise SpecError(f"{path}: {reason}")
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8") from None
    except NestingError as error:
        raise SpecError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise SpecError(f"{path}: line {line}: not YAML ({error.problem})") from None
    except (yaml.YAMLError, ValueError):  # 2001-99-99 is no date
        raise SpecError(f"{path}: not YAML") from None
