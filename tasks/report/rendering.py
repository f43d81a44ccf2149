"""Common parts of all pages: one look, templates, texts that stay texts, and the script.

The script's modules are plain JavaScript, which Node runs and tests as they are. A page holds them
in order as one short text (see `minified`), and its policy allows only this text.

Every page is a pure function of what it shows: the same bytes wherever and whenever it is rendered.
"""

import base64
import hashlib
import inspect
import re
from collections.abc import Iterable, Mapping
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

from sfumato.expectations.machine.imports import compiled_templates, keep_text
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.report import minified
from sfumato.tasks.report.minified import minify, minify_styles, shorten_names
from sfumato.tasks.report.numbers import rough, size, thousands
from sfumato.tasks.schema.files import read_text
from sfumato.tasks.schema.formats import tells

_TEMPLATES = Path(__file__).with_name("templates")
_ENDING = ".html.j2"
_MODULES = Path(__file__).with_name("script")
_ENTRY = "page.js"
_OTHERS = "vendor/"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<file>[a-z/]+\.js)";\n', re.MULTILINE)
_BUNDLED = re.compile(r"(?P<body>.*)export\{(?P<names>[^{}]*)\};\n?", re.DOTALL)
_COMMENT = re.compile(r"^ *(?:/\*\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_BEHIND = re.compile(r"(?<=[;,{(\[}]) //[^\n]*$", re.MULTILINE)
_INLINE = re.compile(r"/\*\* @type \{[^\n]*?\} \*/ ?")
_EXPORT = re.compile(r"^export (?=(?:async|class|const|function) )", re.MULTILINE)
_SPACE = re.compile(r"\n\s*")
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
    css = minify_styles("".join(read_text(path) for path in files))
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
    modules = _modules(shows, fetched=fetched)
    code = [read_text(Path(file)) for file in (__file__, minified.__file__)]
    return keep_text("script", [*code, *modules.values()], lambda: _script_of(modules))


def make_script(shows: str, *, fetched: bool = False) -> str:
    """Return the same script, made anew from its modules."""
    return _script_of(_modules(shows, fetched=fetched))


def _modules(shows: str, *, fetched: bool) -> dict[str, str]:
    """Return the texts of the modules of a script by their files, each behind those it imports."""
    modules: dict[str, str] = {}
    for file in (f"{shows}.js", *(["fetched.js"] if fetched else []), _ENTRY):
        _add(file, modules)
    return modules


def _script_of(modules: Mapping[str, str]) -> str:
    others = {file for file in modules if file.startswith(_OTHERS)}
    ours = [file for file in modules if file not in others]
    exported = [name for file in others for _, name in _exports(file)]
    short = shorten_names([minify(modules[file]) for file in ours], exported)
    text = "\n".join({**modules, **dict(zip(ours, short, strict=True))}.values())
    return f'"use strict";\n(() => {{\n{_SPACE.sub(chr(10), text)}}})();\n'


def _add(file: str, modules: dict[str, str]) -> None:
    """Add a module behind those that it imports; each once."""
    source = read_text(_MODULES / file)
    if file.startswith(_OTHERS):
        licences = read_text((_MODULES / file).with_name("LICENSES"))
        modules[file] = f"/*\n{licences}*/\n{_within_function(file)}"
        return
    for imported in _IMPORT.finditer(source):
        if imported["file"] not in modules:
            _add(imported["file"], modules)
    bare = _EXPORT.sub("", _IMPORT.sub("", source))
    for comment in (_COMMENT, _BEHIND, _INLINE):
        bare = comment.sub("", bare)
    modules[file] = bare.strip() + "\n"


def _within_function(file: str) -> str:
    """Return a bundle of others' modules as a function that returns what they export."""
    names = ", ".join(name for _, name in _exports(file))
    returned = ", ".join(f"{name}: {own}" for own, name in _exports(file))
    body = _bundle(file)["body"]
    return f"const {{ {names} }} = (() => {{\n{body}\nreturn {{ {returned} }};\n}})();\n"


def _exports(file: str) -> list[tuple[str, str]]:
    """Return the names that a bundle of others' modules exports: its own, and those to import."""
    pairs = (pair.partition(" as ") for pair in _bundle(file)["names"].split(","))
    return [(own, name) for own, _, name in pairs]


def _bundle(file: str) -> re.Match[str]:
    bundle = _BUNDLED.fullmatch(read_text(_MODULES / file))
    if bundle is None:
        raise ValueError(file)
    return bundle


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
        "rough": rough,
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
