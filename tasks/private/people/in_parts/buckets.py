"""Names of people in files by their first bits: all of one person are in one file."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sfumato.tasks.private.people.keys import NAME

_BUCKETS = 16
_ENTRY = np.dtype([("name", NAME), ("part", "<i4"), ("marked", "?")])


class Buckets:
    """Names with the number of a part each, in a private directory."""

    def __init__(self, directory: Path) -> None:
        """Hold none yet."""
        self._directory = directory
        for file in directory.iterdir():  # of an attempt that failed
            file.unlink()

    def add(self, names: np.ndarray, part: int, marked: np.ndarray | bool = False) -> None:
        """Write the names of people (S16) of a part, some of them marked (bool)."""
        entries = np.empty(len(names), dtype=_ENTRY)
        entries["name"], entries["part"], entries["marked"] = names, part, marked
        bucket = np.ascontiguousarray(names, dtype=NAME).view(np.uint8).reshape(-1, NAME.itemsize)
        of = bucket[:, 0] // (256 // _BUCKETS)
        for number in np.unique(of).tolist():
            with self._file(number).open("ab") as file:
                file.write(entries[of == number].tobytes())

    def each(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The names (S16), parts (int64) and marks (bool) of each share, all of a person in one."""
        for number in range(_BUCKETS):
            place = self._file(number)
            entries = np.fromfile(place, _ENTRY) if place.exists() else np.empty(0, _ENTRY)
            yield (
                np.ascontiguousarray(entries["name"]),
                entries["part"].astype(np.int64),
                np.ascontiguousarray(entries["marked"]),
            )

    def _file(self, number: int) -> Path:
        return self._directory / f"{number}"
