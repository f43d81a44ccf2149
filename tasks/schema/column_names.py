"""Names of columns: those that files and SQL can have, and names in place of others."""

import re
from collections.abc import Collection, Sequence

from sfumato.tasks.schema.names import COUNT, GROUP_ID

RESERVED = frozenset({GROUP_ID, COUNT, "lower", "upper"})
"""The names of columns that published tables have already."""
DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
"""The names that no file or directory can have on Windows, whatever ending follows."""
ROW_NAMES = "row-names"
"""The name of a column of R's row names, which R does not name."""
_LONGEST = 128


def folded_name(name: str) -> str:
    """Return the name of a column in SQL and in the names of files, empty if it has none.

    >>> folded_name("Town/City"), folded_name("\u5e74\u9f62")
    ('town_city', '')
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def is_like_a_path(name: str) -> bool:
    """Decide whether a name looks like a path, or has a character that no name may have.

    >>> is_like_a_path("town/city"), is_like_a_path("diagn."), is_like_a_path("town")
    (True, True, False)
    """
    fits = re.fullmatch(rf"[^\x00-\x1f\x7f/\\]{{1,{_LONGEST}}}", name)
    return fits is None or name.strip(". ") != name


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of which none is empty or there twice; one name alone may be empty.

    >>> distinct_names(["age", "", "age", " "]), distinct_names(["", "age"])
    (('age', 'column-2', 'age-3', 'column-4'), ('', 'age'))
    """
    blank = sum(not name.strip() for name in names)
    if blank <= 1 and len(set(names)) == len(names):
        return tuple(names)
    distinct: list[str] = []
    for place, name in enumerate(names, start=1):
        wished = name if name.strip() else f"column-{place}"
        while wished in distinct or (wished != name and wished in names):
            wished = f"{wished}-{place}"
        distinct.append(wished)
    return tuple(distinct)


def names_for_release(names: Sequence[str]) -> dict[str, str]:
    """Return the names that columns need in place of their own to be published.

    A first column without a name has the names of rows, as R and pandas write them.

    >>> names_for_release(["", "age", "town/city", "count", "Age", "diagn."])
    {'': 'row-names', 'town/city': 'town-city', 'count': 'count-4', 'Age': 'Age-5', \
'diagn.': 'diagn'}
    """
    taken, unfit = set[str](), list[tuple[int, str]]()
    for place, name in enumerate(names, start=1):
        folded = "" if is_like_a_path(name) else folded_name(name)
        if not folded or folded in {*RESERVED, *DEVICES, *taken}:
            unfit.append((place, name))
        taken.add(folded)
    others: dict[str, str] = {}
    for place, name in unfit:
        others[name] = _publishable(name, place, taken)
        taken.add(folded_name(others[name]))
    return others


def _publishable(name: str, place: int, taken: Collection[str]) -> str:
    """Return a name that files and SQL can have, near a given one."""
    plain = re.sub(r"[\x00-\x1f\x7f/\\]+", "-", name)[: _LONGEST - 20].strip(". -")
    wished = plain if folded_name(plain) else f"column-{place}"
    if place == 1 and not name.strip():
        wished = ROW_NAMES
    while folded_name(wished) in {*taken, *RESERVED, *DEVICES}:
        wished = f"{wished}-{place}"
    return wished
