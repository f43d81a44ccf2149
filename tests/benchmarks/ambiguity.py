"""Ambiguity on UCI Adult and on 500,000 drawn rows: groups, what is left over, and CPU time."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Column, Microdata, key, seeded_keys
from sfumato.tasks.partitions.ambiguity import ambiguity
from sfumato.tasks.partitions.ambiguity.parameters import AmbiguityParameters
from tests.benchmarks.ke import cpu
from tests.benchmarks.lattice import adult

QI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SIZES = dict(zip(QI, (78, 10, 17, 6, 9, 2, 83), strict=True))
SENSITIVE, VALUES = "occupation", 50
SETTINGS = ((".2", ".34"), (".1", ".2"), (".05", ".2"), (".01", ".1"))
ROWS = 500_000


def main() -> None:
    """Print figures of the greedy and the calibrated one."""
    skewed_table = draw_skewed(ROWS)
    for alpha, beta in SETTINGS:
        for calibrate in (False, True):
            compare(f"{ROWS:,} rows", skewed_table, alpha, beta, calibrate)
    table = adult(QI, SENSITIVE)
    for alpha, beta in SETTINGS:
        for calibrate in (False, True):
            compare("UCI Adult", table, alpha, beta, calibrate)


def draw_skewed(rows: int, seed: int = 5) -> Microdata:
    """Columns as in a census: most values rare, two that are nearly even."""
    rng = np.random.default_rng(seed)
    columns = []
    for name, size in {**SIZES, SENSITIVE: VALUES}.items():
        power = {"age": 0.0, "sex": 0.0, SENSITIVE: 0.7}.get(name, 1.3)
        weights = 1 / np.arange(1, size + 1) ** power
        weights[0] *= 12 if name == "native-country" else 1
        codes = rng.choice(size, rows, p=weights / weights.sum()).astype(np.int32)
        role = "sensitive" if name == SENSITIVE else "quasi-identifier"
        columns.append(Column(name, role, pa.array(range(size)), codes))
    return Microdata(tuple(columns), rows)


def compare(title: str, table: Microdata, alpha: str, beta: str, calibrate: bool) -> None:
    """Print what one partition comes to, and its time against sorting the packed key."""
    promise = AlphaBeta(
        alpha=Decimal(alpha),
        beta=Decimal(beta),
        presence="combined" if calibrate else "per-group",
        quasi_identifiers=QI,
        sensitive=SENSITIVE,
    )
    parameters = AmbiguityParameters(method="ambiguity", calibrate=calibrate)
    keys, _ = key(table.with_roles("quasi-identifier"), table.rows)
    sort = cpu(lambda: np.sort(keys))

    def make_facts() -> dict[str, object]:
        return dict(ambiguity.partition(table, [], [promise], parameters, seeded_keys(1)).facts)

    what = f"ambiguity {'calibrated' if calibrate else 'greedy'}, {title}, α = {alpha}, β = {beta}"
    try:
        facts = make_facts()
    except PromiseError as error:
        print(f"{what}: {error}")
        return
    taken = cpu(make_facts, times=1)
    summary = ", ".join(
        f"{name} {facts[name]}" for name in ("groups", "placed", "suppressed", "stop")
    )
    reached = f", together {facts['combined']:.4f}" if calibrate else ""
    print(f"{what}: {summary}{reached}, {taken:.2f} s, {taken / sort:.0f} x np.sort", flush=True)


if __name__ == "__main__":
    main()
