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
# SQL, patterns, templates, annotations, and prose wrapped to lines: the comments of published SQL
CODE = re.compile(
    r"\| None$|\n\w|\b(?:SELECT|CASE WHEN|CREATE|INSERT|FROM|\(\?[:P!])|[\\^]|=>|\{%|</?\w+>"
)
_MEASURE = "a measure of an attack, or what it is compared with: a key of reports and of scores"
KEPT = {
    "from the group alone": _MEASURE,
    "from the declared target alone": _MEASURE,
    "from the subdomains alone": _MEASURE,
    "from the first alone": _MEASURE,
    "one person of the register alone": _MEASURE,
    "in a group in which all values are of one kind": _MEASURE,
    "in a group whose range is below": _MEASURE,
    "than somebody of the register who is not": _MEASURE,
    "by who knows what else was tried": _MEASURE,
    "record like nobody else": _MEASURE,
    "people whose record is like nobody else": _MEASURE,
    "people whose quasi-identifiers are like nobody else": _MEASURE,
    "people of the register who are like nobody else there": _MEASURE,
    "apparent match: alone with their quasi-identifiers": _MEASURE,
    "one published row meets: somebody is singled out": _MEASURE,
    "no answer tells some people from others": "a warning on the pages of releases, sealed",
    "is of none of the families that the publisher": "a reason in answers as JSON",
    "alone with its quasi-identifiers": "the name of a measure in the JSON of drafts",
    "sfumato: runs whose process is gone": "the name of an automation on Prefect servers",
    "a label stands for any number of values": "the content of a table in databases",
}
"""Phrases that published bytes or other contracts contain, and why; no other text may have them."""
SEALED_MODULES = {
    "tasks/profile/names.py": "words that names of columns contain",
    "tasks/sql/reserved.py": "words of SQL",
}
"""Modules that keep their words, by the reason."""
SEALED_NAMES = {"meanings", "meanings_over_people", "sentence", "sentence_of_declared", "whose"}
"""Attributes and methods of privacy models that have texts of a release's page."""


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
    left_out = parts | alone | _sealed_nodes(file, tree)
    for node in ast.walk(tree):
        text = _text(node)
        if text is None or id(node) in left_out or CODE.search(text):
            continue
        if " " in text and len(WORD.findall(text)) >= 3:
            yield Text(f"{file}", node.lineno, text)


def _sealed_nodes(file: str, tree: ast.Module) -> set[int]:
    """Return the nodes (by id) with texts of a release's page, which no rule may change."""
    if file in SEALED_MODULES:
        return {id(node) for node in ast.walk(tree)}
    if not file.startswith("expectations/models/"):
        return set()
    sealed = (node for node in ast.walk(tree) if _name(node) in SEALED_NAMES)
    return {id(part) for node in sealed for part in ast.walk(node)}


def _name(node: ast.AST) -> str:
    """Return the name that a function or an annotated attribute defines, '' for other nodes."""
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ""


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def faults_of(text: str) -> list[str]:
    """Return what the rules refuse in a text, in words."""
    for phrase in KEPT:
        text = text.replace(phrase, "X")
    plain = QUOTED.sub("X ", text)
    sentences = SENTENCE.split(plain)
    faults = [f"word {word!r}" for word in WORDS.findall(plain)]
    if any(len(sentence.split()) > LONGEST for sentence in sentences):
        faults.append("long sentence")
    if any(len(re.findall(r": |; ", sentence)) > 1 for sentence in sentences):
        faults.append("colons")
    return faults


def refused_texts() -> Iterator[tuple[Text, list[str]]]:
    """Yield the texts of the product that break a rule."""
    for path in sources():
        file = path.relative_to(ROOT).as_posix()
        for text in texts_of(file, path.read_text(encoding="utf-8")):
            if faults := faults_of(text.text):
                yield text, faults


def test_texts_are_in_plain_english():
    assert list(refused_texts()) == []


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


def test_kept_phrases_are_in_use():
    written = [
        text.text
        for path in sources()
        for text in texts_of(path.as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert [phrase for phrase in KEPT if not any(phrase in text for text in written)] == []
    assert len(KEPT) <= 20


def test_parts_of_messages_are_joined():
    source = 'raise E(f"{place}: the column {name} is missing")\n"""Alone, as documentation."""\n'
    assert [text.text for text in texts_of("x.py", source)] == ["{}: the column {} is missing"]


def test_sealed_texts_are_left_out():
    source = 'class A:\n    def sentence(self):\n        return "nobody may say what this is"\n'
    assert list(texts_of("expectations/models/a.py", source)) == []
    assert len(list(texts_of("expectations/rules/a.py", source))) == 1
    assert list(texts_of("tasks/profile/names.py", source)) == []


def test_sealed_modules_are_there():
    assert [name for name in SEALED_MODULES if not (ROOT / name).is_file()] == []


if __name__ == "__main__":
    import sys

    for text, faults in refused_texts():
        if any(text.where.startswith(place) for place in sys.argv[1:] or [""]):
            print(f"{text.where}:{text.line}: {', '.join(faults)}: {text.text!r}")


HEAD = re.compile(r"<head>.*?</head>", re.DOTALL)
MARKUP = re.compile(r"\{[%#{].*?[%#}]\}|<pre.*?</pre>|<code>.*?</code>|<[^>]+>", re.DOTALL)
PRINTED = "experiments"
"""Pages of experiments repeat what papers print."""


def words_of_page(markup: str) -> str:
    """Return the text of a template, without what is filled in."""
    return " ".join(MARKUP.sub(" X ", HEAD.sub("", markup)).split())


def test_pages_are_in_plain_words():
    rooms = (ROOT / "tasks", ROOT / "flows" / "workbench")
    pages = [path for room in rooms for path in room.rglob("*.html.j2")]
    pages = [path for path in pages if PRINTED not in path.parts]
    assert len(pages) > 50
    places = [
        (path.name, word.group(0))
        for path in pages
        for word in WORDS.finditer(words_of_page(path.read_text(encoding="utf-8")))
    ]
    assert places == []


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<p>Nobody can tell.</p>", ["Nobody", "tell"]),
        ("<p>{% if told %}{{ says }}{% endif %} <code>holds</code></p>", []),
        ("<head><title>whoever</title></head>It is of {{ a }}.", ["is of"]),
    ],
)
def test_words_of_templates_are_found(markup, words):
    assert [word.group(0) for word in WORDS.finditer(words_of_page(markup))] == words
