"""Reports of sdcMicro: the list of key variables, and which k the report shows.

Source: `report()` of sdcMicro 5.8 and its templates (`inst/templates/report-template*.rmd`). A
report is HTML or Markdown. Its section "Information on selected important (key) variables" is a
list with a line for each kind of variable, names separated by ` | `; "Number of observations
violating" has a line each for 2- and 3-anonymity.
"""

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.hostile import MOST_REPORT, read_foreign_text
from sfumato.tasks.other_tools.r_script import RCall
from sfumato.tasks.other_tools.sdcmicro import setup_of_calls
from sfumato.tasks.other_tools.setup import ForeignSetup, Omission, is_name

_TOOL = "sdcMicro report"
_MOST_LINES = 100_000
_MOST_NAMES = 2_000
_KINDS: Mapping[str, str] = {
    "Categorical key variable(s)": "keyVars",
    "Continuous key variable(s)": "numVars",
    "Weight variable": "weightVar",
    "householdID": "hhId",
    "strataVariable(s)": "strataVar",
    "Sensitive variable(s) for l-diversity": "sensibleVar",
}
_NONE = ("", "NULL", "NA", "not defined", "none")
_VIOLATIONS = re.compile(r"([23])-Anonymity:?\s*([0-9]{1,12}) \(original")
_STEPS = re.compile(r"(Modifications using PRAM|Modifications on continuous key variables): TRUE")


class _Text(HTMLParser):
    """The text of a page, without its scripts and styles; blocks begin new lines."""

    _BLOCKS = frozenset({"p", "li", "ul", "div", "br", "tr", "h1", "h2", "h3", "h4", "pre", "td"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._mute = 0

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        """Begin an element."""
        self._mute += tag in ("script", "style")
        if tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        self._mute = max(0, self._mute - (tag in ("script", "style")))
        if tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Add text that people read."""
        if not self._mute:
            self.parts.append(data)


def read_report(path: Path, file: str) -> ForeignSetup:
    """Return the set-up that a report of sdcMicro describes.

    Raises:
        InputError: if it is no such report, or names no key variable.
    """
    lines = _lines(read_foreign_text(path, file, MOST_REPORT), file)
    arguments = dict(_variables(lines, file))
    if "keyVars" not in arguments:
        raise InputError(
            f"{file}: is no report of sdcMicro with its key variables: the line "
            "'Categorical key variable(s)' is missing"
        )
    calls = [RCall("createSdcObj", 0, (), arguments, None, in_braces=False)]
    k = _largest_k(lines)
    if k is not None:
        calls.append(RCall("localSuppression", 0, (), {"k": k}, None, in_braces=False))
    setup = setup_of_calls(calls, file)
    steps = [match.group(1) for line in lines if (match := _STEPS.match(line))]
    left_out = [
        Omission(
            "recodings, cut points and further steps",
            "a report does not contain their parameters. Import the R script instead",
        ),
        *(Omission(step, "such changes of values have no counterpart here") for step in steps),
        *(omission for omission in setup.omissions if "line 0" not in omission.what),
    ]
    changes = [
        change.replace(", from localSuppression (line 0)", _SHOWN) for change in setup.changes
    ]
    return ForeignSetup(
        _TOOL,
        setup.columns,
        setup.promises,
        setup.partition,
        setup.form,
        setup.strata,
        setup.household,
        changes=tuple(changes),
        omissions=tuple(left_out),
    )


_SHOWN = ", the largest k that the report shows to be kept (it shows only 2 and 3)"


def _lines(text: str, file: str) -> list[str]:
    """Return the lines of a report as plain text.

    Raises:
        InputError: if there are too many.
    """
    if "<" in text and re.search(r"<(html|body|li|p)\b", text, re.IGNORECASE):
        page = _Text()
        page.feed(text)
        page.close()
        text = "".join(page.parts)
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise InputError(f"{file}: has more than {_MOST_LINES:,} lines")
    plain = (re.sub(r"[*`]", "", line).strip().removeprefix("- ") for line in lines)
    return [line for line in plain if line]


def _variables(lines: list[str], file: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names of variables by the parameter of `createSdcObj` that they were given in.

    Raises:
        InputError: if a name is none that a column can have, or there are too many.
    """
    for line in lines:
        kind, colon, rest = line.partition(":")
        if not colon or kind.strip() not in _KINDS:
            continue
        names = [name.strip() for name in rest.split("|")]
        written = tuple(name for name in names if name not in _NONE)
        if len(written) > _MOST_NAMES or not all(map(is_name, written)):
            raise InputError(f"{file}: {kind.strip()}: names too many variables, or no names")
        if written:
            yield _KINDS[kind.strip()], written


def _largest_k(lines: list[str]) -> int | None:
    """Return the largest k that no observation violates, None if none is shown."""
    fulfilled = [
        int(match.group(1))
        for line in lines
        if (match := _VIOLATIONS.match(line)) and int(match.group(2)) == 0
    ]
    return max(fulfilled, default=None)
