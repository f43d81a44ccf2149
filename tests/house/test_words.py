"""Plain English in the code: heads of docstrings, names of functions, parameters and variables."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.house.survey import ROOT, modules_of_tests, sources

HEADS = re.compile(r"(How|What|Where|Whether|Which|Whose)\b")
PREPOSITION = re.compile(
    r"about|above|across|after|against|along|among|around|at|before|behind|below|beneath|beside"
    r"|besides|between|beyond|by|down|during|except|for|from|in|inside|into|like|near|of|off|on|onto"
    r"|out|outside|over|past|per|since|through|to|towards?|under|up|upon|via|with|within|without"
)
PARTICIPLE = re.compile(
    r"[a-z]+ed|begun|bought|brought|built|caught|chosen|dealt|done|drawn|driven|fallen|felt|forgotten"
    r"|found|frozen|gone|given|grown|heard|held|hidden|kept|known|laid|led|left|lent|lost|made|meant"
    r"|met|paid|said|seen|sent|shown|sold|sought|spent|spoken|stood|struck|sunk|taken|taught|thought"
    r"|thrown|told|torn|understood|won|worn|written"
)
OTHER_WORDS = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed"}
CONTRACTS = {"attained", "required", "suppressed", "verified"}
VARIABLE = re.compile(
    r"asked|at|by|drawn|found|given|held|kept|known|left|meant|of|one|said|shown|told|wanted"
)
DEFINED = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
REASONS = {
    "a parameter that a command's option gives": [
        "flows/cli/steward/keys.py::revoke",
    ],
    "a key of documents, or of a spec": [
        "expectations/suites/gate.py::LimitedShare.observed",
        "tasks/partitions/aimed/parameters.py::GroupByAim.over",
        "tasks/report/steward/comparison.py::RankedAlternative.guessed",
        "tasks/report/steward/comparison.py::TriedAlternative.published",
        "tasks/schema/published.py::DeclaredColumn.since",
        "tasks/schema/stated.py::CalibratedFamily.since",
    ],
    "a column of accuracy.csv": [
        "tasks/query/accuracy/scores.py::Measured.inside",
        "tasks/report/accuracy.py::MeasuredWorkload.inside",
    ],
}
"""Places that keep their words, by the reason; no place in tests needs to."""
REVIEWED = {place for places in REASONS.values() for place in places}


class Place(NamedTuple):
    """A name or a docstring that the rules refuse.

    Attributes:
        where: file and qualified name, `tasks/x.py::Class.method`.
        line: in the file.
        what: the word.
    """

    where: str
    line: int
    what: str


def is_bare_state(name: str) -> bool:
    """Return True for a name that is one participle or preposition, private or not."""
    word = name.strip("_")
    if word in OTHER_WORDS | CONTRACTS:
        return False
    return bool(PREPOSITION.fullmatch(word) or PARTICIPLE.fullmatch(word))


def refused_places(file: str, source: str) -> list[Place]:
    """Find what the rules refuse in a module."""
    return list(_refused_places(ast.parse(source), f"{file}::"))


def _refused_places(node: ast.AST, where: str) -> Iterator[Place]:
    if isinstance(node, DEFINED):
        where = f"{where}.{node.name}".replace("::.", "::")
    if isinstance(node, ast.Module | DEFINED) and HEADS.match(ast.get_docstring(node) or ""):
        yield Place(where, getattr(node, "lineno", 1), (ast.get_docstring(node) or "").split()[0])
    yield from (Place(where, node.lineno, word) for word in _bare_names(node))
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.ClassDef) and isinstance(child, ast.AnnAssign):
            continue  # a field
        yield from _refused_places(child, where)


def _bare_names(node: ast.AST) -> Iterator[str]:
    """Return the name that a node defines, if the rules refuse it."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if is_bare_state(name):
                yield name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            if VARIABLE.fullmatch(name.strip("_")):
                yield name


def test_the_code_is_in_plain_english():
    places = [
        place
        for path in (*sources(), *modules_of_tests())
        for place in refused_places(
            path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        )
    ]
    assert [place for place in places if place.where not in REVIEWED] == []
    assert REVIEWED - {place.where for place in places} == set()
    assert len(REVIEWED) <= 30


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('"""What is here."""', ["What"]),
        ('def f():\n    """Whether it is."""', ["Whether"]),
        ("def _told(): ...", ["_told"]),
        ("class A:\n    def of(self): ...", ["of"]),
        ("def f(found, *, by): ...", ["found", "by"]),
        ("x = [one for one in rows]", ["one"]),
        ("with a as held: ...", ["held"]),
        ("class A:\n    kept: int", []),
        ("def seed(): ...\ndef read_told(): ...", []),
        ('def f():\n    """Return whether it is."""\n    result = 1', []),
    ],
)
def test_words_are_found(source, words):
    assert [place.what for place in refused_places("m.py", source)] == words
