"""Conditions on facts of people beside related rows, and answers by facts, as parts of SQL.

Facts are shuffled within groups. So of a group with m people everybody knows how many meet a
condition on facts, f, and not who. Of h people whom all other conditions hit, at least h + f - m
and at most the smaller of h and f meet it; of n conditions on facts that are shuffled by
themselves, at least h + f1 + … + fn - n m. These are the numbers of the engine of two tables.

Facts that are shuffled together are one *bundle*: how many people meet conditions on several of
them is known. Of bundle n, `fact_n` has the people of each group who meet its conditions, by its
facts that rows of the answer are by. `met_people` has the `hits` of each group, at most, and at
least (`fewest`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from sfumato.tasks.forms.related.parameters import GROUPS, PEOPLE
from sfumato.tasks.query.question.calculations import put_calculated
from sfumato.tasks.query.question.facts import conditions_on_facts
from sfumato.tasks.query.question.question import Matching, Question
from sfumato.tasks.query.question.ways import WAYS, facts_of
from sfumato.tasks.query.sql.trees import (
    Part,
    alias,
    join,
    key_names,
    own,
    published_column,
    same,
    select,
    total_of,
    tree,
)
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Terms

_FACT, _MET_PEOPLE = "fact_", "met_people"
HIT_PEOPLE = "hit_people"
"""The part that counts the people of each group on whom all conditions but those on facts hold."""


@dataclass(frozen=True)
class FactConditions:
    """The conditions of a question about two related tables on facts, and its groups by facts.

    Attributes:
        question: the question.
        declared: the terms of the release.
        people: the name of the table of people.
    """

    question: Question
    declared: Terms
    people: str

    @property
    def rest(self) -> Question:
        """The question without its conditions on facts."""
        return replace(self.question, matching=tuple(self._conditions[1]))

    @property
    def source(self) -> str:
        """The part with the people that the question hits in each group."""
        return _MET_PEOPLE if self._bundles else HIT_PEOPLE

    @property
    def fewest(self) -> str:
        """The column with the least number of people that the question hits in a group."""
        return "fewest" if self._bundles else "hits"

    def is_key(self, name: str) -> bool:
        """Decide whether a group column is a fact."""
        return bool(self._sources(name) & self._facts)

    def _sources(self, name: str) -> set[str]:
        """Return the published columns that a column is, or is calculated from."""
        column = put_calculated(published_column(name), self.question.calculated)
        return {part.name for part in column.find_all(exp.Column)}

    def parts(self) -> list[Part]:
        """Return the parts that come after `hit_people`, up to `met_people`; none without facts."""
        if not self._bundles:
            return []
        counts = [(f"{_FACT}{n}", self._count(bundle)) for n, bundle in enumerate(self._bundles)]
        return [*counts, (_MET_PEOPLE, self._people_met([name for name, _ in counts]))]

    @cached_property
    def _facts(self) -> frozenset[str]:
        return frozenset(facts_of(self.declared))

    @cached_property
    def _conditions(self) -> tuple[list[exp.Expr], list[Matching]]:
        return conditions_on_facts(self.question.matching, self.declared)

    @cached_property
    def _keys(self) -> list[tuple[str, str]]:
        """The facts that rows of the answer are by, each with the name of its key."""
        names = zip(self.question.group_by, key_names(self.question), strict=True)
        return [(name, key) for name, key in names if self.is_key(name)]

    @cached_property
    def _bundles(self) -> list[tuple[str, ...]]:
        """The bundles of the facts that the question names."""
        bundles = WAYS[self.declared.form.shows].bundles(self.declared)
        named = [
            column.name for part in self._conditions[0] for column in part.find_all(exp.Column)
        ]
        named += [source for name, _ in self._keys for source in sorted(self._sources(name))]
        return list(dict.fromkeys(bundles[name] for name in named))

    def _count(self, bundle: Sequence[str]) -> exp.Select:
        """Return the query of the people of each group who meet the conditions on a bundle."""
        keys = [
            (put_calculated(published_column(name), self.question.calculated), key)
            for name, key in self._keys
            if self._sources(name) <= {*bundle}
        ]
        conditions = [
            condition
            for condition in self._conditions[0]
            if {column.name for column in condition.find_all(exp.Column)} <= {*bundle}
        ]
        columns = [alias(column.copy(), key) for column, key in keys]
        grouped = [*(column for column, _ in keys), own(GROUP_ID)]
        counted = [*columns, own(GROUP_ID), tree("COUNT(*) AS met")]
        return select(counted, self.people, where=conditions, group_by=grouped)

    def _people_met(self, counts: Sequence[str]) -> exp.Select:
        """Return the query of the people of each group whom all conditions hit."""
        met = [own("met", name) for name in counts]
        size = exp.Mul(this=exp.Literal.number(len(met)), expression=own(PEOPLE, "g"))
        fewest = exp.Sub(this=total_of([own("hits", "p"), *met]), expression=size)
        hits = exp.Least(this=own("hits", "p"), expressions=met, ignore_nulls=True)
        positive = exp.GT(this=exp.paren(fewest), expression=exp.Literal.number(0))
        least = exp.Case(
            ifs=[exp.If(this=positive, true=fewest.copy())], default=exp.Literal.number(0)
        )
        keys = [alias(own(key, table), key) for key, table in self._tables_of_keys(counts)]
        columns = [*keys, own(GROUP_ID, "p"), alias(hits, "hits"), alias(least, "fewest")]
        query = select(columns, exp.table_(HIT_PEOPLE, alias="p"))
        join(query, exp.table_(GROUPS, alias="g"), same(GROUP_ID, "g", "p"))
        for name in counts:
            join(query, name, same(GROUP_ID, name, "p"))
        return query

    def _tables_of_keys(self, counts: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the keys of people, each with the part that has it."""
        parts = list(zip(counts, self._bundles, strict=True))
        for name, key in zip(self.question.group_by, key_names(self.question), strict=True):
            sources = self._sources(name)
            if sources & self._facts:
                yield key, next(part for part, bundle in parts if sources <= {*bundle})
            elif not sources & {*self.declared.form.related_columns}:
                yield key, "p"
