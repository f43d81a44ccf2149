"""The Python API, from the docstrings of what `import sfumato` gives."""

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType


def write_objects() -> str:
    """Markdown of every public function and class that `sfumato` lists."""
    api = importlib.import_module("sfumato")
    sections = [_section(api, name) for name in getattr(api, "__all__", ())]
    return "\n".join(sections) or "This version lists no names."


def _section(api: ModuleType, name: str) -> str:
    thing = getattr(api, name)
    lines = [f"## `{name}` {{ #{name.lower()} }}", ""]
    if callable(thing):
        lines += ["```python", f"{name}{_signature(thing)}", "```", ""]
    lines += [_docstring(thing), ""]
    if inspect.isclass(thing):
        lines += [line for member in _members(thing) for line in _member(thing, member)]
    return "\n".join(lines)


def _member(thing: type, name: str) -> list[str]:
    attribute = inspect.getattr_static(thing, name)
    method = getattr(attribute, "__func__", attribute)
    called = _signature(method) if inspect.isfunction(method) else ""
    return [f"### `{thing.__name__}.{name}{called}`", "", _docstring(attribute), ""]


def _members(thing: type) -> Iterator[str]:
    """Yield the names of public methods and properties that the class itself documents."""
    for name, attribute in vars(thing).items():
        documented = isinstance(attribute, (property, classmethod, staticmethod)) or (
            inspect.isfunction(attribute)
        )
        if documented and not name.startswith("_") and _docstring(attribute):
            yield name


def _signature(thing: object) -> str:
    try:
        whole = str(inspect.signature(thing)).replace("'", "")  # type: ignore[arg-type]
        return re.sub(r"\b(?:\w+\.)+(?=[A-Za-z_])", "", whole)
    except (TypeError, ValueError):
        return "(…)"


def _docstring(thing: object) -> str:
    """Return a docstring as Markdown: examples as console blocks, `Args:` and the like as lists."""
    lines, fenced = [], False
    for line in (inspect.getdoc(thing) or "").splitlines():
        starts = line.lstrip().startswith(">>>")
        if starts and not fenced:
            lines.append("```pycon")
            fenced = True
        if fenced and not line.strip():
            lines.append("```")
            fenced = False
        lines.append(_markdown_line(line) if not fenced else line)
    return "\n".join([*lines, "```"] if fenced else lines)


def _markdown_line(line: str) -> str:
    """Return a line as Markdown: `Raises:` in bold, and what it lists as items."""
    if line.rstrip(":") in ("Args", "Returns", "Raises", "Yields", "Attributes"):
        return f"\n**{line}**\n"
    return f"- {line.strip()}" if line.startswith("    ") and line[4:5] != " " else line
