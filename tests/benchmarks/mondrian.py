"""Mondrian on a million rows and on UCI Adult: CPU time, against np.sort, and peak memory."""

import resource
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity, RecursiveLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.microdata.table import Column, Microdata, key, seeded_keys
from sfumato.tasks.partitions.mondrian import mondrian
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from tests.adult import ADULT
from tests.benchmarks.ke import cpu
from tests.benchmarks.measure import MANY, QI

ROWS = 10**6
MODES = tuple(MondrianParameters(method="mondrian", mode=mode) for mode in ("strict", "relaxed"))
SENSITIVE = "occupation"


def main() -> None:
    """Print milliseconds, the ratio to sorting the packed key, and the memory of one run."""
    compare(f"{ROWS:,} rows", draw_table())
    table = read_inferred(str(ADULT), [*QI, SENSITIVE], Written(None, ()))
    roles = ["quasi-identifier" if c.name in QI else "sensitive" for c in table.columns]
    table = table.keep(replace(c, role=r) for c, r in zip(table.columns, roles, strict=True))
    compare("UCI Adult, compiled", table, worth_compiling=0)
    compare("UCI Adult, not compiled", table)
    command = [sys.executable, "-c", "from tests.benchmarks import mondrian; mondrian.memory()"]
    print(subprocess.run(command, capture_output=True, check=True, text=True).stdout, end="")


def draw_table(rows: int = ROWS) -> Microdata:
    """Uniform codes, made without more memory than they take."""
    rng = np.random.default_rng(3)
    sizes = {**{f"q{number}": size for number, size in enumerate(MANY)}, SENSITIVE: 15}
    columns = tuple(
        Column(
            name,
            "sensitive" if name == SENSITIVE else "quasi-identifier",
            pa.array(range(size)),
            rng.integers(0, size, rows, dtype=np.int32),
        )
        for name, size in sizes.items()
    )
    return Microdata(columns, rows)


def compare(title: str, table: Microdata, worth_compiling: int | None = None) -> None:
    """Time both modes for some lists of promises, warm."""
    keys, _ = key(table.with_roles("quasi-identifier"), table.rows)
    sort = cpu(lambda: np.sort(keys))
    usual = mondrian._WORTH_COMPILING
    mondrian._WORTH_COMPILING = usual if worth_compiling is None else worth_compiling
    for parameters in MODES:
        for promises in promises_of_counts():
            took = cpu(lambda p=promises, m=parameters: cut(table, p, m))
            names = " and ".join(promise.name for promise in promises)
            print(
                f"mondrian {parameters.mode}, {title}, {names}: {took * 1e3:.1f} ms, "
                f"{took / sort:.1f} x np.sort"
            )
    mondrian._WORTH_COMPILING = usual


def k_rows() -> list[PrivacyModel]:
    """Return the promise."""
    return [KAnonymity(k=5)]


def promises_of_counts() -> list[list[PrivacyModel]]:
    """Promises that counts decide."""
    about_values: list[PrivacyModel] = [
        DistinctLDiversity(l=3, sensitive=SENSITIVE),
        RecursiveLDiversity(l=3, c=Decimal(2), sensitive=SENSITIVE),
        TCloseness(t=Decimal("0.3"), distance="equal", sensitive=SENSITIVE),
    ]
    return [k_rows(), *([*k_rows(), promise] for promise in about_values)]


def cut(table: Microdata, promises: list[PrivacyModel], parameters: MondrianParameters) -> object:
    """One run."""
    return mondrian.partition(table, [], promises, parameters, seeded_keys(1))


def memory() -> None:
    """Print by how much a run on a million rows raises the peak memory of this process."""
    cut(draw_table(mondrian._WORTH_COMPILING), k_rows(), MODES[0])  # compiles
    table = draw_table()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cut(table, k_rows(), MODES[0])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    more, base = (after - before) / 1024, before / 1024
    print(f"mondrian strict, {ROWS:,} rows: {more:.0f} MB above {base:.0f} MB")


if __name__ == "__main__":
    main()
