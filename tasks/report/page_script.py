"""The script of a page as one text: its modules in order, without comments and indentation.

The modules are plain JavaScript. Node runs and tests them as they are; a page holds this text, and
its policy allows only the text with this digest.
"""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from sfumato.tasks.schema.files import read_text

_MODULES = Path(__file__).with_name("script")
_ENTRY = "page.js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<file>[a-z]+\.js)";\n', re.MULTILINE)
_COMMENT = re.compile(r"^ *(?:/\*\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"/\*\* @type \{[^\n]*?\} \*/ ?")
_EXPORT = re.compile(r"^export (?=(?:class|const|function) )", re.MULTILINE)
_SPACE = re.compile(r"\n\s*")


@cache
def page_script(shows: str) -> str:
    """Return the script for releases that show a person in one way; the same text everywhere.

    Args:
        shows: the way of a form, which has an engine of its own.
    """
    modules: dict[str, str] = {}
    for file in (f"{shows}.js", _ENTRY):
        _add(file, modules)
    text = "\n".join(modules.values())
    return f'"use strict";\n(() => {{\n{_SPACE.sub(chr(10), text)}}})();\n'


def _add(file: str, modules: dict[str, str]) -> None:
    """Add a module behind those that it imports; each once."""
    source = read_text(_MODULES / file)
    for imported in _IMPORT.finditer(source):
        if imported["file"] not in modules:
            _add(imported["file"], modules)
    bare = _EXPORT.sub("", _IMPORT.sub("", source))
    modules[file] = _INLINE.sub("", _COMMENT.sub("", bare)).strip() + "\n"


def script_sha256(shows: str) -> str:
    """Return the digest of a script in base64, as a page's policy names it."""
    return base64.b64encode(hashlib.sha256(page_script(shows).encode()).digest()).decode()
