"""YAML documents of people; a key may occur only once in its mapping."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.numbers import LARGEST
from sfumato.tasks.schema.files import NestingError, read_text, require_shallow, unreadable


class DuplicateKeyError(yaml.MarkedYAMLError):
    """A key that is in its mapping already."""


class _StrictLoader(yaml.SafeLoader):
    """YAML with each key once, with `on` as a text, and without large expansion of aliases."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node; each alias counts as many nodes as it represents."""
        alias, before = self.check_event(yaml.AliasEvent), self._nodes
        node = super().compose_node(parent, index)
        self._nodes += self._sizes.get(id(node), _MOST_NODES) if alias else 1
        if self._nodes > _MOST_NODES:
            raise NestingError
        self._sizes.setdefault(id(node), self._nodes - before)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: list[Any] = []
        for key_node, _ in node.value:
            if key_node.tag == _TRUTH:  # YAML 1.1 takes on, off, yes and no for it, too
                key_node.tag = self.DEFAULT_SCALAR_TAG
            key = self.construct_object(key_node, deep=True)
            if key in keys:
                raise DuplicateKeyError(
                    problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark
                )
            keys.append(key)
        return super().construct_mapping(node, deep)


_TRUTH = "tag:yaml.org,2002:bool"
_MOST_NODES = 1_000_000  # of a document, in which an alias counts as what it stands for


def parse_yaml(text: str) -> Any:
    """Parse YAML in which no key occurs twice.

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


def yaml_fault(error: Exception) -> str:
    """Return in words why a text is not YAML with each key only once."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return "not YAML"
    line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
    problem = " ".join(str(error.problem).split())
    return f"{line}{problem if isinstance(error, DuplicateKeyError) else f'not YAML ({problem})'}"


def require_storable(place: Path, document: Any, key: str = "") -> None:
    """Refuse integers that JSON cannot hold exactly, and texts that no path can hold.

    Raises:
        SpecError: naming the key.
    """
    if isinstance(document, dict | list):
        items = document.items() if isinstance(document, dict) else enumerate(document)
        for name, value in items:
            require_storable(place, value, f"{key}.{name}" if key else str(name))
    elif isinstance(document, int) and abs(document) > LARGEST:
        raise SpecError(f"{place}: {key}: an integer may be at most 2^53 - 1")
    elif isinstance(document, str) and "\0" in document:
        raise SpecError(f"{place}: {key}: contains the character NUL. Remove it")


def read_yaml(path: Path) -> Any:
    """Read YAML in which no key occurs twice.

    Raises:
        SpecError: where the file cannot be read, or is no such YAML.
    """
    if reason := unreadable(path):
        raise SpecError(f"{path}: {reason}")
    try:
        return parse_yaml(read_text(path))
    except OSError as error:
        raise SpecError(with_remedies(f"{path}: cannot be read", error)) from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8") from None
    except NestingError as error:
        raise SpecError(f"{path}: {error}") from None
    except (yaml.YAMLError, ValueError) as error:  # 2001-99-99 is no date
        raise SpecError(f"{path}: {yaml_fault(error)}") from None
