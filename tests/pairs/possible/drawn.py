"""Random columns, rows and groups of a release."""

import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sfumato.tasks.terms.terms import Declared
from tests.pairs.possible.shapes import Part, Shape
from tests.query.composed import as_composed
from tests.query.worlds import column, declare, shape

KINDS = (("cat", "pet", "*"), ("dog", "pet", "*"), ("wolf", "wild", "*"))
DOMAINS = ((1, 2, 3, 9), (-3, -1, 2), (0, 1, 2), (1, 2, 4, 8), (1, 5))
"""Sensitive values of a release."""


def random_columns(rng: random.Random, of: Shape) -> Declared:
    """Return the declaration of a release of this shape."""
    beside = "quasi-identifier" if of.method in ("ambiguous", "redistributed") else "insensitive"
    several = of.method in ("permuted", "split")
    may_miss = of.method != "redistributed" and rng.random() < 0.5
    fractional = rng.choice(["decimal", "float"])
    columns = {
        "age": column("quasi-identifier", "integer"),
        "sex": column("quasi-identifier", "string", nulls=True),
        **({"kind": column("quasi-identifier", "string", hierarchy=KINDS)} if of.labels else {}),
        "y": column(beside, "integer", nulls=True),
        "w": column(beside, fractional, scale=2 if fractional == "decimal" else None),
        "s": column("sensitive", "integer", nulls=may_miss),
        **({"t": column("sensitive", "integer")} if several else {}),
    }
    if of.method == "ambiguous":
        columns = {name: columns[name] for name in ("age", "sex", "s")}
    form: dict[str, Any] = {"method": of.method}
    form |= {"sensitive": "together" if of.together else "independent"} if several else {}
    form |= {"fakes": 1} if of.method == "redistributed" else {}
    declared = declare(of.method, **columns).model_copy(update={"form": shape(**form)})
    return as_composed(declared) if of.composed else declared


def random_part(
    rng: random.Random, of: Shape, declared: Declared, rows: int, domain: Sequence[int]
) -> Part:
    """Return rows in groups, some of people who left, or one that is suppressed."""
    sizes = [rng.choice([2, 2, 3, 3, 4] if rows < 13 else [2, 3, 4, 5])]
    while sum(sizes) < max(rows, len(domain)):
        sizes.append(rng.choice([1, 2, 2, 3, 3]))
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    left = [0] * len(group)
    if of.composed:
        for number, size in enumerate(sizes):
            for place in range(rng.randrange(size)):
                left[group.index(number) + place] = 1
    elif rng.random() < 0.3:
        group += [-1]  # is suppressed
        left += [0]
    columns = _columns(rng, declared, group, domain)
    if of.method == "redistributed":  # all parts are of the same values
        some = rng.sample(range(len(group)), min(len(group), len(domain)))
        for place, value in zip(some, domain, strict=False):
            columns["s"][place] = value
    return Part(columns, group, left)


def _columns(
    rng: random.Random, declared: Declared, group: Sequence[int], domain: Sequence[int]
) -> dict[str, list[Any]]:
    """Return random values; those of exact columns are often alike within a group."""
    alike = rng.choice([0.5, 0.8, 0.9, 1.0]) if "kind" in declared.columns else rng.random()
    values = {
        "age": range(4),
        "sex": ("f", "m", None),
        "kind": ("cat", "dog", "wolf"),
        "y": rng.choice([(0, 1, 2, None), (None, 1, 4), (-2, 0, 3, None)]),
        "w": rng.choice([(0.25, 0.5, 0.75), (0.25, 1.0, 2.5), (-0.5, 0.25, 3.0), (0.0, 0.25, 1.0)]),
        "s": domain,
        "t": (-1, 0, 1, 3),
    }
    found = {}
    for name, of in declared.columns.items():
        usual = {number: rng.choice(values[name]) for number in set(group)}
        drawn = [
            usual[number] if of.role != "sensitive" and rng.random() < alike else None
            for number in group
        ]
        drawn = [rng.choice(values[name]) if value is None else value for value in drawn]
        if name == "s" and of.nulls:
            drawn = [None if rng.random() < 0.25 else value for value in drawn]
        if of.type == "decimal":
            drawn = [Decimal(str(value)).quantize(Decimal("0.01")) for value in drawn]
        found[name] = drawn
    return found
