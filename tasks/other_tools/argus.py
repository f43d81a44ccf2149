"""Metadata files of tau-Argus (`.rda`): fixed widths, codes, hierarchies and roles of variables.

Source: `Metadata.readMicroMetadata` of tau-Argus 4.2, and its test files. A line is a
variable (name, position, length, codes for missing values) or, in angle brackets, a property of the
variable above it. With `<SEPARATOR>` in the first line the data have separators and no header, and
a variable has no position. The rules of safety are in tau-Argus's batch files, not here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato.expectations.machine.fault import reason_of
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.argus_codes import read_code_list, read_tree
from sfumato.tasks.other_tools.hostile import read_foreign_text
from sfumato.tasks.other_tools.setup import (
    OTHERS_MAY_KNOW,
    ForeignColumn,
    ForeignSetup,
    Omission,
    harmless_text,
    is_name,
    name_list,
    weight_role,
)
from sfumato.tasks.schema.columns import ColumnType, Role
from sfumato.tasks.schema.files import open_file

_TOOL = "tau-Argus metadata"
_MOST_VARIABLES = 2_000
_LONGEST = 10_000  # characters of a line of data
_WORD = re.compile(r'"([^"\n]*)"|(<[^<>\n]*>)|(\S+)')
_OF_R = (b"RDX", b"RDA", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_OF_TABLES = frozenset(
    {
        *("<FREQUENCY>", "<STATUS>", "<MAXSCORE>", "<LOWERPL>", "<UPPERPL>", "<SHADOW>", "<COST>"),
        *("<COSTVAR>", "<SAFE>", "<UNSAFE>", "<PROTECT>"),
    }
)
_ROLES: Mapping[str, tuple[Role, str]] = {
    "<RECODEABLE>": ("quasi-identifier", "a spanning variable in tau-Argus"),
    "<RECODABLE>": ("quasi-identifier", "a spanning variable in tau-Argus"),
    "<NUMERIC>": ("sensitive", "a response variable in tau-Argus"),
    "<WEIGHT>": weight_role("tau-Argus"),
    "<HOLDING>": ("identifier", "identifies holdings, such as households, in tau-Argus"),
    "<REQUEST>": ("drop", "marks in tau-Argus who asked for protection"),
    "<RECORDKEY>": ("drop", "is the record key of tau-Argus's cell key method"),
}
_UNTYPED: tuple[Role, str] = (
    "quasi-identifier",
    f"tau-Argus gives it no use, {OTHERS_MAY_KNOW}",
)
_UNUSED: Mapping[str, str] = {
    "<DISTANCE>": "distances between codes have no counterpart here",
    "<REQUEST>": "tables protect those who ask for it; here promises protect everyone",
    "<RECORDKEY>": "the cell key method adds noise to tables, which releases do not",
    "<PFILE>": "the cell key method adds noise to tables, which releases do not",
    "<PFILE_CONT>": "the cell key method adds noise to tables, which releases do not",
    "<CKM>": "the cell key method adds noise to tables, which releases do not",
}


@dataclass
class _Variable:
    """A variable of the metadata, as far as it was read.

    Attributes:
        name: its name.
        position: the first character of its values; 0 if the data have separators.
        length: the number of characters of its values.
        missing: codes that mean a missing value.
        properties: the words behind each property.
    """

    name: str
    position: int
    length: int
    missing: tuple[str, ...]
    properties: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_metadata(path: Path, file: str) -> ForeignSetup:
    """Return the set-up of a metadata file of tau-Argus, and of the code lists beside it.

    Raises:
        InputError: if it is no such file, describes a table, or exceeds a limit.
    """
    _require_no_data_of_r(path, file)
    written = [
        (number, [_word(match) for match in _WORD.finditer(line)])
        for number, line in enumerate(read_foreign_text(path, file).split("\n"), start=1)
    ]
    separator, lines = _separator([(n, words) for n, words in written if words], file)
    variables = _variables(lines, separator is None, file)
    if not variables:
        raise InputError(f"{file}: describes no variable, so it is no metadata of tau-Argus")
    return _setup(path, variables, separator)


def _word(match: re.Match[str]) -> str:
    quoted, property_, plain = match.groups()
    return property_.upper() if property_ else quoted if quoted is not None else plain


def _require_no_data_of_r(path: Path, file: str) -> None:
    """Refuse data files of R, which have the same ending.

    Raises:
        InputError: if it is one.
    """
    try:
        with open_file(path) as stream:
            beginning = stream.read(max(map(len, _OF_R)))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({reason_of(error)})") from None
    if beginning.startswith(_OF_R):
        raise InputError(
            f"{file}: is a data file of R (save, .rda), which may contain data and code, and is "
            "never read. Metadata of tau-Argus are text. To import from sdcMicro, use the R script"
        )


def _separator(
    lines: Sequence[tuple[int, list[str]]], file: str
) -> tuple[str | None, Sequence[tuple[int, list[str]]]]:
    """Return the separator of the data, None for fixed widths, and the lines below it."""
    first = lines[0][1] if lines else [""]
    if first[0] == "<SPSS>":
        raise InputError(
            f"{file}: describes a file of SPSS, which contains this description itself. Draft "
            "the spec from that file: sfumato init FILE.sav"
        )
    if first[0] != "<SEPARATOR>":
        return None, lines
    mark = first[1] if len(first) > 1 else ""
    if len(mark) != 1:
        raise InputError(f"{file}: line 1: the separator is not one character")
    return mark, lines[1:]


def _variables(
    lines: Sequence[tuple[int, list[str]]], is_fixed: bool, file: str
) -> list[_Variable]:
    variables: list[_Variable] = []
    for number, words in lines:
        place = f"{file}: line {number}"
        if not words[0].startswith("<"):
            variables.append(_variable(words, is_fixed, place))
        elif not variables:
            raise InputError(f"{place}: a property is above the first variable")
        for property_, values in _properties(words):
            if property_ in _OF_TABLES:
                raise InputError(
                    f"{place}: {harmless_text(property_, 40)} describes a table of counts or sums, "
                    "and a release is made from rows about people. Import the metadata of "
                    "the microdata"
                )
            variables[-1].properties.setdefault(property_, values)
        if len(variables) > _MOST_VARIABLES:
            raise InputError(f"{file}: describes more than {_MOST_VARIABLES:,} variables")
    names = [variable.name for variable in variables]
    if len(set(names)) < len(names):
        raise InputError(f"{file}: describes a variable twice")
    return variables


def _properties(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the properties of a line, each with the words behind it."""
    places = [place for place, word in enumerate(words) if word.startswith("<")]
    for place, following in pairwise([*places, len(words)]):
        yield words[place], tuple(words[place + 1 : following])


def _variable(words: Sequence[str], is_fixed: bool, place: str) -> _Variable:
    """Return the variable that a line begins.

    Raises:
        InputError: if its name, position or length is none.
    """
    name, *rest = [word for word in words if not word.startswith("<")]
    if not is_name(name):
        raise InputError(f"{place}: the variable has no name that a column can have")
    count, what = (2, "a position and a length") if is_fixed else (1, "a length")
    numbers = rest[:count]
    if len(numbers) < count or not all(map(_is_count, numbers)):
        raise InputError(f"{place}: variable {name!r} needs {what} between 1 and {_LONGEST:,}")
    position, length = (int(numbers[0]), int(numbers[1])) if is_fixed else (0, int(numbers[0]))
    if position + length > _LONGEST:
        raise InputError(f"{place}: variable {name!r} ends beyond character {_LONGEST:,}")
    return _Variable(name, position, length, tuple(rest[len(numbers) :]))


def _is_count(text: str) -> bool:
    return bool(re.fullmatch("[0-9]{1,5}", text)) and 1 <= int(text) <= _LONGEST


def _setup(path: Path, variables: Sequence[_Variable], separator: str | None) -> ForeignSetup:
    omissions: list[Omission] = []
    columns = {variable.name: _column(path, variable, omissions) for variable in variables}
    with_missing = [variable.name for variable in variables if variable.missing]
    if with_missing:
        omissions.append(
            Omission(
                f"codes for missing values of {name_list(with_missing)}",
                "such codes belong to one column there, and to all columns here. Write them as "
                "source.csv.null_values if no other column uses them",
            )
        )
    changes = [f"roles of {len(columns)} variables"]
    with_rows = [n for n, c in columns.items() if c.rows is not None or "hierarchy" in c.keys]
    changes += [f"hierarchies of {name_list(with_rows)}"] if with_rows else []
    with_labels = [name for name, column in columns.items() if "labels" in column.keys]
    changes += [f"labels of the codes of {name_list(with_labels)}"] if with_labels else []
    settings: dict[str, Any] = {}
    widths: dict[str, tuple[int, int]] = {}
    if separator is None:
        widths = {variable.name: (variable.position, variable.length) for variable in variables}
        changes.append("positions and lengths of the variables")
    else:
        settings = {"delimiter": separator, "columns": tuple(columns)}
        changes.append("the separator, and the names of the columns")
    return ForeignSetup(
        _TOOL,
        columns,
        household=next((v.name for v in variables if "<HOLDING>" in v.properties), None),
        settings=settings,
        widths=widths,
        changes=tuple(changes),
        omissions=(*omissions, _RULES),
    )


_RULES = Omission(
    "rules of safety (dominance, p %, thresholds)",
    "they are about cells of tables, and are not in this file. Promises of the draft are proposals",
)


def _column(path: Path, variable: _Variable, omissions: list[Omission]) -> ForeignColumn:
    """Return a variable as a column; add what is not taken over to the omissions."""
    properties = variable.properties
    role, reason = next((_ROLES[p] for p in _ROLES if p in properties), _UNTYPED)
    for property_, why in _UNUSED.items():
        if property_ in properties:
            omissions.append(Omission(f"{property_} of {variable.name!r}", why))
    decimals = properties.get("<DECIMALS>", ("",))[:1]
    type_: ColumnType | None = None
    if "<NUMERIC>" in properties or "<WEIGHT>" in properties:
        type_ = "decimal" if decimals and decimals[0] not in ("", "0") else "integer"
    keys: dict[str, Any] = {}
    if "<CODELIST>" in properties:
        try:
            labels = read_code_list(path, _file_of(properties["<CODELIST>"]))
            keys["labels"] = labels
        except InputError as error:
            omissions.append(Omission(f"the code list of {variable.name!r}", f"{error}"))
    column = ForeignColumn(role, reason, type_, keys=keys, bare=True)
    if role != "quasi-identifier":
        return column
    return _with_hierarchy(path, variable, column, omissions)


def _with_hierarchy(
    path: Path, variable: _Variable, column: ForeignColumn, omissions: list[Omission]
) -> ForeignColumn:
    properties, name = variable.properties, variable.name
    if "<HIERCODELIST>" in properties:
        lead = properties.get("<HIERLEADSTRING>", ("@",))[:1] or ("@",)
        try:
            rows = read_tree(path, _file_of(properties["<HIERCODELIST>"]), lead[0])
        except InputError as error:
            omissions.append(Omission(f"the hierarchy of {name!r}", f"{error}"))
            return column
        return ForeignColumn(
            column.role, column.reason, "string", rows=rows, keys=column.keys, words=_WORDS
        )
    if "<HIERLEVELS>" in properties:
        lengths = _prefixes(properties["<HIERLEVELS>"], variable.length)
        if not lengths:
            omissions.append(
                Omission(f"the hierarchy of {name!r}", "its levels are no lengths of its codes")
            )
            return column
        keys = {**column.keys, "hierarchy": {"prefixes": lengths}}
        return ForeignColumn(
            column.role, column.reason, "string", keys=keys, words=_WORDS, bare=True
        )
    return column


_WORDS = "the one of tau-Argus"


def _prefixes(words: Sequence[str], length: int) -> list[int]:
    """Return the numbers of leading digits of each level, longest first; empty if there are none.

    >>> _prefixes(["3", "1", "1", "0", "0"], 5)
    [4, 3]
    """
    if not words or not all(re.fullmatch("[0-9]{1,4}", word) for word in words):
        return []
    ends, total = [], 0
    for word in words:
        total += int(word)
        ends.append(total)
    if total != length:
        return []
    return sorted({end for end in ends if 0 < end < length}, reverse=True)


def _file_of(words: Sequence[str]) -> str:
    return words[0] if words else ""
