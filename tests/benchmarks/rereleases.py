"""Six versions of lines that people join and leave: what they tell together, and what that costs.

    python -m tests.benchmarks.rereleases             Adult, ACS, attacks and a million people
    python -m tests.benchmarks.rereleases --versions 2 --people 4000 --kinds permuted

Each line is published with everything drawn anew at `accepted-risk`, and `composed`, so that its
groups go on: with vacant values kept, with newcomers in the places of people who left, where what
is promised allows it, and with groups that few are left in closed. Exposures are of people in all
versions, by the private maps.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tests.adult import HIERARCHIES
from tests.benchmarks.comers import Pace, acs, acs_is_here, adult, versions_of
from tests.benchmarks.rereleased import Accuracy, Rereleased, spec_of

OCCUPATION, HOURS, INDUSTRY = "occupation", "hours-per-week", "INDP_CAT"
RULES: dict[str, dict[str, Any]] = {
    "redraw": {"rule": "accepted-risk"},
    "keep": {"rule": "composed"},
    "paired": {"rule": "composed", "vacancies": "paired"},
    "refill": {"rule": "composed", "vacancies": "refill"},
    "paired, closing": {"rule": "composed", "vacancies": "paired", "consolidate": True},
    "refill, closing": {"rule": "composed", "vacancies": "refill", "consolidate": True},
    "keep, reinsert": {"rule": "composed", "changes": "reinsert"},
}
AS_FIRST_MADE = ("ambiguous", "redistributed")  # forms in which no slot changes hands
WHERE_VALUES_DIFFER = "anatomy"  # partition of which people may be moved to groups of equal values
BY_FILE = ["workclass", "education", "marital-status", "race", "sex", "native-country"]


class Kind(NamedTuple):
    """A kind of line: its form and grouping, the promise, of which column, of how many.

    `asked` is how many values everybody should face, None where groups show none.
    """

    form: dict[str, Any]
    partition: dict[str, Any]
    promises: list[dict[str, Any]]
    told: str
    asked: int | None


def _diverse(l: int) -> dict[str, Any]:
    return {"model": "l-diversity", "variant": "distinct", "l": l}


BOXES = [{"model": "k-anonymity", "k": 10}, _diverse(3)]
KINDS = {
    "permuted": Kind({"method": "permuted"}, {"method": "anatomy"}, [_diverse(4)], OCCUPATION, 4),
    "split": Kind({"method": "split"}, {"method": "anatomy"}, [_diverse(4)], OCCUPATION, 4),
    "ranges": Kind(
        {"method": "permuted"},
        {"method": "ke", "objective": "sum"},
        [{"model": "ke-anonymity", "k": 5, "e": 10}],
        HOURS,
        5,
    ),
    "boxes": Kind({"method": "generalized"}, {"method": "mondrian"}, BOXES, OCCUPATION, 3),
    "levels": Kind(
        {"method": "generalized"},
        {"method": "full-domain", "metric": "ncp", "suppression": 0.01},
        BOXES,
        OCCUPATION,
        3,
    ),
    "cells": Kind({"method": "suppressed"}, {"method": "forest"}, BOXES, OCCUPATION, 3),
    "ambiguous": Kind(
        {"method": "ambiguous"},
        {"method": "disjoint-cover"},
        [{"model": "alpha-beta", "alpha": "0.1", "beta": "0.2", "presence": "combined"}],
        OCCUPATION,
        5,
    ),
    "redistributed": Kind(
        {"method": "redistributed", "tree": "balanced", "denominator": 16},
        {"method": "stratum"},
        [{"model": "p-privacy", "target": "source", "tolerance": "0"}],
        HOURS,
        None,
    ),
}
INDUSTRIES = {
    "ACS permuted": KINDS["permuted"]._replace(promises=[_diverse(3)], told=INDUSTRY, asked=3),
    "ACS split": KINDS["split"]._replace(promises=[_diverse(3)], told=INDUSTRY, asked=3),
}


def columns_of_adult(kind: Kind) -> dict[str, Any]:
    """The columns of UCI Adult: seven quasi-identifiers, one that is told, all else dropped."""
    recoded = kind.form["method"] in ("generalized", "suppressed")
    files = {name: {"hierarchy": str(HIERARCHIES / f"{name}.csv")} for name in BY_FILE}
    levels = {"hierarchy": {"intervals": [5, 10, 20]}} if recoded else {}
    age = {"age": {"role": "quasi-identifier", "type": "integer", **levels}}
    others = {
        name: {"role": "quasi-identifier", **(more if recoded else {})}
        for name, more in files.items()
    }
    numbers = {"education-num", "fnlwgt", "capital-gain", "capital-loss", HOURS}
    dropped = (*sorted(numbers), "relationship", "salary-class", OCCUPATION)
    roles = dict.fromkeys(dropped, "drop") | {kind.told: "sensitive"}
    declarations = {
        n: {"role": r, **({"type": "integer"} if n in numbers else {})} for n, r in roles.items()
    }
    return {**age, **others, **declarations}


def columns_of_acs(_kind: Kind) -> dict[str, Any]:
    """Five quasi-identifiers and the industry."""
    declarations = {
        name: {"role": "quasi-identifier"} for name in ("AGEP", "SEX", "MSP", "RAC1P", "EDU")
    }
    return {**declarations, INDUSTRY: {"role": "sensitive"}}


HEAD = (
    "line | versions | one value / too few, by intersection | the same of newcomers and leavers, "
    "by subtraction | presence | vacant | not shown | COUNT error | width | outside | seconds"
)


def row(name: str, rule: str, line: Rereleased, kind: Kind, accuracy: Accuracy) -> str:
    """Return the findings about a line, as a row of the table."""
    exposed, by_subtraction = "–", "–"
    if kind.asked is not None:
        faced = line.exposure(kind.asked)
        exposed = _shares([faced.intersection])
        by_subtraction = _shares([faced.newcomers, faced.leavers])
    rows = line.versions[-1].declared.rows
    vacant = (rows.vacant or 0) / (rows.published + (rows.vacant or 0))
    presence = line.presence()
    return " | ".join(
        (
            name,
            rule,
            exposed,
            by_subtraction,
            "" if presence is None else f"{presence:.3f}",
            f"{vacant:.1%}",
            f"{rows.not_represented_versions or 0:,}",
            f"{accuracy.error:.3f}",
            f"{accuracy.width:.2f}",
            str(accuracy.outside),
            f"{line.seconds[0]:.1f}; {np.mean(line.seconds[1:]):.1f}",
        )
    )


def _shares(faced: Sequence[Any]) -> str:
    people = sum(version.people for version in faced)
    return " / ".join(
        f"{sum(getattr(version, name) for version in faced) / max(people, 1):.1%}"
        for name in ("one", "few")
    )


def rows_of(
    name: str,
    kind: Kind,
    columns: dict[str, Any],
    tables: Sequence[pa.Table],
    options: argparse.Namespace,
) -> Iterator[str]:
    """The rows of a kind of line, redrawn and continued, over the same versions of the people."""
    for rule in options.rules:
        rule_words = RULES[rule]
        if len(rule_words) > 1 and kind.form["method"] in AS_FIRST_MADE:
            continue
        if "consolidate" in rule_words and kind.partition["method"] != WHERE_VALUES_DIFFER:
            continue
        with tempfile.TemporaryDirectory() as folder:
            spec = spec_of(
                "coming", columns, (kind.form, kind.partition, kind.promises), rule_words
            )
            line = Rereleased(Path(folder) / "line", spec, kind.told)
            for table in tables:
                line.publish(table)
            yield row(name, rule, line, kind, line.accuracy(options.queries))


def main(arguments: Sequence[str] | None = ()) -> None:
    """Print a table of lines."""
    options = parse_options(arguments)
    print("|", HEAD, "|", flush=True)
    print("|---" * len(HEAD.split("|")) + "|")
    for name in options.kinds:
        rng = np.random.default_rng(options.seed)
        kind = {**KINDS, **INDUSTRIES}[name]
        if name in INDUSTRIES and not acs_is_here():
            continue
        if name in INDUSTRIES:
            people, first = acs(rng)
            pace, columns = Pace(change=0), columns_of_acs(kind)
        else:
            people, first = adult(rng), options.people
            pace, columns = Pace(), columns_of_adult(kind)
        evolving = versions_of(people, first, kind.told, pace, rng)
        tables = [next(evolving) for _ in range(options.versions)]
        for line in rows_of(name, kind, columns, tables, options):
            print("|", line, "|", flush=True)


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options; by default little is measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--versions", type=int, default=6)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rules", nargs="+", default=[*RULES])
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, *INDUSTRIES])
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(None)
