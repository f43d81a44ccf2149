"""Specs of small lines, by partition and form: each draws its columns and promises from a seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.conformance.people import MISSING, TYPES

Spec = dict[str, Any]
QUASI = ("age", "town", "place", "born", "code", "size", "dose", "treated", "seen")
SENSITIVE = ("illness", "note", "wage", "hours", "rate", "day", "moment", "bonus")
HIERARCHIES: Mapping[str, Any] = {
    "age": {"intervals": [5, 10, 40]},
    "town": {"file": "town.csv"},
    "born": {"dates": ["month", "year", "decade", "century"]},
    "code": {"prefixes": [4, 2]},
}
COMPOSED = {"rule": "composed"}


def quasi(name: str, *, hierarchy: bool = False) -> Spec:
    """Return a quasi-identifier of a spec."""
    more = {"hierarchy": HIERARCHIES[name]} if hierarchy and name in HIERARCHIES else {}
    return _column(name, "quasi-identifier") | more


def sensitive(name: str, **more: Any) -> Spec:
    """Return a sensitive column of a spec."""
    return _column(name, "sensitive") | more


def _column(name: str, role: str) -> Spec:
    nulls = {"nulls": "category"} if name in MISSING else {}
    return {"role": role, "type": TYPES.get(name, "string"), **nulls}


def some(rng: Random, names: Sequence[str], least: int, most: int) -> list[str]:
    """Return a few of the names, in their order."""
    chosen = rng.sample(list(names), rng.randint(least, most))
    return [name for name in names if name in chosen]


def exact(rng: Random) -> Spec:
    """Return quasi-identifiers that are published as they are."""
    return {name: quasi(name) for name in some(rng, QUASI, 1, 3)}


def recipe_with_labels(rng: Random) -> Spec:
    """Return quasi-identifiers that labels replace, some with hierarchies."""
    names = some(rng, QUASI, 1, 3)
    return {name: quasi(name, hierarchy=rng.random() < 0.8) for name in names}


def climbing(rng: Random) -> Spec:
    """Return quasi-identifiers that all have hierarchies."""
    return {name: quasi(name, hierarchy=True) for name in some(rng, tuple(HIERARCHIES), 1, 3)}


def about_labels(rng: Random) -> tuple[Spec, list[Spec]]:
    """Return sensitive columns and promises for forms that publish labels."""
    name = rng.choice(SENSITIVE)
    columns = {name: sensitive(name)}
    promises = [{"model": "k-anonymity", "k": rng.randint(2, 3)}, _diverse(rng, name)]
    promises += rng.sample(_comparison(name), rng.randint(0, 3))
    if rng.random() < 0.3:
        other = rng.choice([column for column in SENSITIVE if column != name])
        columns[other] = sensitive(other, unprotected="asked for by nobody")
        promises = [
            p if p["model"] == "k-anonymity" else {**p, "sensitive": name} for p in promises
        ]
    return columns, promises


def recipe_with_weights(rng: Random) -> tuple[Spec, list[Spec]]:
    """Return the same with a weight, about whose sums there is a promise."""
    columns, promises = about_labels(rng)
    columns["weight"] = {"role": "weight", "type": "integer", "unprotected": "made up"}
    return columns, [{"model": "k-map", "k": 4}, *promises[1:]]


def _diverse(rng: Random, name: str) -> Spec:
    variants = [
        {"variant": "distinct", "l": 2},
        {"variant": "entropy", "l": "1.25"},
        {"variant": "recursive", "l": 2, "c": 4},
    ]
    if name == "illness":
        variants.append({"variant": "recursive", "l": 2, "c": 6, "dont-care": ["none"]})
    return {"model": "l-diversity", **rng.choice(variants)}


def _comparison(name: str) -> list[Spec]:
    """Return promises that compare groups with all rows, or limit shares of values."""
    ordered = name not in {"illness", "note", "bonus"}
    return [
        {"model": "t-closeness", "t": "0.9", "distance": "ordered" if ordered else "equal"},
        {"model": "alpha-k", "alpha": "0.8", "k": 2},
        {"model": "beta-likeness", "beta": 50, "variant": "basic"},
    ]


def about_combinations(rng: Random) -> tuple[Spec, list[Spec]]:
    """Return a sensitive column, and a promise against who knows a few quasi-identifiers."""
    name = rng.choice(["illness", "hours", "note"])
    knowledge = rng.randint(1, 2)
    if rng.random() < 0.5:
        columns = {name: sensitive(name, unprotected="not promised")}
        return columns, [{"model": "km-anonymity", "k": 2, "m": knowledge}]
    promise = {"model": "lkc-privacy", "l": knowledge, "k": 2, "c": "0.9", "sensitive": name}
    return {name: sensitive(name)}, [promise]


def diverse(rng: Random, least: int = 2) -> tuple[Spec, list[Spec]]:
    """Return one or two sensitive columns with a promise of l-diversity for the first."""
    name = rng.choice(["illness", "hours", "note", "day", "rate"])
    columns = {name: sensitive(name)}
    if rng.random() < 0.5:
        other = rng.choice([column for column in SENSITIVE if column != name])
        columns[other] = sensitive(other, unprotected="asked for by nobody")
    promise = {"model": "l-diversity", "variant": "distinct", "l": least, "sensitive": name}
    return columns, [promise]


def numeric(rng: Random) -> tuple[Spec, list[Spec]]:
    """Return a sensitive column of numbers, and a promise of (k,e)-anonymity."""
    name, width = rng.choice([("wage", "10.5"), ("hours", 10), ("day", 100), ("moment", 1000)])
    return {name: sensitive(name)}, [{"model": "ke-anonymity", "k": 2, "e": width}]


def ambiguous(_rng: Random) -> tuple[Spec, list[Spec]]:
    """Return a sensitive column, and a promise of (α,β)-privacy."""
    promise = {"model": "alpha-beta", "alpha": "0.95", "beta": "0.5"}
    return {"illness": sensitive("illness")}, [promise]


def recipe_with_targets(rng: Random) -> tuple[Spec, list[Spec]]:
    """Return a sensitive column, and a promise of P-privacy."""
    name = rng.choice(["hours", "illness", "day"])
    target = rng.choice(["source", "uniform"])
    promises: list[Spec] = [{"model": "p-privacy", "target": target}]
    if name == "hours" and rng.random() < 0.5:
        promises.append({"model": "t-closeness", "t": "0.9", "distance": "ordered"})
    if target == "uniform" and rng.random() < 0.5:
        promises.append({"model": "delta-disclosure", "delta": "0.5"})
    return {name: sensitive(name)}, promises


def own_targets(rng: Random) -> tuple[Spec, list[Spec]]:
    """Return a sensitive column, and promises that groups' own targets keep."""
    promises: list[Spec] = [
        {"model": "p-privacy", "target": {"nearest": "own"}},
        {"model": "t-closeness", "t": "0.6", "distance": "ordered"},
    ]
    return {"hours": sensitive("hours")}, promises


@dataclass(frozen=True)
class Recipe:
    """A partition and a form that go together, and what they need.

    Attributes:
        partition: of the spec.
        form: of the spec.
        identify: draws quasi-identifiers.
        protect: draws sensitive columns and promises.
        rows: fewest and most rows of a line.
        insensitive: whether insensitive columns are published.
        composed: whether versions may be composed.
    """

    partition: Spec
    form: Spec
    identify: Callable[[Random], Spec]
    protect: Callable[[Random], tuple[Spec, list[Spec]]]
    rows: tuple[int, int] = (8, 40)
    insensitive: bool = True
    composed: bool = True


_AIMS = [{"kind": "range", "over": "age", "spans": [10]}]


def _by_age(rng: Random) -> Spec:
    return {"age": quasi("age")} | exact(rng)


def _wide(rng: Random) -> Spec:
    """Return quasi-identifiers with so many combinations that presence can be hidden."""
    return {
        name: quasi(name) for name in ("age", "town", "code", *some(rng, ("size", "dose"), 0, 1))
    }


RECIPES: Mapping[str, Recipe] = {
    "full-domain": Recipe(
        {"method": "full-domain", "metric": "ncp", "suppression": "0.1"},
        {"method": "generalized"},
        climbing,
        about_labels,
        composed=False,
    ),
    "full-domain-star": Recipe(
        {
            "method": "full-domain",
            "metric": "discernibility",
            "suppression": "0.2",
            "suppressed": "star",
        },
        {"method": "generalized", "single-values": "plain"},
        climbing,
        about_labels,
        composed=False,
    ),
    "mondrian-labels": Recipe(
        {"method": "mondrian"}, {"method": "generalized"}, recipe_with_labels, about_labels
    ),
    "mondrian-tables": Recipe(
        {"method": "mondrian", "mode": "relaxed"},
        {"method": "generalized", "label-tables": True},
        recipe_with_labels,
        recipe_with_weights,
        composed=False,
    ),
    "top-down": Recipe(
        {"method": "top-down"},
        {"method": "generalized"},
        climbing,
        about_combinations,
        composed=False,
    ),
    "local-suppression": Recipe(
        {"method": "local-suppression", "suppression": "0.1"},
        {"method": "suppressed"},
        exact,
        about_combinations,
        composed=False,
    ),
    "forest": Recipe({"method": "forest"}, {"method": "suppressed"}, exact, about_labels),
    "factors": Recipe(
        {"method": "factors"}, {"method": "suppressed"}, exact, about_labels, (8, 20)
    ),
    "mondrian-permuted": Recipe({"method": "mondrian"}, {"method": "permuted"}, exact, diverse),
    "mondrian-split": Recipe(
        {"method": "mondrian"}, {"method": "split", "sensitive": "together"}, exact, diverse
    ),
    "ke-permuted": Recipe(
        {"method": "ke", "objective": "sum"}, {"method": "permuted"}, exact, numeric
    ),
    "ke-split": Recipe({"method": "ke"}, {"method": "split"}, exact, numeric),
    "hybrid": Recipe(
        {"method": "hybrid", "aims": _AIMS},
        {"method": "permuted"},
        _by_age,
        numeric,
        composed=False,
    ),
    "contiguous": Recipe(
        {"method": "contiguous", "aims": _AIMS},
        {"method": "split"},
        _by_age,
        numeric,
        composed=False,
    ),
    "anatomy-split": Recipe({"method": "anatomy"}, {"method": "split"}, exact, diverse),
    "anatomy-permuted": Recipe(
        {"method": "anatomy", "draw": "round-robin"}, {"method": "permuted"}, exact, diverse
    ),
    "ambiguity": Recipe(
        {"method": "ambiguity"},
        {"method": "ambiguous"},
        _wide,
        ambiguous,
        insensitive=False,
        composed=False,
    ),
    "disjoint-cover": Recipe(
        {"method": "disjoint-cover", "residue": "suppress"},
        {"method": "ambiguous"},
        _wide,
        ambiguous,
        insensitive=False,
    ),
    "marginals": Recipe(
        {"method": "disjoint-cover", "residue": "suppress"},
        {"method": "ambiguous", "marginals": ["town"]},
        _wide,
        ambiguous,
        insensitive=False,
        composed=False,
    ),
    "stratum": Recipe(
        {"method": "stratum"},
        {"method": "redistributed", "tree": "balanced", "denominator": 8},
        exact,
        recipe_with_targets,
        (12, 60),
        insensitive=False,
    ),
    "exact-qi": Recipe(
        {"method": "exact-qi"},
        {"method": "redistributed", "tree": "median", "denominator": 4, "fakes": "0.5"},
        lambda _rng: {"town": quasi("town")},
        recipe_with_targets,
        (20, 60),
        insensitive=False,
        composed=False,
    ),
    "own-targets": Recipe(
        {"method": "mondrian"},
        {"method": "redistributed", "rows": 6, "denominator": 16},
        exact,
        own_targets,
        (24, 60),
        insensitive=False,
        composed=False,
    ),
}


def spec_of(recipe: Recipe, rng: Random, name: str) -> Spec:
    """Return the spec of a small line, without where it is published."""
    columns, promises = recipe.protect(rng)
    columns = recipe.identify(rng) | columns
    if recipe.insensitive and rng.random() < 0.4:
        free = [column for column in ("hours", "note", "treated") if column not in columns]
        columns |= {column: _column(column, "insensitive") for column in free[:1]}
    names = list(columns)
    rng.shuffle(names)
    return {
        "version": 2,
        "name": name,
        "title": f'Of {name}, "so to say": é <b> 𝄞',
        "source": {"uri": "people.parquet", "format": "parquet"},
        "columns": {
            "person": {"role": "identifier", "unit": True},
            **{column: columns[column] for column in names},
        },
        "promises": promises,
        "partition": recipe.partition,
        "form": recipe.form,
        **_beside_line(rng),
    }


def _beside_line(rng: Random) -> Spec:
    """Return how files are written, and words."""
    publish: Spec = {"uri": "public"}
    if rng.random() < 0.3:
        publish["formats"] = ["parquet"]
    elif rng.random() < 0.3:
        publish["csv"] = {"formulas": "quote"}
    words: Spec = rng.choice(
        [
            {},
            {},
            {"publisher": "A made-up office", "licence": "CC-BY-4.0"},
            {"contact": "nobody@example.org", "description": "People who were never born."},
            {"contact": "https://example.org/desk", "licence": "https://example.org/licence"},
        ]
    )
    return {"publish": publish, **words}
