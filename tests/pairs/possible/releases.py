"""Small random releases of every form, plain, composed and in parts, and their worlds."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.terms.terms import Declared
from tests.pairs.possible.drawn import DOMAINS, random_columns, random_part
from tests.pairs.possible.published import in_files, publish
from tests.pairs.possible.shapes import Part, Shape
from tests.pairs.possible.told import groups_of, is_complete
from tests.pairs.possible.worlds import Worlds, worlds_of


@dataclass(frozen=True)
class PairedRelease:
    """A release with its worlds.

    Attributes:
        complete: whether all values that a label admits are in the worlds.
    """

    shape: Shape
    declared: Declared
    files: Files
    worlds: Worlds
    complete: bool

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Every row of some world."""
        return [dict(zip(self.declared.columns, row, strict=True)) for row in self.worlds.rows]

    def names_with_roles(self, *roles: str) -> list[str]:
        """Return the columns with one of these roles."""
        return self.declared.names_with_roles(*roles)


def random_release(rng: random.Random, shape: Shape, folder: Path, rows: int) -> PairedRelease:
    """Return a release of about so many rows; one in parts is in files in a folder."""
    declared = random_columns(rng, shape)
    domain = rng.choice(DOMAINS)
    parts = [
        random_part(rng, shape, declared, rows // shape.parts, domain) for _ in range(shape.parts)
    ]
    return release_of(rng, shape, declared, parts, folder)


def release_of(
    rng: random.Random, shape: Shape, declared: Declared, parts: Sequence[Part], folder: Path
) -> PairedRelease:
    """Return the release of these rows, and its worlds.

    Raises:
        AssertionError: if what is published does not admit these rows.
    """
    for part in parts:
        part.tables = publish(rng, declared, part)
    groups = [group for part in parts for group in groups_of(shape, declared, part)]
    original = [row for part in parts for row in part.rows()]
    files = parts[0].tables if shape.parts == 1 else in_files(folder, declared, parts)
    complete = all(map(is_complete, parts)) if shape.labels else True
    return PairedRelease(shape, declared, files, worlds_of(groups, original, rng), complete)
