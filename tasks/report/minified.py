"""Scripts and styles of pages as short texts that do the same.

Spaces and signs that only people need are left out, and variables get short names. Every variable
of one name gets the same new name everywhere, so scopes stay as they are. Names of properties stay,
since data and browsers have them.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Literal

_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE = re.compile(r"[`}](?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.DOTALL)
"""A template, up to its first expression, or what follows an expression."""
_CODE = re.compile(r"[^\"'`/{}]+")
_BEFORE_PATTERN = re.compile(r"(?:^|[(,=:\[!&|?{};+>]|\breturn)\s*\Z")
"""Code after which a slash begins a regular expression, and does not divide."""
_GAPS = re.compile(r"(?P<before>[^\w$\s]?)[ \n]+(?=(?P<after>.?))", re.DOTALL)
_LAST_COMMA = re.compile(r",(?=[)\]}])")
_CONSTANT = re.compile(r"(?<![\w$.])const(?=[ \[{])")
_ONLY_PARAMETER = re.compile(r"(?<![\w$])\((\w+)\)(?==>)")
_TWICE = ("+", "-", "/")
"""Characters that mean something else if two follow each other."""
_TOKEN = re.compile(r"\d[\w.]*|(?P<name>[A-Za-z_$][\w$]*)|\.\.\.|=>|\?\.|\s+|[^\s\w]")
_LINE = re.compile(r"\s*\n\s*")
_SIGN = re.compile(r" ?([{;,]) ?")
_VALUE = re.compile(r"(?<=[a-z-]): ")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORDS = (
    *("as", "async", "await", "break", "case", "catch", "class", "const", "constructor"),
    *("continue", "default", "delete", "do", "else", "export", "extends", "false", "finally"),
    *("for", "from", "function", "get", "if", "import", "in", "instanceof", "let", "new", "null"),
    *("of", "return", "set", "static", "super", "switch", "this", "throw", "true", "try"),
    *("typeof", "undefined", "var", "void", "while", "with", "yield"),
)
_GLOBALS = """
    Array ArrayBuffer BigInt Boolean DataView Date Error Float64Array HTMLScriptElement Infinity
    Int32Array JSON Map Math NaN Number Object Promise RegExp Set String Symbol TextDecoder
    TypeError URL Uint16Array Uint8Array WeakMap atob decodeURIComponent document
    encodeURIComponent fetch window
"""
_KEPT = frozenset([*_WORDS, *_GLOBALS.split()])
"""Words of the language, and what scripts use of browsers: these names stay."""
_BEFORE_BLOCK = frozenset(["", "{", "}", ";", ")", "=>", "catch", "do", "else", "finally", "try"])
_Bracket = Literal["block", "object", "class", "other"]


def minify(script: str) -> str:
    """Return a script that does the same, without spaces and signs that only people need.

    These signs are the last semicolon of a block, the last comma of a list, and the parentheses of
    an arrow function's only parameter. Constants become variables, which take fewer letters: that
    none is assigned to, the types' check proves.

    Args:
        script: JavaScript without comments. Every statement ends with a semicolon, and none is
            empty.

    >>> minify('const a = b - -1; if (a > 2) { say("a = b"); }')
    'let a=b- -1;if(a>2){say("a = b")}'
    """
    pieces: list[str] = []
    for is_code, piece in _pieces(script):
        if is_code and pieces:
            # the last character decides about spaces behind it
            pieces.append(_without_spaces(pieces[-1][-1:] + piece)[1:])
        else:
            pieces.append(_without_spaces(piece) if is_code else piece)
    return "".join(pieces)


def shorten_names(scripts: Sequence[str], foreign: Collection[str] = ()) -> list[str]:
    """Return scripts of one scope, in which variables have short names.

    A variable that gives a property its name is written beside it: `{lower}` becomes `{lower:a}`.

    Args:
        scripts: as `minify` returns them.
        foreign: the names of variables that stay, since others use them.

    >>> shorten_names(["let low=1;", "say({low,high:low.low})"], ["say"])
    ['let a=1;', 'say({low:a,high:a.low})']
    """
    tokens = [list(_tokens(script)) for script in scripts]
    times = Counter(token.text for some in tokens for token in some if token.is_variable)
    stay = _KEPT | frozenset(foreign)
    names = sorted(times.keys() - stay, key=lambda name: (-times[name], name))
    free = (name for name in _short_names() if name not in stay)
    new = dict(zip(names, free, strict=False))
    return ["".join(token.with_name(new) for token in some) for some in tokens]


def minify_styles(css: str) -> str:
    r"""Return rules that say the same, without spaces and signs that only people need.

    Args:
        css: rules without comments, and without texts that have commas, semicolons or braces.

    >>> minify_styles("a > b {\n  margin: 0 1rem;\n  color: red;\n}\n")
    'a > b{margin:0 1rem;color:red}'
    """
    bare = _SIGN.sub(r"\1", _LINE.sub("", css)).replace(";}", "}")
    return _VALUE.sub(":", bare)


@dataclass(frozen=True)
class _ScriptToken:
    """A token of a script.

    Attributes:
        text: as it stands there; a literal, or a part of a template between expressions, is one.
        is_variable: whether it is the name of a variable.
        names_property: whether this variable also gives a property its name.
    """

    text: str
    is_variable: bool = False
    names_property: bool = False

    def with_name(self, names: Mapping[str, str]) -> str:
        """Return its text with the new name of its variable."""
        if not self.is_variable or self.text not in names:
            return self.text
        name = names[self.text]
        return f"{self.text}:{name}" if self.names_property else name


def _short_names() -> Iterator[str]:
    """Yield all names of one letter, then of two, and so on.

    >>> names = _short_names()
    >>> [next(names) for _ in range(54)][-3:]
    ['Z', 'aa', 'ab']
    """
    for length in count(1):
        yield from map("".join, product(_LETTERS, repeat=length))


def _tokens(script: str) -> Iterator[_ScriptToken]:
    """Yield the tokens of a script that has no needless spaces."""
    texts = list(_texts(script))
    brackets: list[_Bracket] = ["block"]
    before, begins_class = "", False
    for place, (is_name, text) in enumerate(texts):
        if is_name:
            after = texts[place + 1][1] if place + 1 < len(texts) else ""
            token = _name(text, before, after, brackets[-1])
            yield token
            begins_class |= token.is_variable and text == "class"
        else:
            yield _ScriptToken(text)
            if text[0] in ")]}":
                brackets.pop()
            if text[-1] in "([{":
                brackets.append("class" if begins_class else _bracket(text, before))
                begins_class = False
        before = before if text.isspace() else text


def _texts(script: str) -> Iterator[tuple[bool, str]]:
    """Yield the texts of tokens, and whether each is a name."""
    for is_code, piece in _pieces(script):
        if is_code:
            yield from ((bool(token["name"]), token[0]) for token in _TOKEN.finditer(piece))
        else:
            yield False, piece


def _name(text: str, before: str, after: str, within: _Bracket) -> _ScriptToken:
    """Return the token of a name, from the tokens beside it and the innermost open bracket."""
    if before in (".", "?.") or within == "class":
        return _ScriptToken(text)
    if within == "object" and before in ("{", ","):
        return _ScriptToken(text, is_variable=after not in (":", "("), names_property=True)
    return _ScriptToken(text, is_variable=True)


def _bracket(text: str, before: str) -> _Bracket:
    """Return the kind of an opening bracket, from the token before it; no case begins with one."""
    if text != "{":
        return "other"
    return "block" if before in _BEFORE_BLOCK else "object"


def _pieces(script: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a script in order, and whether each is code.

    The others are texts, regular expressions, and the parts of templates beside expressions.
    """
    place, code, depths = 0, "", [0]
    while place < len(script):
        end = _end_of_literal(script, place, code, is_expression=len(depths) > 1 and not depths[-1])
        if end is None:
            match = _CODE.match(script, place)
            piece = match[0] if match else script[place]
            depths[-1] += {"{": 1, "}": -1}.get(piece, 0)
            code, place = code + piece, place + len(piece)
            continue
        if code:
            yield True, code
        piece = script[place:end]
        yield False, piece
        if piece[0] == "}":
            depths.pop()
        if piece.endswith("${"):
            depths.append(0)
        place, code = end, ""
    if code:
        yield True, code


def _end_of_literal(script: str, place: int, code: str, *, is_expression: bool) -> int | None:
    """Return the end of the literal that begins at a place; None if code continues there.

    Args:
        script: the script.
        place: the place.
        code: the code before it, from the last literal on.
        is_expression: whether a closing brace ends the expression of a template here.
    """
    first = script[place]
    if first == "`" or (first == "}" and is_expression):
        match = _TEMPLATE.match(script, place)
    elif first == "/":
        match = _PATTERN.match(script, place) if _BEFORE_PATTERN.search(code) else None
    else:
        match = _TEXT.match(script, place)
    return match.end() if match else None


def _without_spaces(code: str) -> str:
    bare = _GAPS.sub(_space, code).replace(";}", "}")
    bare = _CONSTANT.sub("let", _LAST_COMMA.sub("", bare))
    return _ONLY_PARAMETER.sub(r"\1", bare)


def _space(match: re.Match[str]) -> str:
    """Return the spaces that code needs between two characters, with the one before them."""
    before, after = match["before"], match["after"]
    if before in _TWICE and after in ("", before):
        return f"{before} "
    is_beside_sign = before or (after and not re.match(r"[\w$\"'`]", after))
    return before if is_beside_sign else " "
