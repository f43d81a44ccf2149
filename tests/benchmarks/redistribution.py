"""SA-only and QI-SA on UCI Adult's capital losses, with more and more fakes: what is lost.

As in Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009): the
target is the source's own distribution, the quasi-identifier is age, and queries average the losses
of a range of ages.
"""

import tempfile
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import numpy as np
import pyarrow.parquet as pq

from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.tasks.forms import redistributed
from sfumato.tasks.forms.redistributed_parameters import RedistributedParameters
from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.partitions.distribution.parameters import ExactQIParameters, StratumParameters
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.query.accuracy.parameters import RangeWorkload
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared, RowCounts
from tests.benchmarks.lattice import adult
from tests.query.worlds import partial_declaration

METHODS = {
    "SA-only": StratumParameters(method="stratum"),
    "QI-SA": ExactQIParameters(method="exact-qi"),
}
SHARES = ("0", "0.05", "0.1", "0.2")
SPANS = (5, 20, 40)
LOSS = "capital-loss"


def main() -> None:
    """Print a line for each tree, method and share of fakes."""
    everybody = adult(("age",), LOSS)
    codes = everybody[LOSS].codes
    lost = everybody.take(np.flatnonzero(everybody[LOSS].values.to_numpy()[codes] > 0))
    for tree in ("balanced", "median"):
        for method in METHODS:
            for share in SHARES:
                print(
                    f"{tree} tree, {method}, {share} fakes: {lost_share(lost, method, tree, share)}"
                )


def lost_share(microdata: Microdata, method: str, tree: str, share: str) -> str:
    """Return what is lost of the losses of UCI Adult's people."""
    promise = PPrivacy(target="source", quasi_identifiers=("age",), sensitive=LOSS)
    parameters, make = METHODS[method], PARTITIONS[METHODS[method].method]
    form = RedistributedParameters(method="redistributed", tree=tree, fakes=Decimal(share))
    started = time.process_time()
    partition = make(microdata, [], [promise], parameters, seeded_keys(1))
    tables = redistributed.publish(microdata, partition, form, seeded_keys(1))
    taken = time.process_time() - started
    columns = {
        "age": DeclaredColumn(role="quasi-identifier", type="integer"),
        LOSS: DeclaredColumn(role="sensitive", type="integer"),
    }
    rows = RowCounts(
        read=microdata.rows, dropped_by_filter=0, dropped_for_nulls=0, dropped_as_repeats=0,
        suppressed=0, published=microdata.rows, fakes=redistributed.fakes(tables),
    )  # fmt: skip
    declared = partial_declaration(columns=columns, form=form, rows=rows, versions="disjoint")
    lost = redistributed.diagnostics(microdata, partition, tables, columns, form)
    errors = "; ".join(
        f"span {span} {_errors(dict(tables), declared, microdata, span)}" for span in SPANS
    )
    at_root = float(Fraction(lost["share_at_the_root"]))
    return (
        f"{taken:.2f} s, sum of ranges {lost['sum_of_ranges']:,}, at the root {at_root:.1%}, "
        f"{rows.fakes} fakes; averages by age: {errors}"
    )


def _errors(tables: dict[str, object], declared: Declared, original: Microdata, span: int) -> str:
    """The mean width of the bounds, and the mean error of the estimate, by the truth."""
    workload = RangeWorkload(kind="range", aggregate="avg", over="age", spans=(span,), queries=100)
    with tempfile.TemporaryDirectory() as place:
        release = Release(Path(place), declared, {})
        for folder, content in (("data", tables), ("sql", build_help_tables(tables, declared))):
            (release.directory / folder).mkdir()
            for name, table in content.items():
                pq.write_table(table, release.directory / folder / f"{name}.parquet")
        evaluation = evaluate(release, original, (workload,), seeded_keys(2), lambda *_: None)
    widths = [query.relative_error for query in evaluation if query.relative_error is not None]
    errors = [query.estimate_error for query in evaluation if query.estimate_error is not None]
    summary = f"width {fmean(widths):.2f}"
    return f"{summary}, estimate {fmean(errors):.3f}" if errors else summary


if __name__ == "__main__":
    main()
