"""A toy dialect: DuckDB by another name and scheme, in which every pattern is written anew."""

from dataclasses import replace

from sqlglot import exp

from sfumato.tasks.sql.dialects.dialect import Spelling
from sfumato.tasks.sql.dialects.registry import DIALECTS

_DUCKDB = DIALECTS["duckdb"]


def _matches(text, pattern, any_case):
    kind = exp.ILike if any_case else exp.Like
    return kind(this=text, expression=exp.Literal.string(pattern))


POND = replace(
    _DUCKDB,
    name="pond",
    title="Pond",
    spelling=Spelling(matches=_matches),
    access=replace(_DUCKDB.access, scheme="pond"),
)
