"""Whether there is room on disk for a release in parts, looked at before anything is written."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from sfumato.expectations.errors import InputError
from sfumato.tasks.schema.files import regular

_SCRATCH, _PUBLISHED, _TEXT = 3, 2, 8  # times the source
_NAMED = 120  # bytes for each row of people who are known again: names and slots, some times over


def require_room(
    files: Sequence[Path],
    run: Path,
    public: Path,
    formats: Sequence[str],
    *,
    keep_rows: bool = False,
    named: bool = False,
) -> None:
    """Refuse to begin where a disk is too full for what may be written.

    Args:
        files: of the source.
        run: where stages are written.
        public: where the release appears; it need not be there yet.
        formats: of tables.
        keep_rows: whether the rows of parts stay until accuracy was measured.
        named: whether the line goes on with the same people.

    Raises:
        InputError: naming the directory, what it needs and what it has.
    """
    size = sum(path.stat().st_size for path in files)
    place = next(path for path in (public, *public.parents) if path.exists())
    published = size * (_PUBLISHED + _TEXT * ("csv" in formats))
    rows = sum(pq.read_metadata(regular(path)).num_rows for path in files) if named else 0
    needed = {run: size * (_SCRATCH + keep_rows) + rows * _NAMED}
    if run.stat().st_dev == place.stat().st_dev:
        needed[run] += published
    else:
        needed[place] = published
    for directory, wanted in needed.items():
        free = shutil.disk_usage(directory).free
        if free < wanted:
            raise InputError(
                f"{directory}: parts may need {_gigabytes(wanted)} GB there, and "
                f"{_gigabytes(free)} GB are free: make room, or set SFUMATO_WORK and publish.uri "
                "to other disks"
            )


def _gigabytes(number: int) -> str:
    return f"{number / 10**9:.1f}"
