"""Texts in one spelling, cut short, and rare ones replaced by one."""

import unicodedata
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.codings.recode import recode, rows_of_values
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.codings.declared import RareFold

_INVISIBLE, _SPACES = r"\p{Cf}+", r"[\s\p{Z}\p{Cc}]+"


def code_unite(column: Column, _declared: str, _found: None = None) -> Column:
    """Every text becomes its plain spelling, which others of the same text have, too."""
    return recode(column, plain_spelling(column.values))


def plain_spelling(texts: pa.Array) -> pa.Array:
    """Return each text (string) in lower case and NFKC, with single spaces inside alone.

    >>> plain_spelling(pa.array(["HIV ", "hiv", "Heart  attack"])).to_pylist()
    ['hiv', 'hiv', 'heart attack']
    """
    lower = pc.ascii_lower(_spaced(texts))
    other = pc.invert(pc.string_is_ascii(lower))
    folded = pa.array([_folded(text) for text in lower.filter(other).to_pylist()], pa.string())
    return _spaced(pc.replace_with_mask(lower, other, folded))


def _spaced(texts: pa.Array) -> pa.Array:
    visible = pc.replace_substring_regex(texts, _INVISIBLE, "")
    return pc.ascii_trim_whitespace(pc.replace_substring_regex(visible, _SPACES, " "))


def _folded(text: str) -> str:
    """The text without case; folding may undo the Unicode form, and that form bring back case."""
    while (folded := unicodedata.normalize("NFKC", text).casefold()) != text:
        text = folded
    return text


def code_prefix(column: Column, declared: int, _found: None = None) -> Column:
    """Every text becomes its first characters (code points, never bytes)."""
    return recode(column, pc.utf8_slice_codeunits(column.values, 0, declared))


def code_fold(column: Column, declared: RareFold, found: Sequence[str]) -> Column:
    """Every value that is not among those that were found to be frequent becomes another."""
    kept = pc.is_in(column.values, value_set=pa.array(list(found), column.values.type))
    into = pa.scalar(declared.into, column.values.type)
    return recode(column, pc.if_else(kept, column.values, into))


def find_fold(column: Column, declared: RareFold) -> list[str]:
    """The values that enough rows have, ascending."""
    enough = rows_of_values(column) >= declared.below
    frequent: list[str] = column.values.filter(pa.array(np.asarray(enough))).to_pylist()
    return frequent
