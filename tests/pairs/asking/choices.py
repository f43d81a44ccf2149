"""Choices of constructs and of columns."""

import random
from collections.abc import Container, Sequence

from tests.pairs.asking.conditions import Conditions
from tests.pairs.asking.constructs import CONDITIONS
from tests.pairs.possible.releases import PairedRelease
from tests.pairs.semantics.queries import OwnTable
from tests.pairs.semantics.rows import Node


class Choices:
    """Chooses constructs, those that are wanted among them, and keeps which were used."""

    def __init__(
        self,
        rng: random.Random,
        release: PairedRelease,
        own: Sequence[OwnTable],
        avoided: Container[str] = (),
    ) -> None:
        """Make queries on the columns of a release, which may join tables.

        Constructs to be avoided are used where they are wanted alone.
        """
        self._rng, self._avoided = rng, avoided
        columns = release.declared.columns
        self._own = [table for table in own if table.key in columns]
        self._sensitive = release.names_with_roles("sensitive")
        self._exact = [name for name in columns if name not in self._sensitive]
        texts, recoded = {"sex", "kind"}, {"age"} if release.shape.labels else set()
        self._measured = [n for n in self._exact if n not in texts | recoded] or ["age"]
        self._labels = release.shape.labels
        self._conditions = Conditions(rng, self._exact, self._sensitive)
        self._tags: set[str] = set()
        self._wanted: set[str] = set()

    def _wants(self, construct: str, chance: float = 0.0) -> bool:
        """Decide whether a construct is used; where it is, the query is tagged with it."""
        is_wanted = self._rng.random() < chance and construct not in self._avoided
        use = construct in self._wanted or is_wanted
        if use:
            self._tags.add(construct)
        return use

    def _tag(self, construct: str) -> str:
        self._tags.add(construct)
        return construct

    def _pick(self, constructs: Sequence[str], chance: float = 0.0) -> list[str]:
        """Return those that are wanted, or now and then one that is not."""
        picked = [construct for construct in constructs if construct in self._wanted]
        usual = [construct for construct in constructs if construct not in self._avoided]
        if not picked and usual and self._rng.random() < chance:
            picked = [self._rng.choice(usual)]
        return [self._tag(construct) for construct in picked]

    def _where(self, chance: float) -> Node | None:
        picked = self._pick(CONDITIONS, chance)
        made = [self._conditions.make(kind) for kind in picked]
        return self._conditions.join(made) if made else None
