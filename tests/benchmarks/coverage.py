"""Coverage of likely intervals by fresh queries, on releases of every form.

    python -m tests.benchmarks.coverage [--held-out] [--seed N] [name …]

The first releases are those on which families were chosen; `--held-out` measures others. Each
release has a seed of its own unless one is given.

Each release is calibrated as before its publication; then 1,000 fresh queries of each family are
drawn independently. A cell is a family on a release. Held against it: at least 93 % are met; not
fewer than 95 % by a binomial test, with Holm's correction over all cells, nor by a test over
releases as clusters, with Holm's correction over families; and at most 98 % in cells where most
intervals have 30 possible values or more. Answers that are exact are never drawn.
"""

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import yaml
from scipy import stats

from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.candidates.anonymized import anonymize_alone
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.intervals.calibration.drawn_queries import DrawnConditions
from sfumato.tasks.query.intervals.calibration.factors import (
    QUERIES,
    MeasuredQuery,
    QueriesOnOriginal,
    calibrate,
)
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.query.intervals.spread import ExtremeSpread
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.tables import schemas
from sfumato.tasks.terms.terms import Declared, RowCounts
from tests.adult import ADULT, HIERARCHIES, NUMBERS
from tests.adult import HEADER as ADULT_COLUMNS

FRESH, LEAST, MOST, MANY = 1_000, 0.93, 0.98, 30
ACS_NAMES = """
    PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP INDP_CAT EDU PINCP
    PINCP_DECILE POVPIP DVET DREM DPHY DEYE DEAR PWGTP WGTP
"""
ACS_COLUMNS = ACS_NAMES.split()
FOUR = ("age", "education", "marital-status", "sex")
SEVEN = (*FOUR, "workclass", "race", "native-country")
FIVE = ("AGEP", "SEX", "MSP", "RAC1P", "EDU")


class Cell(NamedTuple):
    """A family on a release, and how many fresh queries met their intervals."""

    release: str
    family: str
    factor: str
    queries: int
    met: int
    wide: int
    wide_met: int

    @property
    def coverage(self) -> float:
        return self.met / self.queries

    @property
    def rarity(self) -> float:
        """The chance of as few, were 95 % met."""
        return float(stats.binom.cdf(self.met, self.queries, 0.95))


def adult(known_names: tuple[str, ...], sensitive: str, hierarchies: str = "") -> dict[str, Any]:
    """The source and the columns of a spec on Adult."""
    columns: dict[str, dict[str, Any]] = {}
    for name in ADULT_COLUMNS:
        role = "quasi-identifier" if name in known_names else "drop"
        columns[name] = {"role": "sensitive" if name == sensitive else role}
        columns[name] |= {"type": "integer"} if name in NUMBERS else {}
        rows = HIERARCHIES / f"{name}.csv"
        if hierarchies and role == "quasi-identifier" and rows.exists():
            columns[name]["hierarchy"] = str(rows)
    if hierarchies == "full":
        columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    source = {"uri": str(ADULT), "format": "parquet"}
    if sensitive.startswith("capital-"):
        source["where"] = f'"{sensitive}" > 0'
    return {"source": source, "columns": columns}


def acs(known_names: tuple[str, ...], sensitive: str, numbers: set[str]) -> dict[str, Any]:
    """The source and the columns of a spec on the American Community Survey, 2019."""
    columns: dict[str, dict[str, Any]] = {}
    for name in ACS_COLUMNS:
        role = "quasi-identifier" if name in known_names else "drop"
        columns[name] = {"role": "sensitive" if name == sensitive else role}
        columns[name] |= {"type": "integer"} if name in numbers else {}
    place = Path(os.environ["SFUMATO_DATA"], "acs", "national2019.csv")
    return {"source": {"uri": str(place), "csv": {"null_values": ["N"]}}, "columns": columns}


def distinct(l: int) -> dict[str, Any]:
    return {"model": "l-diversity", "variant": "distinct", "l": l}


def range_promise(k: int, e: int) -> dict[str, Any]:
    return {"model": "ke-anonymity", "k": k, "e": e}


K5 = {"model": "k-anonymity", "k": 5}
PRIVATE = {"model": "p-privacy", "target": "source"}
AMBIGUOUS = {"model": "alpha-beta", "alpha": 0.2, "beta": 0.4}
HOURS, JOBS = "hours-per-week", "occupation"

RELEASES: Mapping[str, tuple[dict[str, Any], list[dict[str, Any]], str, str]] = {
    "loss, ke": (adult((*SEVEN, JOBS), "capital-loss"), [range_promise(5, 500)], "ke", "permuted"),
    "hours, ke": (adult(SEVEN, HOURS), [range_promise(5, 10)], "ke", "permuted"),
    "hours, boxes": (adult(SEVEN, HOURS), [distinct(4)], "mondrian", "split"),
    "jobs, boxes": (adult(SEVEN, JOBS), [distinct(4)], "mondrian", "permuted"),
    "jobs, anatomy": (adult(SEVEN, JOBS), [distinct(4)], "anatomy", "split"),
    "poverty, ke": (
        acs(FIVE, "POVPIP", {"AGEP", "EDU", "POVPIP"}),
        [range_promise(5, 100)],
        "ke",
        "split",
    ),
    "income, boxes": (
        acs(FIVE, "PINCP_DECILE", {"AGEP", "EDU", "PINCP_DECILE"}),
        [distinct(5)],
        "mondrian",
        "permuted",
    ),
    "hours, labels": (adult(FOUR, HOURS, "boxes"), [K5, distinct(3)], "mondrian", "generalized"),
    "loss, anatomy": (
        adult((*SEVEN, JOBS), "capital-loss"),
        [distinct(4)],
        "anatomy",
        "permuted",
    ),
    "loss, boxes": (adult((*SEVEN, JOBS), "capital-loss"), [distinct(4)], "mondrian", "split"),
    "loss, labels": (
        adult(FOUR, "capital-loss", "boxes"),
        [K5, distinct(3)],
        "mondrian",
        "generalized",
    ),
    "hours, stars": (adult(FOUR, HOURS), [K5, distinct(3)], "forest", "suppressed"),
    "jobs, labels": (adult(SEVEN, JOBS, "boxes"), [K5, distinct(3)], "mondrian", "generalized"),
    "jobs, levels": (adult(FOUR, JOBS, "full"), [K5, distinct(3)], "full-domain", "generalized"),
    "industry, ambiguous": (
        acs((*FIVE, "PUMA"), "INDP_CAT", {"AGEP", "EDU"}),
        [AMBIGUOUS],
        "disjoint-cover",
        "ambiguous",
    ),
    "hours, targets": (
        adult(("age", "education", "sex"), HOURS),
        [PRIVATE],
        "exact-qi",
        "redistributed",
    ),
}
"""By name: source and columns, promises, partition and form."""
_JOINED = (*(name for name in SEVEN if name != "education"), JOBS)
HELD_OUT: Mapping[str, tuple[dict[str, Any], list[dict[str, Any]], str, str]] = {
    "gain, ke": (adult((*SEVEN, JOBS), "capital-gain"), [range_promise(5, 500)], "ke", "permuted"),
    "gain, anatomy": (adult((*SEVEN, JOBS), "capital-gain"), [distinct(4)], "anatomy", "split"),
    "weights, boxes": (adult(SEVEN, "fnlwgt"), [distinct(5)], "mondrian", "permuted"),
    "weights, labels": (
        adult(FOUR, "fnlwgt", "boxes"),
        [K5, distinct(4)],
        "mondrian",
        "generalized",
    ),
    "gain, labels": (
        adult(FOUR, "capital-gain", "boxes"),
        [K5, distinct(3)],
        "mondrian",
        "generalized",
    ),
    "education, split": (adult(_JOINED, "education"), [distinct(3)], "mondrian", "split"),
    "education, ambiguous": (
        adult(_JOINED, "education"),
        [{**AMBIGUOUS, "alpha": 0.1}],
        "disjoint-cover",
        "ambiguous",
    ),
    "ages, ke": (
        acs(("SEX", "MSP", "RAC1P", "EDU", "PUMA"), "AGEP", {"AGEP", "EDU"}),
        [range_promise(5, 10)],
        "ke",
        "permuted",
    ),
    "poverty, boxes": (
        acs(FIVE, "POVPIP", {"AGEP", "EDU", "POVPIP"}),
        [distinct(4)],
        "mondrian",
        "split",
    ),
    "poverty, stars": (
        acs(("AGEP", "SEX", "MSP", "RAC1P"), "POVPIP", {"AGEP", "POVPIP"}),
        [K5, distinct(3)],
        "forest",
        "suppressed",
    ),
    "ages, targets": (
        acs(("SEX", "MSP", "EDU"), "AGEP", {"AGEP", "EDU"}),
        [PRIVATE],
        "exact-qi",
        "redistributed",
    ),
    "industry, anatomy": (
        acs((*FIVE, "PUMA"), "INDP_CAT", {"AGEP", "EDU"}),
        [distinct(4)],
        "anatomy",
        "permuted",
    ),
}
"""Releases of columns that no family was chosen or tuned on."""


ALL = {**RELEASES, **HELD_OUT}


def main(arguments: Sequence[str]) -> None:
    """Print the cells of some releases, and what the tests say of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seed", type=int)
    chosen = parser.parse_args(arguments)
    cells = measured_cells(chosen.names or (HELD_OUT if chosen.held_out else RELEASES), chosen.seed)
    summary(cells)
    by_family(cells)


def measured_cells(names: Iterable[str], seed: int | None) -> list[Cell]:
    """Measure some releases, and print each cell."""
    print("| release | family | factor | queries | met | of intervals of 30 values or more |")
    print("|---|---|---|---|---|---|")
    cells: list[Cell] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            begun = process_time()
            own = list(ALL).index(name) if seed is None else seed
            for cell in measure_release(name, Path(folder), own):
                wide = f"{cell.wide_met / cell.wide:.1%} of {cell.wide}" if cell.wide else "–"
                print(
                    f"| {cell.release} | {cell.family} | {cell.factor} | {cell.queries} "
                    f"| {cell.coverage:.1%} | {wide} |",
                    flush=True,
                )
                cells.append(cell)
            print(f"{name}: {process_time() - begun:.0f} s CPU", file=sys.stderr)
    return cells


def summary(cells: list[Cell]) -> None:
    """Print which cells and families fall short."""
    few = [cell for cell in cells if cell.coverage < LEAST]
    print(f"\n{len(cells)} cells; below {LEAST:.0%}: {len(few)}")
    print(f"least: {min(cell.coverage for cell in cells):.1%}")
    rejected = holm([cell.rarity for cell in cells])
    print(f"rejected at 95 % by the binomial test, Holm: {sum(rejected)}")
    families = defaultdict(list)
    for cell in cells:
        families[cell.family].append(cell.coverage)
    clustered = [
        float(stats.ttest_1samp(scores, 0.95, alternative="less").pvalue)
        for scores in families.values()
        if len(scores) > 2 and len(set(scores)) > 1
    ]
    print(f"rejected over releases as clusters, Holm: {sum(holm(clustered))} of {len(clustered)}")
    wide = [cell for cell in cells if cell.wide > cell.queries / 2]
    over = [cell for cell in wide if cell.coverage > MOST]
    note = f"above {MOST:.0%} where most intervals have {MANY} values or more"
    print(f"{note}: {len(over)} of {len(wide)}")


def by_family(cells: list[Cell]) -> None:
    """Print for each kind of family on how many releases it was asked, and how many were met."""
    families = defaultdict(list)
    for cell in cells:
        families[cell.family].append(cell.coverage)
    print("\n| family | releases | met on average | least | most |")
    print("|---|---|---|---|---|")
    for name, shares in sorted(families.items()):
        mean = sum(shares) / len(shares)
        print(f"| {name} | {len(shares)} | {mean:.1%} | {min(shares):.1%} | {max(shares):.1%} |")


def holm(rarities: list[float], level: float = 0.05) -> list[bool]:
    """Return which hypotheses are rejected, with Holm's correction."""
    order = np.argsort(rarities)
    rejected = [False] * len(rarities)
    for place, place_ in enumerate(order):
        if rarities[place_] > level / (len(rarities) - place):
            break
        rejected[place_] = True
    return rejected


def measure_release(name: str, folder: Path, seed: int) -> Iterator[Cell]:
    """Calibrate a release, and ask fresh queries of it."""
    declared, tables, original = release_terms(ALL[name], folder, seed)
    tables_, shows = {**tables, **build_help_tables(tables, declared)}, declared.form.shows
    with ENGINES[shows](tables_, declared, "weighted") as engine, session({}) as values:
        queries = QueriesOnOriginal(
            LIKELY[shows](engine, DrawnConditions(values)), declared, original
        )
        stated = calibrate(queries.scores(QUERIES, seeded_keys(2 * seed + 1)), None)
        fresh = queries.measure(FRESH, seeded_keys(2 * seed + 2))
    for family, queries_asked in sorted(fresh.items()):
        factor = stated.factor_of(family)
        if factor is not None and len(queries_asked) >= FRESH:
            wide = [
                query
                for query in queries_asked
                if possible(family[0], query, float(factor)) >= MANY
            ]
            met, wide_met = (sum(q.score <= factor for q in some) for some in (queries_asked, wide))
            yield Cell(name, family[0], str(factor), len(queries_asked), met, len(wide), wide_met)


def possible(family: str, query: MeasuredQuery, factor: float) -> float:
    """Return how many values an interval has."""
    law = query.law
    if isinstance(law, ExtremeSpread):
        best, worst = law.law.interval_places(factor)
        return worst - best + 1
    low, high = law.interval(factor)
    return (high - low) * (law.size.rows if family.startswith("avg") else 1) + 1


Parts = tuple[dict[str, Any], list[dict[str, Any]], str, str]
"""Source and columns of a spec, its promises, its partition and its form."""


def release_terms(parts: Parts, folder: Path, seed: int) -> tuple[Declared, Tables, Microdata]:
    """Return what a release would declare and show, and the rows that it represents."""
    keys, promises, partition, form = parts
    spec = {
        "version": 1,
        "name": "coverage",
        "title": "Coverage",
        **keys,
        "nulls": "drop-row",
        "promises": promises,
        "partition": {"method": partition},
        "form": {"method": form},
        "publish": {"uri": "public"},
        "unit": "row",
    }
    place = folder / "spec.yaml"
    place.write_text(yaml.safe_dump(spec), encoding="utf-8")
    read = read_spec(place)
    terms = read.terms(folder)
    source = ingest(read.source, read.columns, read.nulls, folder, None, folder / "fetched")
    table = source.microdata.keep(source.microdata[column] for column in terms.columns)
    microdata = with_hierarchies(table, terms.hierarchies)
    made = anonymize_alone(microdata, None, terms, seeded_keys(seed))
    counts = RowCounts(**dict.fromkeys(RowCounts.model_fields, 0))
    declared = Declared(
        **{key: getattr(terms, key) for key in type(terms).model_fields}, rows=counts, software={}
    )
    types = schemas(declared)
    tables = {key: column.cast(types[key]) for key, column in made.tables.items() if key in types}
    return declared, tables, table.take(np.flatnonzero(made.shown))


if __name__ == "__main__":
    main(sys.argv[1:])
