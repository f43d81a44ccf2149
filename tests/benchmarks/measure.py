"""Measuring every group-wise model: against np.sort of the same key, and against pyCANON on Adult.

pyCANON pins old versions of NumPy and pandas, so it has an environment of its own, which the
Makefile makes; `PYCANON` names its interpreter.
"""

import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np

from sfumato.expectations.groups.counting import Coded, count, pack
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.exact import Exact
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.microdata.table import Microdata
from tests.adult import HEADER, text_source
from tests.benchmarks.ke import cpu

MODELS = (
    KAnonymity(k=1),
    DistinctLDiversity(l=1),
    EntropyLDiversity(l=Decimal(1)),
    RecursiveLDiversity(l=2, c=Decimal(1)),
    RecursiveLDiversity(l=3, c=Decimal(1)),
    TCloseness(t=Decimal(1), distance="equal"),
    TCloseness(t=Decimal(1), distance="ordered"),
    AlphaK(alpha=Decimal(1), k=1),
)
FEW, MANY = (16, 7, 5, 2), (72, 8, 16, 2, 5)  # sizes of quasi-identifiers
QI = ["age", "education", "marital-status", "race", "sex"]
SENSITIVE = "education-num"

PEER = """
import json, sys, time, warnings
import pandas as pd
from pycanon import anonymity as a
warnings.simplefilter("ignore")
file, names, qi, s = sys.argv[1], *map(json.loads, sys.argv[2:4]), sys.argv[4]
df = pd.read_csv(file, names=names, skipinitialspace=True)[[*qi, s]]
start = time.process_time()
a.k_anonymity(df, qi), a.l_diversity(df, qi, [s]), a.entropy_l_diversity(df, qi, [s])
a.recursive_c_l_diversity(df, qi, [s]), a.t_closeness(df, qi, [s])
print(time.process_time() - start)
"""


def main() -> None:
    """Print the ratios to np.sort, and on Adult the milliseconds and the ratio to pyCANON."""
    rng = np.random.default_rng(3)
    for rows in (10**6, 10**7):
        for sizes in (FEW, MANY):
            codes = [rng.integers(0, size, rows).astype(np.int32) for size in sizes]
            for values in (15, 100_000):
                codes_drawn = rng.integers(0, values, rows).astype(np.int32)
                sensitive = Coded(codes_drawn, values, Exact(np.arange(values), 0))
                compare(f"{rows:,} rows, {values:,} values", codes, sizes, sensitive)
    with tempfile.TemporaryDirectory() as folder:
        on_adult(Path(text_source(Path(folder)).uri))


def compare(title: str, codes: list[np.ndarray], sizes: tuple[int, ...], sensitive: Coded) -> float:
    """CPU seconds for all models from codes, printed as a ratio to sorting the packed key."""
    key, _ = pack(codes, sizes)
    ours = cpu(lambda: every_model(codes, sizes, sensitive))
    sort = cpu(lambda: np.sort(key))
    groups = len(np.unique(key))
    print(f"measure, {title}, {groups:,} groups: {ours / sort:.2f} x np.sort ({ours * 1e3:.1f} ms)")
    return ours


def every_model(codes: list[np.ndarray], sizes: tuple[int, ...], sensitive: Coded) -> Groups:
    """Pack, count and measure."""
    key, bound = pack(codes, sizes)
    groups = count(key, bound, {SENSITIVE: sensitive})
    for model in MODELS:
        model.check(groups)
    return groups


def on_adult(adult: Path) -> None:
    """UCI Adult from codes in memory, as a whole process, and with pyCANON."""
    table: Microdata = read_inferred(str(adult), [*QI, SENSITIVE], Written(tuple(HEADER), ("?",)))
    pairs = [table[name].category() for name in QI]
    codes, sizes = [c for c, _ in pairs], tuple(size for _, size in pairs)
    ours = compare("UCI Adult", codes, sizes, table[SENSITIVE].counted_codes())
    options = ["--columns", ",".join(HEADER), "--null", "?", "--format", "json"]
    sfumato = str(Path(sys.executable).with_name("sfumato"))
    options_of_columns = ["--qi", ",".join(QI), "--sensitive", SENSITIVE]
    command = [sfumato, "measure", str(adult), *options_of_columns, *options]
    whole = sorted(of_process(command) for _ in range(5))[2]
    print(f"measure, UCI Adult, whole process: {whole:.2f} s CPU")
    if (python := os.environ.get("PYCANON")) is not None:
        arguments = [str(adult), json.dumps(HEADER), json.dumps(QI), SENSITIVE]
        done = subprocess.run([python, "-c", PEER, *arguments], capture_output=True)
        if done.returncode:
            print("measure, UCI Adult: pyCANON did not run here")
            return
        peer = float(done.stdout)
        print(f"measure, UCI Adult: pyCANON needs {peer:.2f} s, {peer / ours:,.0f} x ours")


def of_process(command: list[str]) -> float:
    """The CPU seconds of a child process."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


if __name__ == "__main__":
    main()
