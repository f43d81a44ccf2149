"""Batches of counts: ranges of random quasi-identifiers, and a sensitive value of random rows.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, whose batches have selectivities of 1, 5 and 10 %; how they were drawn is not said there.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from sqlglot import exp

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import OriginalColumn, Outcome
from sfumato.tasks.query.accuracy.truth import as_fraction
from sfumato.tasks.query.accuracy.workloads.conditions import among, draw_share, equals
from sfumato.tasks.query.accuracy.workloads.parameters import CountsWorkload
from sfumato.tasks.query.ask import ask
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.schema.columns import ORDERED


class CountsQueries:
    """Random counts of a release, whose ranges are drawn among what is published."""

    def __init__(
        self,
        workload: CountsWorkload,
        aggregate: Aggregate,
        asking: Engine,
        release: Release,
        original: Microdata,
    ) -> None:
        """Find what is published of each quasi-identifier."""
        declared = release.declared
        self._asking, self._declared = asking, declared
        self._count = replace(aggregate, sensitive=None)  # rows, whose value may be missing
        self._of = workload.of or declared.named("sensitive")[0]
        starts = {name: asking.starts(name) for name in declared.named("quasi-identifier")}
        self._values = {name: values for name, values in starts.items() if values}
        self._names = list(self._values)
        self._attributes = min(workload.attributes, len(self._names))
        self._known = {name: OriginalColumn(original[name]) for name in (*self._names, self._of)}
        self._sensitive = original[self._of]

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """The next count; None where nothing is represented."""
        if not len(self._sensitive.codes):
            return None
        row = int(randomness(1)[0] % len(self._sensitive.codes))
        code = int(self._sensitive.codes[row])
        value = self._sensitive.values[code].as_py() if code >= 0 else None
        chosen = self._sensitive.codes == code
        share = (level / 100) ** (1 / max(self._attributes, 1))
        order = np.argsort(randomness(len(self._names)), kind="stable")
        tests: list[exp.Expr] = [equals(self._of, value)]
        for at in order[: self._attributes]:
            name = self._names[at]
            test, holds = self._range(name, share, randomness)
            tests.append(test)
            chosen = chosen & holds
        question = question_of(self._count, exp.and_(*tests), self._declared)
        bounds = ask(self._asking, self._declared, question).rows[0][self._count.label]
        limits = as_fraction(bounds.lower), as_fraction(bounds.upper)
        truth = Fraction(int(chosen.sum()))
        return Outcome(*limits, truth, bounds.may_be_empty, as_fraction(bounds.estimate))

    def _range(
        self, name: str, share: float, randomness: Randomness
    ) -> tuple[exp.Expr, np.ndarray]:
        """A share of a column's values, neighbours where they have an order; and who has one."""
        known, ordered = self._known[name], self._declared.columns[name].type in ORDERED
        drawn = draw_share(self._values[name], share, randomness, ordered=ordered)
        holds = known.between(drawn[0], drawn[-1]) if ordered else known.among(drawn)
        return among(name, drawn, ordered=ordered), holds
