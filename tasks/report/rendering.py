"""Common parts of all pages: one look, templates, texts that stay texts, and the script.

The script's modules are plain JavaScript, which Node runs and tests as they are. A page holds them
in order as one text, without comments and needless spaces, and its policy allows only this text.

Every page is a pure function of what it shows: the same bytes wherever and whenever it is rendered.
"""

import base64
import hashlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    FunctionLoader,
    StrictUndefined,
)
from markupsafe import Markup, escape

from sfumato.expectations.machine.imports import compiled_templates
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.report.numbers import size, thousands
from sfumato.tasks.schema.files import read_text
from sfumato.tasks.schema.formats import tells

_TEMPLATES = Path(__file__).with_name("templates")
_ENDING = ".html.j2"
_MODULES = Path(__file__).with_name("script")
_ENTRY = "page.js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<file>[a-z/]+\.js)";\n', re.MULTILINE)
_BUNDLED = re.compile(r"(?P<body>.*)export\{(?P<names>[^{}]*)\};\n?", re.DOTALL)
_COMMENT = re.compile(r"^ *(?:/\*\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_BEHIND = re.compile(r"(?<=[;,{(\[}]) //[^\n]*$", re.MULTILINE)
_INLINE = re.compile(r"/\*\* @type \{[^\n]*?\} \*/ ?")
_EXPORT = re.compile(r"^export (?=(?:async|class|const|function) )", re.MULTILINE)
_SPACE = re.compile(r"\n\s*")
_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_CODE = re.compile(r"[^\"'`/]+")
_BEFORE_PATTERN = re.compile(r"(?:^|[(,=:\[!&|?{};+>]|\breturn)\s*\Z")
"""Code after which a slash begins a regular expression, and does not divide."""
_GAPS = re.compile(r"(?P<before>[^\w$\s]?)[ \n]+(?=(?P<after>.?))", re.DOTALL)
_LAST_COMMA = re.compile(r",(?=[)\]}])")
_CONSTANT = re.compile(r"(?<![\w$.])const(?=[ \[{])")
_ONLY_PARAMETER = re.compile(r"(?<![\w$])\((\w+)\)(?==>)")
_TWICE = ("+", "-", "/")
"""Characters that mean something else if two follow each other."""
_PARTS: Mapping[str, Mapping[str, type]] = {
    "forms": FORM_PARAMETERS,
    "partitions": PARTITION_PARAMETERS,
}
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def template_loader() -> BaseLoader:
    """Load templates by name; `forms/<method>` and `partitions/<method>` also from beside them."""
    ours = FileSystemLoader(_TEMPLATES, encoding="utf-8")
    return ChoiceLoader([ours, FunctionLoader(_beside_the_part)])


def _beside_the_part(name: str) -> str | None:
    """Return the template `<method>.html.j2` beside the part's parameters, or None."""
    room, _, file = name.partition("/")
    kind = _PARTS.get(room, {}).get(file.removesuffix(_ENDING))
    if kind is None:
        return None
    path = Path(inspect.getfile(kind)).with_name(file)
    return read_text(path) if path.is_file() else None


@dataclass(frozen=True)
class Stylesheet:
    """The rules of all pages, and the hash by which a page allows only them."""

    css: Markup
    sha256: str


def stylesheet(*more: str) -> Stylesheet:
    """Return the rules that every page contains, so that it needs no other file, and `more`."""
    files = [_TEMPLATES / name for name in ("page.css", *more)]
    css = "".join(read_text(path) for path in files)
    digest = hashlib.sha256(css.encode()).digest()
    return Stylesheet(
        Markup(css),  # noqa: S704 -- a file of ours, not of the release
        base64.b64encode(digest).decode(),
    )


@cache
def page_script(shows: str, *, fetched: bool = False) -> str:
    """Return the script for releases that show a person in one way; the same text everywhere.

    Args:
        shows: the way of a form, which has an engine of its own.
        fetched: whether the tables are read from files beside the page.
    """
    modules: dict[str, str] = {}
    for file in (f"{shows}.js", *(["fetched.js"] if fetched else []), _ENTRY):
        _add(file, modules)
    text = "\n".join(modules.values())
    return f'"use strict";\n(() => {{\n{_SPACE.sub(chr(10), text)}}})();\n'


def _add(file: str, modules: dict[str, str]) -> None:
    """Add a module behind those that it imports; each once."""
    source = read_text(_MODULES / file)
    bundle = _BUNDLED.fullmatch(source)
    if bundle is not None:
        licences = read_text((_MODULES / file).with_name("LICENSES"))
        modules[file] = f"/*\n{licences}*/\n{_within_function(bundle['body'], bundle['names'])}"
        return
    for imported in _IMPORT.finditer(source):
        if imported["file"] not in modules:
            _add(imported["file"], modules)
    bare = _EXPORT.sub("", _IMPORT.sub("", source))
    for comment in (_COMMENT, _BEHIND, _INLINE):
        bare = comment.sub("", bare)
    modules[file] = minify(bare.strip() + "\n")


def _within_function(body: str, exported: str) -> str:
    """Return a bundle of others' modules as a function that returns what they export."""
    pairs = [pair.split(" as ") for pair in exported.split(",")]
    names = ", ".join(name for _, name in pairs)
    returned = ", ".join(f"{name}: {own}" for own, name in pairs)
    return f"const {{ {names} }} = (() => {{\n{body}\nreturn {{ {returned} }};\n}})();\n"


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


def _pieces(script: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a script in order, and whether each is code.

    The others are texts, templates and regular expressions.
    """
    place, code = 0, ""
    while place < len(script):
        end = _end_of_literal(script, place, code)
        if end is None:
            match = _CODE.match(script, place)
            code += match[0] if match else script[place]
            place = match.end() if match else place + 1
            continue
        if code:
            yield True, code
        yield False, script[place:end]
        place, code = end, ""
    if code:
        yield True, code


def _end_of_literal(script: str, place: int, code: str) -> int | None:
    """Return the end of the literal that begins at a place; None if code continues there.

    Args:
        script: the script.
        place: the place.
        code: the code before it, from the last literal on.
    """
    if script[place] == "`":
        return _end_of_template(script, place)
    if script[place] == "/":
        match = _PATTERN.match(script, place) if _BEFORE_PATTERN.search(code) else None
    else:
        match = _TEXT.match(script, place)
    return match.end() if match else None


def _end_of_template(script: str, start: int) -> int:
    """Return the end of a template, in whose expressions there may be other templates."""
    place = start + 1
    while script[place] != "`":
        if script[place] == "\\":
            place += 2
        elif script.startswith("${", place):
            place = _end_of_expression(script, place + 2)
        else:
            place += 1
    return place + 1


def _end_of_expression(script: str, place: int) -> int:
    """Return the end of an expression in a template, behind its brace."""
    depth = 1
    while depth:
        end = _end_of_literal(script, place, script[place - 1])
        if end is not None:
            place = end
            continue
        depth += (script[place] == "{") - (script[place] == "}")
        place += 1
    return place


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


def script_sha256(shows: str, *, fetched: bool = False) -> str:
    """Return the digest of a script in base64, as a page's policy names it."""
    script = page_script(shows, fetched=fetched).encode()
    return base64.b64encode(hashlib.sha256(script).digest()).decode()


@cache
def environment() -> Environment:
    """Return the templates, whose texts cannot be markup."""
    return environment_of(template_loader())


def environment_of(templates: BaseLoader) -> Environment:
    """Return templates from elsewhere, read in the same way as ours."""
    environment = Environment(
        loader=templates,
        bytecode_cache=compiled_templates(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_without_hidden_characters,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: Mapping[str, Any] = {
        "thousands": thousands,
        "size": size,
        "address": _address,
        "whole": _whole,
    }
    environment.filters.update(filters)
    environment.globals["tells"] = tells
    return environment


def render(template: str, **view: Any) -> str:
    """Return a page from its template, with the rules of all pages in it."""
    style = stylesheet()
    page = environment().get_template(template)
    return page.render(css=style.css, css_hash=style.sha256, **view)


def render_private(template: str, **view: Any) -> str:
    """Return a page for stewards from its template, with the stewards' rules."""
    style = stylesheet("steward.css")
    page = environment().get_template(template)
    return page.render(css=style.css, css_hash=style.sha256, **view)


def _without_hidden_characters(value: object) -> object:
    """Return text without characters that would hide or reorder what is beside them."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    return value


def _address(path: str) -> str:
    return quote(path, errors="replace")


def _whole(text: str, names: Iterable[str]) -> Markup:
    """Return a text in which no line ends within one of these names, if the line has room."""
    breakable = [name for name in names if not re.fullmatch(r"\w*", name)]
    longest_first = sorted(breakable, key=lambda name: (-len(name), name))
    pattern = "|".join(re.escape(name) for name in longest_first)
    if not pattern:
        return escape(_without_hidden_characters(text))
    parts = re.split(rf"(?<!\w)({pattern})(?!\w)", text)
    whole = Markup('<span class="whole">{}</span>')
    return Markup("").join(
        whole.format(_without_hidden_characters(part))
        if within % 2
        else escape(_without_hidden_characters(part))
        for within, part in enumerate(parts)
    )
