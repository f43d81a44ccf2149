"""Calls with literal arguments in an R script. No R is run, and nothing is computed.

Source: the R Language Definition, chapter 10 (parser). A script becomes tokens; of these only calls
of functions that were asked for are read, with the values that are written in them: numbers, texts,
TRUE, FALSE, NULL, `c(…)` of such, a range `4:6`, and names that the script sets once, outside of
braces, to such a value. Everything else is `COMPUTED`.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.hostile import exact_number
from sfumato.tasks.other_tools.setup import harmless_text

MOST_TOKENS = 50_000
"""Words, signs and blanks of a script."""
MOST_VALUES = 10_000
"""Values of one vector."""
_DEEPEST = 50
_LONGEST_TARGET = 200  # tokens before an assignment
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\f\u00a0]+|\#[^\n]*)
      | (?P<line>\n|;)
      | (?P<raw>[rR](?P<quote>["'])(?P<dashes>-{0,8})[(\[{])
      | (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+')
      | (?P<number>(?:0[xX][0-9a-fA-F]{1,15}|(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})
          (?:[eE][+-]?[0-9]{1,5})?)[Li]?)
      | (?P<name>`[^`\n]*`|[^\W\d_][\w.]*|\.(?![0-9])[\w.]*)
      | (?P<sign><<-|->>|<-|->|\|>|%[^%\n]*%|:::?|[-+*/^!&|~?<>=$@:]=?|&&|\|\||\\)
      | (?P<mark>[()\[\]{},])
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_CONSTANTS: Mapping[str, Any] = {"TRUE": True, "T": True, "FALSE": False, "F": False, "NULL": None}
_ASSIGNS = ("<-", "<<-", "=")
_FLOW = ("if", "for", "while", "repeat", "else", "function")
_SETS_ANYTHING = ("assign", "attach", "delayedAssign", "eval", "load", "source", "sys.source")


class Computed:
    """The mark of an argument that is not written in the script, but computed by it."""

    def __repr__(self) -> str:
        return "COMPUTED"


COMPUTED = Computed()
Value = Any
"""A number, text, truth value, None for NULL, a tuple of these, or `COMPUTED`."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class RCall:
    """A call in a script.

    Attributes:
        function: its name, without its package.
        line: of the script.
        positional: the values of arguments without a name, in order.
        named: the values of the others.
        subject: the name of the variable that the first argument is, None if it is another thing.
        in_braces: True in a function, loop or condition: nobody knows whether it runs.
    """

    function: str
    line: int
    positional: tuple[Value, ...]
    named: Mapping[str, Value]
    subject: str | None
    in_braces: bool

    def arguments(self, formals: Sequence[str]) -> dict[str, Value]:
        """Return the values by the names of the function's parameters, matched as R does.

        Full names count first, then beginnings that fit one parameter only, then positions. A name
        that fits none is left out.
        """
        values: dict[str, Value] = {}
        partial: dict[str, Value] = {}
        for name, value in self.named.items():
            (values if name in formals else partial)[name] = value
        for name, value in partial.items():
            fitting = [f for f in formals if f.startswith(name) and f not in values]
            if len(fitting) == 1:
                values[fitting[0]] = value
        free = (formal for formal in formals if formal not in values)
        return values | dict(zip(free, self.positional, strict=False))


def read_calls(text: str, functions: Collection[str], file: str) -> list[RCall]:
    """Return the calls of some functions in a script, in order.

    Raises:
        InputError: if the script is no R, is too long, or brackets are nested too deep.
    """
    tokens = [token for token in _tokens(text, file) if token.kind != "blank"]
    pairs = _pairs(tokens, file)
    reader = _Reader(tokens, pairs, file)
    return [reader.call(place) for place in reader.places(functions)]


def _tokens(text: str, file: str) -> Iterator[_Token]:
    """Yield the tokens of a script.

    Raises:
        InputError: at the first character that no token of R begins with, or after too many.
    """
    place, line, number = 0, 1, 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or (number := number + 1) > MOST_TOKENS:
            fault = "has too many words" if match else f"is no R script (line {line})"
            raise InputError(f"{file}: {fault}")
        end, kind = match.end(), str(match.lastgroup)
        if match.group("raw"):
            closing = _CLOSING[text[end - 1]] + match.group("dashes") + match.group("quote")
            last = text.find(closing, end)
            if last < 0:
                raise InputError(f"{file}: line {line}: a text does not end")
            yield _Token("raw", text[end:last], line)
            end = last + len(closing)
        else:
            yield _Token(kind, match.group(), line)
        line += text.count("\n", place, end)
        place = end


def _pairs(tokens: Sequence[_Token], file: str) -> dict[int, int]:
    """Return the place of the closing bracket by that of the opening one.

    Raises:
        InputError: if brackets do not match, or are nested too deep.
    """
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind != "mark" or token.text == ",":
            continue
        if token.text in _CLOSING:
            opened.append(place)
            if len(opened) > _DEEPEST:
                raise InputError(
                    f"{file}: line {token.line}: brackets are nested deeper than {_DEEPEST}"
                )
        elif opened and _CLOSING[tokens[opened[-1]].text] == token.text:
            pairs[opened.pop()] = place
        else:
            raise InputError(f"{file}: line {token.line}: {token.text} closes nothing")
    if opened:
        line = tokens[opened[-1]].line
        raise InputError(f"{file}: line {line}: {tokens[opened[-1]].text} is never closed")
    return pairs


class _Reader:
    """Reader of values and calls among the tokens of a script."""

    def __init__(self, tokens: Sequence[_Token], pairs: Mapping[int, int], file: str) -> None:
        self._tokens, self._pairs, self._file = tokens, pairs, file
        self._ends = self._ends_of_statements()
        self._in_braces = self._places_in_braces()
        self._constants = self._assigned_constants()

    def _ends_of_statements(self) -> list[int]:
        """Return, for each token, the place of the end of its statement within its brackets."""
        count = len(self._tokens)
        ends = [count] * (count + 1)
        for place in reversed(range(count)):
            token = self._tokens[place]
            is_end = token.kind == "line" or token.text in (")", "]", "}")
            ends[place] = place if is_end else ends[self._pairs.get(place, place) + 1]
        return ends

    def _places_in_braces(self) -> set[int]:
        """Return the places of tokens within braces, or behind `if`, `for` and the like."""
        inside: set[int] = set()
        for start, end in self._pairs.items():
            if self._tokens[start].text == "{":
                inside.update(range(start, end))
        for place, token in enumerate(self._tokens):
            if token.kind == "name" and token.text in _FLOW and place not in inside:
                inside.update(range(place, self._ends[place]))
        return inside

    def _assigned_constants(self) -> dict[str, Value]:
        """Return the values of variables that the script sets once, outside of braces."""
        places: dict[str, list[int]] = {}
        latest = -1  # the last place at which any variable may be set
        for place, targets in self._assignments():
            for name in targets:
                places.setdefault(name, []).append(place)
        for place, token in enumerate(self._tokens):
            if token.kind == "name" and token.text in _SETS_ANYTHING:
                latest = place
        values: dict[str, Value] = {}
        for name, signs in places.items():
            sign = signs[0]
            if len(signs) == 1 and sign > latest and sign not in self._in_braces:
                start = sign + 1
                while start < len(self._tokens) and self._tokens[start].text == "\n":
                    start += 1
                values[name] = self._value(start, self._ends[start], {})
        return values

    def _assignments(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the place of each assignment, and its variables; twice if only a part is set."""
        opened, start = [""], 0
        for place, token in enumerate(self._tokens):
            if token.kind == "mark" and token.text in _CLOSING:
                opened.append(token.text)
            elif token.kind == "mark" and token.text in ")]}":
                opened.pop()
            if token.kind == "line" or token.text in ("(", "[", "{", ","):
                start = place + 1
            before, behind = self._tokens[start:place], self._tokens[place + 1 : place + 2]
            if token.text in ("->", "->>"):
                yield from ((place, [_plain(other.text)]) for other in [*behind, *behind])
            elif token.text in _ASSIGNS and (token.text != "=" or opened[-1] in ("", "{")):
                yield from self._targets(place, before)
                start = place + 1
            elif token.kind == "name" and token.text == "in" and before:
                yield from ((place, [_plain(before[-1].text)]) for _ in range(2))

    def _targets(self, place: int, before: Sequence[_Token]) -> Iterator[tuple[int, list[str]]]:
        if len(before) == 1:
            yield place, [_plain(before[0].text)]
            return
        first = place - 1
        while first >= 0 and self._tokens[first].kind != "line":
            first -= 1
            if place - first > _LONGEST_TARGET:
                line = self._tokens[place].line
                raise InputError(f"{self._file}: line {line}: a statement is too long to be read")
        changed = {_plain(t.text) for t in self._tokens[first + 1 : place] if t.kind == "name"}
        yield from ((place, sorted(changed)) for _ in range(2))

    def places(self, functions: Collection[str]) -> Iterator[int]:
        """Yield the places of the names of called functions."""
        for place, token in enumerate(self._tokens[:-1]):
            is_called = self._tokens[place + 1].text == "(" and place + 1 in self._pairs
            if token.kind == "name" and token.text in functions and is_called:
                yield place

    def call(self, place: int) -> RCall:
        """Return the call whose name is at a place."""
        token = self._tokens[place]
        start, end = place + 1, self._pairs[place + 1]
        positional: list[Value] = []
        named: dict[str, Value] = {}
        subject = self._subject_of_pipe(place)
        if subject is not None:
            positional.append(COMPUTED)
        for first, last in self._arguments(start + 1, end):
            name = self._name_of_argument(first, last)
            if name is None:
                if not positional:
                    subject = self._variable(first, last)
                positional.append(self._value(first, last, self._constants))
            else:
                if name in ("obj", "dat"):
                    subject = self._variable(first + 2, last)
                named.setdefault(name, self._value(first + 2, last, self._constants))
        return RCall(
            token.text, token.line, tuple(positional), named, subject, place in self._in_braces
        )

    def _subject_of_pipe(self, place: int) -> str | None:
        """Return the variable that is piped into the call at a place; empty for another thing."""
        before = place - 1
        while before >= 0 and self._tokens[before].kind == "line":
            before -= 1
        if before >= 0 and self._tokens[before].text in ("::", ":::"):
            before -= 2
        while before >= 0 and self._tokens[before].kind == "line":
            before -= 1
        if before < 1 or self._tokens[before].text not in ("|>", "%>%"):
            return None
        return self._variable(before - 1, before) or ""

    def _arguments(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the first token of each argument, and that behind its last one."""
        first = place = start
        while place < end:
            if self._tokens[place].text == "," and self._tokens[place].kind == "mark":
                yield self._without_lines(first, place)
                first = place + 1
            place = self._pairs.get(place, place) + 1
        if first < end:
            yield self._without_lines(first, end)

    def _without_lines(self, first: int, last: int) -> tuple[int, int]:
        while first < last and self._tokens[first].kind == "line":
            first += 1
        while first < last and self._tokens[last - 1].kind == "line":
            last -= 1
        return first, last

    def _name_of_argument(self, first: int, last: int) -> str | None:
        if last - first < 2 or self._tokens[first + 1].text != "=":
            return None
        token = self._tokens[first]
        return _plain(token.text) if token.kind in ("name", "text") else None

    def _variable(self, first: int, last: int) -> str | None:
        """Return the name of the only token, None for another expression."""
        if last - first != 1 or self._tokens[first].kind != "name":
            return None
        return _plain(self._tokens[first].text)

    def _value(self, first: int, last: int, constants: Mapping[str, Value]) -> Value:
        """Return the value that is written between two places."""
        first, last = self._without_lines(first, last)
        tokens = self._tokens[first:last]
        if len(tokens) == 1:
            return _literal(tokens[0], constants)
        if len(tokens) == 2 and tokens[0].text in "+-":
            return _with_sign(tokens[0].text, _literal(tokens[1], {}))
        if len(tokens) == 3 and tokens[1].text == ":":
            return _range(_literal(tokens[0], {}), _literal(tokens[2], {}))
        if len(tokens) > 2 and tokens[0].text == "c" and self._pairs.get(first + 1) == last - 1:
            return self._vector(first + 2, last - 1, constants)
        return COMPUTED

    def _vector(self, start: int, end: int, constants: Mapping[str, Value]) -> Value:
        """Return the values of `c(…)`; names of its elements do not matter."""
        values: list[Value] = []
        for first, last in self._arguments(start, end):
            begin = first if self._name_of_argument(first, last) is None else first + 2
            value = self._value(begin, last, constants)
            if value is COMPUTED or len(values) >= MOST_VALUES:
                return COMPUTED
            values.extend(value if isinstance(value, tuple) else [value])
        return tuple(values) if len(values) <= MOST_VALUES else COMPUTED


def _plain(text: str) -> str:
    """Return a name without the quotes around it."""
    return text[1:-1] if text[:1] in "`\"'" else text


def _literal(token: _Token, constants: Mapping[str, Value]) -> Value:
    """Return the value that a token writes, `COMPUTED` if only a run of the script has it."""
    match token.kind:
        case "text":
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), token.text[1:-1])
        case "raw":
            return token.text
        case "number":
            return _number(token.text)
        case "name" if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        case "name" if token.text == "Inf":
            return inf
        case "name":
            return constants.get(_plain(token.text), COMPUTED)
    return COMPUTED


def _number(text: str) -> Value:
    """Return a number of R; gigantic ones, hexadecimal and complex ones are `COMPUTED`."""
    number = exact_number(text.removesuffix("L").removesuffix("."))
    if number is None:
        return COMPUTED
    return int(number) if number == number.to_integral_value() else float(number)


def _with_sign(sign: str, value: Value) -> Value:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return COMPUTED
    return -value if sign == "-" else value


def _range(first: Value, last: Value) -> Value:
    if not isinstance(first, int) or not isinstance(last, int) or abs(last - first) >= MOST_VALUES:
        return COMPUTED
    step = 1 if last >= first else -1
    return tuple(range(first, last + step, step))


def words_on(value: Value) -> str:
    """Return a value for a message; computed ones in words."""
    return "a computed value" if value is COMPUTED else harmless_text(repr(value), 60)
