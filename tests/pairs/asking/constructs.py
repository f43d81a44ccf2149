"""Constructs of queries, every pair of which is to occur."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

KINDS: Mapping[str, Sequence[str]] = {
    "COUNT(*)": ("COUNT(*)",),
    "COUNT(column)": ("COUNT",),
    "SUM": ("SUM",),
    "AVG": ("AVG",),
    "MIN or MAX": ("MIN", "MAX"),
    "MEDIAN": ("MEDIAN",),
    "QUANTILE": ("QUANTILE_CONT", "QUANTILE_DISC"),
    "STDDEV or VARIANCE": ("STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP"),
    "COUNT(DISTINCT)": ("COUNT DISTINCT",),
}
CONSTANTS: Mapping[str, Any] = {
    "CASE 0": 0,
    "CASE 1": 1,
    "CASE -1": -1,
    "CASE 1/2": Fraction(1, 2),
    "CASE 100": 100,
}
ARGUMENTS = (
    *CONSTANTS,
    "CASE column",
    "row arithmetic",
    "whole weight",
    "fractional weight",
    "nulls exact",
    "nulls sensitive",
    "row COALESCE",
)
FORMULAS = (
    "arithmetic of aggregates",
    "quotient of aggregates",
    "by a sub-query",
    "OVER ()",
    "NULLIF",
    "COALESCE",
    "functions of aggregates",
)
CONDITIONS = ("exact condition", "sensitive condition", "AND of both", "OR of both", "NOT")
CLAUSES = (
    "GROUP BY plain",
    "GROUP BY sensitive",
    "GROUP BY expression",
    "GROUP BY bands",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "CTE",
    "JOIN",
    "DISTINCT",
)
CONSTRUCTS = (*KINDS, *ARGUMENTS, "FILTER", *FORMULAS, *CONDITIONS, *CLAUSES)
