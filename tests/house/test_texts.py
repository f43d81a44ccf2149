"""Plain English in every text that can reach a user: messages, help, summaries, pages' words."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.house.survey import ROOT, sources

LONGEST = 28  # words of a sentence
WORDS = re.compile(
    r"\b(?:nought|none|alone|else|whose|whoever|everybody|nobody|somebody|anybody|besides|likewise"
    r"|tells?|told|says?|said|stands?|holds?|held|bears?|meets?|(?:is|are) of|all the same"
    r"|as was said|in the mean)\b|\btoo[.)]?$",
    re.IGNORECASE,
)
QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|https?://\S+|\{\}:|^(?:[\w.()<>{}-]+: )+")
SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
WORD = re.compile(r"[a-z]{2,}")
CODE = re.compile(r"\b(?:SELECT|CASE WHEN|CREATE|INSERT|FROM|\(\?[:P!])|[\\^]|=>|\{%|</?\w+>")
PENDING = {
    "expectations",
    "tasks/approval",
    "tasks/attacks",
    "tasks/continued",
    "tasks/experiments",
    "tasks/forms",
    "tasks/lines",
    "tasks/partitions",
    "tasks/private",
    "tasks/query",
    "tasks/report",
    "tasks/sql",
    "tasks/verification",
}
"""Folders and modules whose texts were written before these rules, and are to be rewritten."""
KEPT = {
    "alone with its quasi-identifiers": "a measure's name in the JSON of drafts",
    "own value guessed from the group alone": "a measure's name in saved reports",
    "sfumato: runs whose process is gone": "an automation's name on Prefect servers",
    "tasks/profile/names.py": "lists of words that names of columns contain",
}
"""Texts and modules that keep what the rules refuse, with the reason."""


class Text(NamedTuple):
    """A text in the code; `{}` in the place of what is filled in."""

    where: str
    line: int
    text: str


def texts_of(file: str, source: str) -> Iterator[Text]:
    """Yield each string of a module that is a sentence or a part of one: three words or more."""
    tree = ast.parse(source)
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = _text(node)
        if text is None or id(node) in parts | alone or CODE.search(text):
            continue
        if " " in text and len(WORD.findall(text)) >= 3:
            yield Text(f"{file}", node.lineno, text)


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def faults_of(text: str) -> list[str]:
    """Return what the rules refuse in a text, in words."""
    plain = QUOTED.sub("X ", text)
    sentences = SENTENCE.split(plain)
    faults = [f"word {word!r}" for word in WORDS.findall(plain)]
    if any(len(sentence.split()) > LONGEST for sentence in sentences):
        faults.append("long sentence")
    if any(len(re.findall(r": |; ", sentence)) > 1 for sentence in sentences):
        faults.append("colons")
    return faults


def is_pending(file: str) -> bool:
    """Return True for a module that is to be rewritten."""
    return any(file == place or file.startswith(f"{place}/") for place in PENDING)


def refused_texts() -> Iterator[tuple[Text, list[str]]]:
    """Yield the texts of the product that break a rule."""
    for path in sources():
        file = path.relative_to(ROOT).as_posix()
        for text in texts_of(file, path.read_text(encoding="utf-8")):
            if (faults := faults_of(text.text)) and not {text.text, text.where} & KEPT.keys():
                yield text, faults


def test_texts_are_in_plain_english():
    assert [entry for entry in refused_texts() if not is_pending(entry[0].where)] == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("column 'age' does not occur", []),
        ("columns: {}: columns: {} and {} both have `unit: true`", []),
        ("nobody may say what this is", ["word 'nobody'", "word 'say'"]),
        ("a query is refused: it has no bounds; ask for others: see the guide", ["colons"]),
        ("write `none: x; y: z` in the spec", []),
        (" ".join(["word"] * 29), ["long sentence"]),
    ],
)
def test_rules_find_what_they_are_about(text, faults):
    assert faults_of(text) == faults


def test_parts_of_messages_are_joined():
    source = 'raise E(f"{place}: the column {name} is missing")\n"""Alone, as documentation."""\n'
    assert [text.text for text in texts_of("x.py", source)] == ["{}: the column {} is missing"]


if __name__ == "__main__":
    import sys

    for text, faults in refused_texts():
        if any(text.where.startswith(place) for place in sys.argv[1:] or [""]):
            print(f"{text.where}:{text.line}: {', '.join(faults)}: {text.text!r}")
