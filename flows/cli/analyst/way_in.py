"""The way in that commands on releases share: its options, and what is said where it is open."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import pairs

if TYPE_CHECKING:
    from sfumato.tasks.terms.opened import Release
    from sfumato.tasks.verification.way_in import Check, WayIn

Command = Callable[..., Any]
_MANIFEST = "datapackage.json"
_HINT = "--check verifies it, --digest compares with what the publisher announced"


class ReleasePlace(click.Path):
    """A release: its directory, its line's, or an address from which it is copied here first."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the directory; one from elsewhere is copied, as `sfumato.open` does.

        The directory of a line stands for its current version, which is named on stderr.
        """
        if isinstance(value, Path) or "://" not in value:
            path = Path(os.fsdecode(super().convert(value, param, ctx)))
            return path if _is_version(path) else _current_version(str(path))
        return _current_version(value)


def _is_version(path: Path) -> bool:
    try:
        return (path / _MANIFEST).is_file()
    except OSError:  # a path that no file can have
        return False


def _current_version(place: str) -> Path:
    """Return the directory of a release, or of the current version of a line, which is named."""
    from sfumato.tasks.lines.current import choose_place
    from sfumato.tasks.verification.elsewhere.copied import directory_of

    release = choose_place(place, os.environ)
    directory = directory_of(release.place, os.environ)
    if release.remark is not None:
        show.say(f"note: {release.remark}")
    return directory


RELEASE = click.argument("directory", metavar="RELEASE", type=ReleasePlace())
"""The release that a command reads."""

with_digest = click.option("--digest", help="the digest that the publisher announced")
with_limits = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=NUMBER",
    help=(
        "accept larger tables: rows=100000000, columns=1000, expansion=20 (bytes in memory "
        "for each byte of a file)"
    ),
)
_with_check = click.option("--check", "checked", is_flag=True, help="check the release first")


def with_way_in(command: Command) -> Command:
    """Give a command the way in, as `way_in`, that its options ask for."""

    @wraps(command)
    def opening(
        *, digest: str | None, checked: bool, limits: tuple[str, ...], **others: Any
    ) -> None:
        check = _the_check() if checked else None
        command(way_in=way_in_by(digest, limits, check), **others)

    return with_digest(_with_check(with_limits(opening)))


def way_in_by(
    digest: str | None = None, limits: tuple[str, ...] = (), check: "Check | None" = None
) -> "WayIn":
    """Return the way in that options ask for."""
    from sfumato.tasks.verification.limits import read_limits
    from sfumato.tasks.verification.way_in import WayIn

    return WayIn(os.environ, digest, read_limits(pairs("--limit", limits)), check)


def tell(release: "Release") -> None:
    """Say who signed a release that was read, and whether anything vouches for it."""
    for doubt in release.doubts:
        show.say(f"warning: {doubt}")
    for remark in release.remarks:
        show.say(f"note: {remark}")
    if release.verified:
        show.say(f"verified; {release.author}")
    else:
        show.say(f"not verified; {release.author}{'' if release.doubts else f': {_HINT}'}")


def _the_check() -> "Check":
    from sfumato.tasks.publication.check import check

    return check
