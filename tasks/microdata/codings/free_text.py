"""Free text, which tells of people what no promise can cover."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.codings.recode import rows_of_values
from sfumato.tasks.microdata.table import Column

_WORD, _WORDS, _CHARACTERS = r"[^\s\pZ]+", 5, 60
_ROWS_PER_TEXT = 10


def is_free_text(column: Column) -> bool:
    """True where more than one row in ten has a long text that no other row has.

    Long is a text of five words, of sixty characters, or of two lines. Labels may be long, but rows
    share them; names and codes may be each row's own, but they are short.
    """
    if not pa.types.is_string(column.values.type):
        return False
    rows, texts = rows_of_values(column), column.values
    words = pc.greater_equal(pc.count_substring_regex(texts, _WORD), _WORDS)
    size = pc.greater_equal(pc.utf8_length(texts), _CHARACTERS)
    lines = pc.match_substring(texts, "\n")
    long = np.asarray(pc.or_(pc.or_(words, size), lines))
    return int((long & (rows == 1)).sum()) * _ROWS_PER_TEXT > int(rows.sum())
