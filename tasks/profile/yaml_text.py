"""YAML of a draft as text: comments, keys with values, and names."""

import re
import textwrap
from typing import Any

import yaml

_WIDTH = 96


def comment(text: str, indent: str = "") -> str:
    r"""Return a text as lines of comments; its own lines stay lines.

    >>> comment("rows of people", "  ")
    '  # rows of people\n'
    """
    prefix = f"{indent}# "
    lines = [
        wrapped
        for line in text.splitlines()
        for wrapped in textwrap.wrap(line, _WIDTH - len(prefix), drop_whitespace=True)
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


def entry(key: str, value: Any) -> str:
    """Write a key and its value, further lines indented below it."""
    first, *rest = flow(value, _WIDTH).split("\n")
    return "\n    ".join([f"{key}: {first}", *(line.strip() for line in rest)]) + "\n"


def flow(value: Any, width: int = 10**6) -> str:
    """Return a value in flow style, on one line unless it is wider than `width`.

    >>> flow({"role": "drop"})
    '{role: drop}'
    """
    text = yaml.safe_dump(
        value, default_flow_style=True, width=width, sort_keys=False, allow_unicode=True
    )
    without_marks = re.sub(r"([{,] ?)\? ('[^']*'|\"[^\"]*\") :", r"\1\2:", text)
    return re.sub(r"\n\.\.\.\n\Z", "", without_marks).rstrip("\n")


def scalar(name: str) -> str:
    """Return a name as YAML writes it, in quotes where it needs them."""
    return flow(name)
