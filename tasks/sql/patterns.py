"""Patterns of LIKE and ILIKE for databases whose own match otherwise.

DuckDB's LIKE tells letters' case apart and has no escape character. Its ILIKE takes for equal what
has the same lower case, one character at a time, in every script; other databases know ASCII alone,
or ask the collation. Here a pattern is written out: for each letter all those it is equal to.
"""

from functools import cache

_GLOB = str.maketrans({"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"})
_SURROGATES = range(0xD800, 0xE000)
_END = 0x20000  # beyond, no script has cases


def glob_of(pattern: str, *, any_case: bool) -> str:
    """A pattern as SQLite's GLOB reads it.

    >>> glob_of("a%_[*", any_case=False)
    'a*?[[][*]'
    >>> glob_of("ä%", any_case=True)
    '[Ää]*'
    """
    return "".join(_glob(character, any_case) for character in pattern)


def _glob(character: str, any_case: bool) -> str:
    alike = _alike(character) if any_case else character
    return f"[{alike}]" if len(alike) > 1 else character.translate(_GLOB)


def regular(pattern: str, *, end: str) -> str:
    r"""An ILIKE pattern as a regular expression over the whole text, which `end` ends.

    >>> regular("ä_.%", end="$")
    '^[Ää].\\..*$'
    """
    return f"^{''.join(map(_regular, pattern))}{end}"


def _regular(character: str) -> str:
    if character in "%_":
        return ".*" if character == "%" else "."
    alike = _alike(character)
    if len(alike) > 1:
        return f"[{alike}]"
    return f"\\{character}" if character.isascii() and not character.isalnum() else character


def _alike(character: str) -> str:
    """All characters that ILIKE takes for this one, itself included.

    >>> _alike("Σ"), _alike("1")
    ('Σσ', '1')
    """
    lower, alike = _cases()
    return alike.get(lower.get(character, character), character)


@cache
def _cases() -> tuple[dict[str, str], dict[str, str]]:
    """Each letter's lower case, and for each lower case its letters, as DuckDB has them."""
    import duckdb  # a check rewrites queries without it

    query = """
        SELECT lower(letter) AS lower, string_agg(letter, '' ORDER BY letter)
        FROM (SELECT chr(CAST(range AS INTEGER)) AS letter
              FROM (FROM range(1, ?) UNION ALL FROM range(?, ?)))
        GROUP BY lower HAVING count(*) > 1
    """
    with duckdb.connect(":memory:") as connection:
        ends = [_SURROGATES.start, _SURROGATES.stop, _END]
        alike = dict(connection.execute(query, ends).fetchall())
    return {letter: lower for lower, letters in alike.items() for letter in letters}, alike
