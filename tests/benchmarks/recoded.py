"""Full domain, Mondrian and forest on UCI Adult, compared; peak memory on a million rows."""

import resource
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pyarrow as pa

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.forms.form_parameters import GeneralizedParameters, SuppressedParameters
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.table import Column, Microdata, seeded_keys
from sfumato.tasks.partitions.cell_suppression.parameters import ForestParameters
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.terms import RowCounts
from sfumato.tasks.terms.utility import Utility, utility
from tests.benchmarks.ke import cpu
from tests.benchmarks.lattice import FIVE, adult
from tests.benchmarks.mondrian import draw_table
from tests.query.worlds import partial_declaration

QUASI = (*FIVE, "sex", "native-country")
METHODS: list[tuple[str, PartitionParameters, str]] = [
    ("full domain", FullDomainParameters(method="full-domain"), "generalized"),
    (
        "full domain, 1 %",
        FullDomainParameters(method="full-domain", suppression=Decimal("0.01")),
        "generalized",
    ),
    ("Mondrian", MondrianParameters(method="mondrian"), "generalized"),
    ("forest", ForestParameters(method="forest"), "suppressed"),
]


def main() -> None:
    """Print a table, and the peak memory of each partition on a million rows."""
    table = adult(QUASI, "occupation")
    numeric = table.keep(
        replace(c, ancestors=None, labels=None) if c.name == "age" else c for c in table.columns
    )
    plain = table.keep(replace(c, ancestors=None, labels=None) for c in table.columns)
    tables = {"Mondrian": numeric, "forest": plain}
    print("| k | partition | ms CPU | discernibility | NCP | groups | rows gone | stars |")
    print("|---|---|---|---|---|---|---|---|")
    for k in (2, 5, 10, 50):
        for name, parameters, form in METHODS:
            microdata = tables.get(name, table)
            make = partial(_partition, microdata, [KAnonymity(k=k)], parameters)
            lost = _utility(microdata, make(), parameters, form)
            print(
                f"| {k} | {name} | {1000 * cpu(make):,.0f} | {lost.discernibility:,} "
                f"| {float(lost.ncp):.4f} | {lost.classes:,} | {lost.suppressed_rows:,} "
                f"| {float(lost.starred_cells):.4f} |"
            )
    for name in ("full-domain", "forest"):
        run = f"from tests.benchmarks import recoded; recoded.memory('{name}')"
        command = [sys.executable, "-c", run]
        print(subprocess.run(command, capture_output=True, check=True, text=True).stdout, end="")


def _partition(
    microdata: Microdata, promises: list[PrivacyModel], parameters: PartitionParameters
) -> Partition:
    return PARTITIONS[parameters.method](microdata, [], promises, parameters, seeded_keys(0))


def _utility(
    microdata: Microdata, partition: Partition, parameters: PartitionParameters, form: str
) -> Utility:
    form_class = (GeneralizedParameters if form == "generalized" else SuppressedParameters)(
        method=form
    )
    tables = FORMS[form].publish(microdata, partition, form_class, seeded_keys(0))
    gone = int((partition.group < 0).sum())
    counts = RowCounts(
        read=microdata.rows,
        dropped_by_filter=0,
        dropped_for_nulls=0,
        dropped_as_repeats=0,
        suppressed=gone,
        published=microdata.rows - gone,
        fakes=0,
    )
    columns = {column.name: _declare(column) for column in microdata.columns}
    declared = partial_declaration(
        columns=columns, form=form_class, rows=counts, promises=(), versions="disjoint"
    )
    sizes = SeenGroups(declared, tables).of_all().sizes
    lost = utility(tables, declared, sizes)
    assert lost is not None
    return lost


def _declare(column: Column) -> DeclaredColumn:
    type_ = "string" if column.values.type == pa.string() else "integer"
    rows = None
    if column.labels is not None and column.ancestors is not None:
        nodes = zip(column.labels, column.ancestors, strict=True)
        levels = [labels.take(pa.array(above)).to_pylist() for labels, above in nodes]
        rows = tuple(zip(*levels, strict=True))
    return DeclaredColumn(role=column.role, type=type_, hierarchy=rows)


def memory(name: str) -> None:
    """Print what one run takes at most beyond its input, in a process of its own."""
    parameters = {p.method: p for _, p, _ in reversed(METHODS)}[name]
    _partition(draw_table(200_000), [KAnonymity(k=5)], parameters)  # compiles
    microdata = draw_table()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    _partition(microdata, [KAnonymity(k=5)], parameters)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{name}, {microdata.rows:,} rows: {seconds:.1f} s CPU, "
        f"peak {(peak - before) // 1024} MB above {before // 1024} MB"
    )
