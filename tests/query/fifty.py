"""Some fifty queries as analysts ordinarily write them, at least two for each construct.

Each by its number of group columns, which come first in the answer.
"""

ANSWERED: tuple[tuple[int, str], ...] = (
    # aliases of tables and columns
    (0, "SELECT SUM(m.loss) FROM microdata m"),
    (1, "SELECT m.sex AS s, AVG(m.loss) AS mean FROM microdata AS m GROUP BY m.sex"),
    (1, "SELECT sex s, COUNT(*) n FROM microdata GROUP BY s HAVING n > 1"),
    # positions, expressions, ALL
    (1, "SELECT sex, COUNT(1) FROM microdata GROUP BY 1 ORDER BY 1"),
    (2, "SELECT age, sex, MAX(loss) FROM microdata GROUP BY ALL ORDER BY age DESC, sex"),
    (1, "SELECT age // 2 AS band, AVG(loss) FROM microdata GROUP BY band ORDER BY band"),
    (1, "SELECT COALESCE(sex, '?'), COUNT(*) FROM microdata GROUP BY COALESCE(sex, '?')"),
    (
        1,
        "SELECT CASE WHEN age < 1 THEN 'young' ELSE 'old' END b, SUM(loss) FROM "
        "microdata GROUP BY 1",
    ),
    # CTEs and subqueries
    (0, "WITH w AS (SELECT * FROM microdata WHERE sex = 'f') SELECT AVG(loss) FROM w"),
    (
        1,
        "WITH a AS (SELECT age + 1 AS y, loss FROM microdata), "
        "b AS (SELECT y, loss * 2 AS l FROM a) "
        "SELECT y, SUM(l) FROM b WHERE y > 1 GROUP BY y",
    ),
    (
        1,
        "SELECT t.b, COUNT(*) FROM (SELECT age > 0 AS b, loss FROM microdata) t WHERE "
        "loss > 0 GROUP BY t.b",
    ),
    (0, "SELECT COUNT(*) FROM (SELECT loss AS x FROM microdata WHERE age > 0) WHERE x <= 0"),
    (0, "SELECT AVG(n), MAX(n) FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY age)"),
    (0, "SELECT COUNT(*) FROM (SELECT loss, sex FROM microdata GROUP BY 1, 2) AS pairs"),
    # COUNT of other things
    (0, "SELECT COUNT(1), COUNT(sex), COUNT(loss) FROM microdata WHERE age >= 1"),
    (0, "SELECT COUNT(DISTINCT age), COUNT(DISTINCT sex) FROM microdata WHERE age < 2"),
    (1, "SELECT sex, COUNT(DISTINCT age) FROM microdata GROUP BY sex"),
    # and of sensitive values
    (0, "SELECT COUNT(DISTINCT loss) FROM microdata"),
    (0, "SELECT COUNT(DISTINCT loss), COUNT(DISTINCT loss > 0) FROM microdata WHERE age = 1"),
    (1, "SELECT sex, COUNT(DISTINCT loss) FILTER (WHERE loss > 0) FROM microdata GROUP BY sex"),
    # several groupings at once, and one query after another
    (1, "SELECT age, COUNT(*), SUM(loss) FROM microdata GROUP BY ROLLUP (age) ORDER BY 1"),
    (2, "SELECT age, age > 0, COUNT(*) FROM microdata WHERE loss > 0 GROUP BY CUBE (1, 2)"),
    (1, "SELECT age AS a, MAX(loss) FROM microdata GROUP BY GROUPING SETS (a, ())"),
    (
        1,
        "SELECT 'women' AS who, AVG(loss) AS mean FROM microdata WHERE sex = 'f' UNION ALL "
        "SELECT 'men', AVG(loss) FROM microdata WHERE sex = 'm' ORDER BY who",
    ),
    (
        2,
        "WITH w AS (SELECT * FROM microdata WHERE age > 0) SELECT 1, sex, COUNT(*) FROM w GROUP "
        "BY sex UNION ALL (SELECT 2, sex, COUNT(*) FROM w WHERE loss > 0 GROUP BY sex)",
    ),
    # FILTER and CASE
    (0, "SELECT COUNT(*) FILTER (WHERE loss > 0), COUNT(*) FROM microdata"),
    (1, "SELECT age, SUM(loss) FILTER (WHERE sex = 'f') AS women FROM microdata GROUP BY age"),
    (1, "SELECT age, AVG(loss) FILTER (WHERE loss <> 0) FROM microdata GROUP BY age"),
    (0, "SELECT SUM(CASE WHEN sex = 'f' THEN loss ELSE 0 END) FROM microdata"),
    (
        0,
        "SELECT SUM(CASE WHEN loss > 0 THEN 1 ELSE 0 END), AVG(CASE WHEN loss > 0 THEN 1 "
        "ELSE 0 END) FROM microdata WHERE age = 1",
    ),
    (
        1,
        "SELECT sex, COUNT(CASE WHEN loss > 0 THEN 1 END), COUNT_IF(loss > 0) FROM "
        "microdata GROUP BY sex",
    ),
    (0, "SELECT MAX(CASE WHEN age = 1 THEN loss END), SUM(IF(age = 1, 2, 0)) FROM microdata"),
    # functions of published values
    (0, "SELECT AVG(ABS(loss)) FROM microdata WHERE age < 2"),
    (0, "SELECT SUM(loss * 2 + 1), MIN(-loss) FROM microdata WHERE sex = 'm'"),
    (0, "SELECT SUM(GREATEST(loss, 0)) FROM microdata WHERE age > 0"),
    (0, "SELECT COUNT(*) FROM microdata WHERE UPPER(sex) = 'F' AND ABS(loss) = 1"),
    (0, "SELECT MAX(LEAST(loss, 1)) FROM microdata WHERE LENGTH(sex) = 1 AND loss % 2 = 0"),
    # aggregates of exact columns beside sensitive ones
    (0, "SELECT AVG(age), MIN(age), SUM(loss) FROM microdata"),
    (1, "SELECT sex, SUM(age), MAX(loss) FROM microdata GROUP BY sex"),
    (0, "SELECT AVG(age), SUM(age), MAX(sex) FROM microdata WHERE loss > 0"),
    # arithmetic of aggregates
    (0, "SELECT SUM(loss) / COUNT(*), 1.0 * SUM(loss) / COUNT(*) FROM microdata WHERE age > 0"),
    (
        1,
        "SELECT sex, 100.0 * COUNT(*) FILTER (WHERE loss > 0) / COUNT(*) AS share FROM "
        "microdata GROUP BY sex",
    ),
    (0, "SELECT MAX(loss) - MIN(loss) AS spread FROM microdata WHERE age < 2"),
    (
        0,
        "SELECT AVG(loss) FILTER (WHERE sex = 'f') - AVG(loss) FILTER (WHERE sex = 'm') "
        "AS gap FROM microdata",
    ),
    (
        0,
        "SELECT ROUND(AVG(loss), 1), -SUM(loss), ABS(SUM(loss)), SUM(loss) / 3 FROM "
        "microdata WHERE age = 0",
    ),
    (
        0,
        "SELECT COALESCE(SUM(loss), 0), SUM(loss) / NULLIF(COUNT(*), 0) FROM microdata "
        "WHERE loss > 1",
    ),
    # NOT, OR
    (0, "SELECT COUNT(*) FROM microdata WHERE NOT (age = 1 OR loss > 0)"),
    (0, "SELECT COUNT(*), SUM(loss) FROM microdata WHERE age = 1 OR loss > 0"),
    (1, "SELECT sex, COUNT(*) FROM microdata WHERE sex = 'f' OR loss > 0 GROUP BY sex"),
    (0, "SELECT MIN(loss), MAX(loss), AVG(loss) FROM microdata WHERE age = 0 OR loss < 0"),
    # sensitive values told apart
    (1, "SELECT loss, COUNT(*) FROM microdata WHERE age > 0 GROUP BY loss ORDER BY loss"),
    (
        1,
        "SELECT loss > 0 AS any_loss, COUNT(*), SUM(loss) FROM microdata WHERE sex = 'f' "
        "GROUP BY any_loss",
    ),
    (2, "SELECT age, SIGN(loss), COUNT(*) FROM microdata GROUP BY age, SIGN(loss)"),
    # HAVING
    (1, "SELECT age, COUNT(*) FROM microdata GROUP BY age HAVING age > 0 AND SUM(loss) > 0"),
    (
        1,
        "SELECT sex, AVG(loss) FROM microdata GROUP BY sex HAVING MAX(loss) > MIN(loss) "
        "OR COUNT(*) IN (1, 2)",
    ),
    # weights, and other products with exact columns
    (0, "SELECT SUM(age * loss), SUM(loss * age) / SUM(age) FROM microdata"),
    (1, "SELECT sex, SUM(age * loss) / COUNT(*) FROM microdata GROUP BY sex"),
    (1, "SELECT sex, SUM((age - 1) * loss) AS w FROM microdata WHERE age < 2 GROUP BY sex"),
    # medians and spread
    (0, "SELECT MEDIAN(loss), QUANTILE_CONT(loss, 0.25) FROM microdata WHERE age > 0"),
    (
        1,
        "SELECT age, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY loss) FROM microdata GROUP BY age",
    ),
    (0, "SELECT VARIANCE(loss), STDDEV_POP(loss), VAR_POP(loss) FROM microdata WHERE age < 2"),
)

ORDERED: tuple[tuple[str, str | None], ...] = (
    ("SELECT age, COUNT(*) FROM microdata GROUP BY age ORDER BY age DESC LIMIT 1", None),
    ("SELECT age, AVG(loss) AS a FROM microdata GROUP BY age ORDER BY a", "estimate"),
)
"""Queries, and what their rows are ordered by where that is not exact."""

REFUSED: tuple[tuple[str, str], ...] = (
    ("SELECT * FROM microdata", "rows are in the published tables"),
    ("SELECT age, AVG(loss) FROM microdata GROUP BY age ORDER BY 2 LIMIT 1", "LIMIT"),
    ("SELECT SUM(DISTINCT loss) FROM microdata WHERE age = 1", "its result has no bounds"),
    (
        "SELECT 2 * AVG(n) FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY age)",
        "one question",
    ),
    (
        "SELECT MAX(age + loss) FROM microdata",
        "does not show which of their values belong together",
    ),
    (
        "SELECT SUM(age * loss) FROM microdata WHERE loss > 0",
        "with a condition on sensitive values",
    ),
    ("SELECT SUM(loss) OVER (PARTITION BY age) FROM microdata", "not allowed: a WINDOW function"),
)
"""Queries, and words of the reason why they have no answer."""
