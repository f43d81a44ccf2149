"""Code lists and trees of codes beside a metadata file of tau-Argus.

Source: test files of tau-Argus 4.2 (`region.cdl`, `region2.hrc`). A code list (`.cdl`) has a line
`code,label` for each code. A tree (`.hrc`) has a code on each line, with a leading string (such as
`@`) for each level that it lies below the top.
"""

import csv
from pathlib import Path

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.hostile import read_foreign_text
from sfumato.tasks.other_tools.setup import Rows, harmless_text, is_name
from sfumato.tasks.schema.hierarchy import ROOT, Hierarchy

_MOST_CODES = 10_000
_DEEPEST = 20


def _side_file(metadata: Path, name: str) -> tuple[Path, str]:
    """Return the path and the called name of a file beside a metadata file.

    Raises:
        InputError: if the name is that of a file in another folder.
    """
    called = harmless_text(name, 80)
    plain = name.replace("\\", "/")
    if not name.strip() or "/" in plain or plain in (".", "..") or ":" in plain or "\0" in plain:
        raise InputError(
            f"{called!r} is no name of a file beside the metadata, and files elsewhere are not "
            "read. Copy it there, and write its name only"
        )
    path = metadata.parent / name
    if not path.exists():
        # tau-Argus is a program of Windows, where case makes no difference
        same = [p for p in metadata.parent.iterdir() if p.name.lower() == name.lower()]
        path = same[0] if len(same) == 1 else path
    if path.is_symlink():
        raise InputError(f"{called}: is a link, and links are not followed")
    return path, called


def read_code_list(metadata: Path, name: str) -> dict[str, str]:
    """Return the labels of codes.

    Raises:
        InputError: if the file is not beside the metadata, cannot be read, or is no code list.
    """
    path, called = _side_file(metadata, name)
    lines = [line for line in read_foreign_text(path, called).split("\n") if line.strip()]
    if len(lines) > _MOST_CODES:
        raise InputError(f"{called}: has more than {_MOST_CODES:,} codes")
    labels: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        delimiter = ";" if ";" in line.split(",")[0] else ","
        fields = [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]
        if len(fields) < 2 or not fields[0] or not is_name(fields[1]):
            raise InputError(f"{called}: line {number}: is not a code and its label")
        if fields[0] in labels:
            raise InputError(f"{called}: line {number}: the code is in an earlier line already")
        labels[fields[0]] = fields[1]
    if not labels:
        raise InputError(f"{called}: has no code")
    return labels


def read_tree(metadata: Path, name: str, lead: str) -> Rows:
    """Return a tree of codes as the rows of a hierarchy, shallow branches filled up.

    Raises:
        InputError: if the file is not beside the metadata, cannot be read, or is no tree.
    """
    path, called = _side_file(metadata, name)
    if not lead or len(lead) > 10:
        raise InputError(f"{called}: its leading string has no or more than 10 characters")
    nodes = _nodes(read_foreign_text(path, called), lead, called)
    paths = list(_paths_of_leaves(nodes))
    deepest = max(len(labels) for labels in paths)
    rows = tuple(
        (labels[-1], *reversed([*labels[:-1], *[labels[-1]] * (deepest - len(labels))]), ROOT)
        for labels in paths
    )
    return Hierarchy(called, rows).rows


def _nodes(text: str, lead: str, called: str) -> list[tuple[int, str]]:
    """Return the level and the code of each line.

    Raises:
        InputError: if there are too many codes or levels, or a level is left out.
    """
    nodes: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        level, code = _node(line.strip(), lead, f"{called}: line {number}")
        if level > (nodes[-1][0] + 1 if nodes else 0):
            raise InputError(f"{called}: line {number}: a level above it is missing")
        nodes.append((level, code))
        if len(nodes) > _MOST_CODES:
            raise InputError(f"{called}: has more than {_MOST_CODES:,} codes")
    if not nodes:
        raise InputError(f"{called}: has no code")
    return nodes


def _node(line: str, lead: str, place: str) -> tuple[int, str]:
    """Return the level and the code of a line.

    Raises:
        InputError: if it is too deep, or has no code.
    """
    code, level = line, 0
    while code.startswith(lead):
        code, level = code[len(lead) :].strip(), level + 1
        if level > _DEEPEST:
            raise InputError(f"{place}: is deeper than {_DEEPEST} levels")
    if not is_name(code) or code == ROOT:
        raise InputError(f"{place}: has no code that a label can be")
    return level, code


def _paths_of_leaves(nodes: list[tuple[int, str]]) -> list[tuple[str, ...]]:
    """Return the codes from the top to each leaf."""
    paths: list[tuple[str, ...]] = []
    above: list[str] = []
    for place, (level, code) in enumerate(nodes):
        above = [*above[:level], code]
        is_leaf = place + 1 == len(nodes) or nodes[place + 1][0] <= level
        if is_leaf:
            paths.append(tuple(above))
    return paths
