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


def random_columns(rng: random.Random, release_shape: Shape) -> Declared:
    """Return the declaration of a release of this shape."""
    beside = (
        "quasi-identifier"
        if release_shape.method in ("ambiguous", "redistributed")
        else "insensitive"
    )
    several = release_shape.method in ("permuted", "split")
    may_miss = release_shape.method != "redistributed" and rng.random() < 0.5
    fractional = rng.choice(["decimal", "float"])
    columns = {
        "age": column("quasi-identifier", "integer"),
        "sex": column("quasi-identifier", "string", nulls=True),
        **(
            {"kind": column("quasi-identifier", "string", hierarchy=KINDS)}
            if release_shape.labels
            else {}
        ),
        "y": column(beside, "integer", nulls=True),
        "w": column(beside, fractional, scale=2 if fractional == "decimal" else None),
        "s": column("sensitive", "integer", nulls=may_miss),
        **({"t": column("sensitive", "integer")} if several else {}),
    }
    if release_shape.method == "ambiguous":
        columns = {name: columns[name] for name in ("age", "sex", "s")}
    form: dict[str, Any] = {"method": release_shape.method}
    form |= (
        {"sensitive": "together" if release_shape.together else "independent"} if several else {}
    )
    form |= {"fakes": 1} if release_shape.method == "redistributed" else {}
    declared = declare(release_shape.method, **columns).model_copy(update={"form": shape(**form)})
    return as_composed(declared) if release_shape.composed else declared


def random_part(
    rng: random.Random, shape: Shape, declared: Declared, rows: int, domain: Sequence[int]
) -> Part:
    """Return rows in groups, some of people who left, or one that is suppressed."""
    sizes = [rng.choice([2, 2, 3, 3, 4] if rows < 13 else [2, 3, 4, 5])]
    while sum(sizes) < max(rows, len(domain)):
        sizes.append(rng.choice([1, 2, 2, 3, 3]))
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    leavers = [0] * len(group)
    if shape.composed:
        for number, size in enumerate(sizes):
            for place in range(rng.randrange(size)):
                leavers[group.index(number) + place] = 1
    elif rng.random() < 0.3:
        group += [-1]  # is suppressed
        leavers += [0]
    columns = _columns(rng, declared, group, domain)
    if shape.method == "redistributed":  # all parts are of the same values
        some = rng.sample(range(len(group)), min(len(group), len(domain)))
        for place, value in zip(some, domain, strict=False):
            columns["s"][place] = value
    return Part(columns, group, leavers)


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
    columns_drawn = {}
    for name, declaration in declared.columns.items():
        usual = {number: rng.choice(values[name]) for number in set(group)}
        values_drawn = [
            usual[number] if declaration.role != "sensitive" and rng.random() < alike else None
            for number in group
        ]
        values_drawn = [
            rng.choice(values[name]) if value is None else value for value in values_drawn
        ]
        if name == "s" and declaration.nulls:
            values_drawn = [None if rng.random() < 0.25 else value for value in values_drawn]
        if declaration.type == "decimal":
            values_drawn = [Decimal(str(value)).quantize(Decimal("0.01")) for value in values_drawn]
        columns_drawn[name] = values_drawn
    return columns_drawn
