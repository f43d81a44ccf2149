"""Time to reach diversity, beside k-anonymity."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sfumato.tasks.experiments.diversity.setting import EIGHT, ENTROPY, K_ANONYMITY, full_domain
from sfumato.tasks.experiments.shared import generated_tables
from sfumato.tasks.experiments.shared.adult import complete_people, hierarchies_of
from sfumato.tasks.experiments.shared.candidates import Method, partition_by
from sfumato.tasks.experiments.shared.claim_tests import Alike, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule

_SECONDS = "CPU seconds"
_LEVEL = 6


@dataclass(frozen=True)
class KnownScale:
    """Number of rows drawn, and the numbers of quasi-identifiers that are known."""

    rows: int
    known: tuple[int, ...]


def measure(scale: KnownScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the CPU seconds of the search, by the number of quasi-identifiers."""
    for number in scale.known:
        for data, table, hierarchies in _tables(number, scale.rows, inputs, seed):
            for series in (K_ANONYMITY, ENTROPY):
                method = full_domain(table, series, _LEVEL, hierarchies)
                yield Point(data, series, number, _SECONDS, _seconds(table, method, seed))


def _tables(
    number: int, rows: int, inputs: Inputs, seed: int
) -> Iterator[tuple[str, Microdata, Mapping[str, HierarchyRule]]]:
    """Yield the tables that have so many quasi-identifiers beside what is sensitive."""
    quasi_identifiers = EIGHT[:number]
    people = complete_people(inputs, quasi_identifiers, "occupation", rows, seed)
    yield "occupations", people, hierarchies_of(inputs, quasi_identifiers)
    if number <= len(generated_tables.KNOWN):
        orders = generated_tables.orders(rows, seed, generated_tables.KNOWN[:number])
        yield "lands-end", orders, generated_tables.HIERARCHIES


def _seconds(table: Microdata, method: Method, seed: int) -> float:
    started = time.process_time()
    partition_by(table, method, seed)
    return time.process_time() - started


EXPERIMENT = Experiment(
    name="diversity-time",
    paper="diversity",
    shows="Figures: running time by the number of quasi-identifiers, k-anonymity and entropy",
    title="How long diversity takes",
    setting=(
        "CPU seconds of the full-domain search for 6-anonymity and for entropy 6-diversity, by "
        "the number of known quasi-identifiers. Adult has up to eight, and orders have seven "
        "beside their cost."
    ),
    ours="24,000 rows of each table, and k = l = 6",
    data=("occupations", "lands-end"),
    full=KnownScale(24_000, (1, 2, 3, 4, 5, 6, 7, 8)),
    quick=KnownScale(1_500, (2, 8)),
    measure=measure,
    figures=(Figure(_SECONDS, "quasi-identifiers", "CPU seconds", log=True),),
    claims=tuple(
        claim
        for data in ("occupations", "lands-end")
        for claim in (
            Claim(
                "Diversity takes about as long as k-anonymity, within a factor of three",
                data,
                Alike(_SECONDS, K_ANONYMITY, ENTROPY, within=3),
            ),
            Claim(
                "Time grows with the number of quasi-identifiers",
                data,
                Trend(_SECONDS, ENTROPY, rises=True),
            ),
        )
    ),
    apart=True,
)
