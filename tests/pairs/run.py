"""Run random queries on random releases, and count which pairs of constructs were answered."""

import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import ask_several, engine, open_tables
from sfumato.tasks.query.inquiries.answering import OpenTables
from sfumato.tasks.query.language.several import read_inquiries
from tests.pairs.asking.constructs import CONSTRUCTS
from tests.pairs.asking.maker import Maker
from tests.pairs.judge import Fault, judge
from tests.pairs.possible.releases import PairedRelease, random_release
from tests.pairs.possible.shapes import Shape, random_shape
from tests.pairs.quick import quick_sessions
from tests.pairs.semantics.queries import OwnTable, Query

PAIRS = tuple(combinations(CONSTRUCTS, 2))
Pair = tuple[str, str]
_TRIES = 6  # of a pair that was always refused
_ALWAYS = 12  # times that a construct was refused, and never answered
RATES = {0: (Fraction(1, 2), "n"), 1: (Fraction(2), "s"), 3: (None, "n"), 9: (Fraction(9), "w")}
OWN = (
    OwnTable(
        "ages",
        "age",
        {key: {"rate": rate, "area": area} for key, (rate, area) in RATES.items()},
        ("rate", "area"),
    ),
    OwnTable(
        "words",
        "sex",
        {"f": {"years": 1, "word": "a"}, "m": {"years": 2, "word": "b"}},
        ("years", "word"),
    ),
    OwnTable(
        "ys", "y", {0: {"cost": 3, "zone": "e"}, 1: {"cost": -1, "zone": None}}, ("cost", "zone")
    ),
)


def own_tables() -> dict[str, pa.Table]:
    """Return the analyst's tables as the product is given them."""
    rates = [None if rate is None else float(rate) for rate, _ in RATES.values()]
    areas = [area for _, area in RATES.values()]
    return {
        "ages": pa.table({"age": list(RATES), "rate": rates, "area": areas}),
        "words": pa.table({"sex": ["f", "m"], "years": [1, 2], "word": ["a", "b"]}),
        "ys": pa.table({"y": [0, 1], "cost": [3, -1], "zone": ["e", None]}),
    }


@dataclass(frozen=True)
class Finding:
    """A fault, and what was asked of which release."""

    seed: str
    shape: str
    query: Query
    rows: int
    fault: Fault

    @property
    def sql(self) -> str:
        """Return the query as SQL."""
        return self.query.sql()


@dataclass
class Figures:
    """Counts of a run.

    Attributes:
        alone: by shape and construct how many queries with it were answered.
        refused: by shape and construct how many queries with it were refused.
        answered: by shape and pair of constructs how many queries with both were answered.
        tried: by shape and pair how many queries with both were refused.
        refusals: by shape and pair the first words of a refusal.
    """

    queries: int = 0
    cells: int = 0
    ends: int = 0
    worlds: int = 0
    loose_rows: int = 0
    loose_certain: int = 0
    by_shape: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    alone: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    refused: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    answered: dict[str, Counter[Pair]] = field(default_factory=lambda: defaultdict(Counter))
    tried: dict[str, Counter[Pair]] = field(default_factory=lambda: defaultdict(Counter))
    refusals: dict[str, dict[Pair, str]] = field(default_factory=lambda: defaultdict(dict))
    findings: list[Finding] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Return how many queries were answered."""
        return sum(self.by_shape.values())


def seed_release(seed: str, folder: Path) -> PairedRelease:
    """Return the release of a seed."""
    rng = random.Random(seed)
    shape = random_shape(rng)
    rows = rng.choice([6, 6, 8, 10, 12] if rng.random() < 0.85 else [16, 20, 24])
    return random_release(rng, shape, folder, rows)


class Run:
    """Random queries on random releases, from a seed."""

    def __init__(self, seed: int | str, queries: int, per_release: int = 25) -> None:
        self._seed, self._wanted, self._per_release = seed, queries, per_release
        self.figures = Figures()
        self._own = own_tables()

    def run(self) -> Figures:
        """Ask until so many queries are answered."""
        number = 0
        with quick_sessions():
            while self.figures.total < self._wanted:
                self.of_release(f"{self._seed}/{number}")
                number += 1
        return self.figures

    def again(self, seed: str, queries: Iterable[Query]) -> Figures:
        """Ask some queries of the release of one seed."""
        with quick_sessions(), tempfile.TemporaryDirectory() as folder:
            self.ask_release(seed_release(seed, Path(folder)), queries, seed)
        return self.figures

    def of_release(self, seed: str) -> None:
        """Ask queries of the release of a seed."""
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            release = seed_release(seed, Path(folder))
            self.figures.worlds += len(release.worlds.worlds)
            self.figures.seconds["releases and worlds"] += time.process_time() - start
            self.ask_release(
                release, self._queries(random.Random(f"{seed} queries"), release), seed
            )

    def ask_release(self, release: PairedRelease, queries: Iterable[Query], seed: str) -> None:
        """Ask queries of a release."""
        with engine(release.files, release.declared) as opened:
            tables = open_tables(release.files, release.declared, opened)
            for query in queries:
                self._ask(tables, release, query, seed)

    def _queries(self, rng: random.Random, release: PairedRelease) -> Iterator[Query]:
        maker = Maker(rng, release, OWN, self._constructs_to_avoid(release.shape))
        for _ in range(self._per_release):
            if self.figures.total >= self._wanted:
                return
            pair = self._pick_uncovered(rng, release.shape)
            yield maker.query(pair)

    def _pick_uncovered(self, rng: random.Random, shape: Shape) -> Pair:
        """Return a pair that was not answered yet, and not refused too often; else any."""
        answered, tried = self.figures.answered[shape.name], self.figures.tried[shape.name]
        pairs = [pair for pair in PAIRS if not self._constructs_to_avoid(shape) & set(pair)]
        for _ in range(20):
            pair = rng.choice(pairs)
            if not answered[pair] and tried[pair] < _TRIES:
                return pair
        return rng.choice(pairs)

    def _constructs_to_avoid(self, shape: Shape) -> set[str]:
        """Return constructs that were refused every time in releases of this shape."""
        alone = self.figures.alone[shape.name]
        often = self.figures.refused[shape.name].items()
        return {
            construct for construct, times in often if times >= _ALWAYS and not alone[construct]
        }

    def _ask(self, tables: OpenTables, release: PairedRelease, query: Query, seed: str) -> None:
        figures, name, sql = self.figures, release.shape.name, query.sql()
        pairs = [pair for pair in PAIRS if query.tags.issuperset(pair)]
        figures.queries += 1
        figures.asked[name] += 1
        start = time.process_time()
        try:
            several = read_inquiries(sql, release.declared, self._own)
            answer = ask_several(tables, several)
        except QueryError as error:
            figures.refused[name].update(query.tags)
            for pair in pairs:
                figures.tried[name][pair] += 1
                figures.refusals[name].setdefault(pair, str(error)[:60])
            return
        except Exception as error:  # noqa: BLE001 - every other exception is a fault
            what = f"{type(error).__name__}: {error}"
            self._note_fault(Fault("exception", answer=what), release, query, seed)
            return
        finally:
            figures.seconds["answers"] += time.process_time() - start
        start = time.process_time()
        judgement = judge(release, query, answer)
        figures.seconds["judging"] += time.process_time() - start
        figures.by_shape[name] += 1
        figures.alone[name].update(query.tags)
        figures.answered[name].update(pairs)
        for count in ("cells", "ends", "loose_rows", "loose_certain"):
            setattr(figures, count, getattr(figures, count) + getattr(judgement, count))
        for fault in judgement.faults:
            self._note_fault(fault, release, query, seed)

    def _note_fault(self, fault: Fault, release: PairedRelease, query: Query, seed: str) -> None:
        rows = len(release.worlds.original)
        self.figures.findings.append(Finding(seed, release.shape.name, query, rows, fault))
