"""Fifty more ordinary queries, about occupations and hours beside columns that are exact.

They were written apart from those of `fifty`, by somebody who had read these, and say how much of
what analysts write is answered. Age, education, marital status and sex are published as they are.
"""

HELD_OUT: tuple[str, ...] = (
    # first looks
    "SELECT COUNT(*) AS people FROM microdata",
    "SELECT MIN(age), MAX(age), AVG(age) FROM microdata",
    "SELECT sex, COUNT(*) AS n FROM microdata GROUP BY sex ORDER BY n DESC",
    "SELECT DISTINCT education FROM microdata ORDER BY education",
    "SELECT DISTINCT occupation FROM microdata",
    'SELECT AVG("hours-per-week") AS mean, MEDIAN("hours-per-week") AS middle FROM microdata',
    "SELECT STDDEV(\"hours-per-week\") FROM microdata WHERE sex = 'Male'",
    "SELECT * FROM microdata LIMIT 10",
    # tables of counts
    (
        "SELECT education, sex, COUNT(*) FROM microdata GROUP BY education, sex ORDER BY "
        "education, sex"
    ),
    "SELECT occupation, COUNT(*) FROM microdata GROUP BY occupation ORDER BY occupation",
    "SELECT sex, occupation, COUNT(*) AS n FROM microdata GROUP BY sex, occupation",
    (
        "SELECT 10 * FLOOR(age / 10) AS decade, COUNT(*) FROM microdata GROUP BY decade "
        "ORDER BY decade"
    ),
    (
        "SELECT CASE WHEN age < 30 THEN '-29' WHEN age < 50 THEN '30-49' ELSE '50+' END AS "
        'band, COUNT(*), AVG("hours-per-week") FROM microdata GROUP BY band ORDER BY band'
    ),
    (
        "SELECT education, COUNT(*) AS n FROM microdata GROUP BY education HAVING n >= 10 "
        "ORDER BY n DESC"
    ),
    "SELECT education, COUNT(*) AS n FROM microdata GROUP BY education ORDER BY n DESC LIMIT 3",
    "SELECT sex, COUNT(DISTINCT education) FROM microdata GROUP BY sex",
    # conditions
    "SELECT COUNT(*) FROM microdata WHERE occupation IN ('Sales', 'Tech-support') AND age < 40",
    "SELECT COUNT(*) FROM microdata WHERE education LIKE '%th%' OR education = 'Preschool'",
    "SELECT COUNT(*) FROM microdata WHERE occupation = 'Sales' OR sex = 'Female'",
    "SELECT AVG(\"hours-per-week\") FROM microdata WHERE age BETWEEN 25 AND 34 AND sex <> 'Male'",
    'SELECT COUNT(*) FROM microdata WHERE "hours-per-week" NOT BETWEEN 35 AND 45',
    (
        "SELECT COUNT(*) FROM microdata WHERE \"marital-status\" ILIKE 'married%' AND "
        "occupation IS NOT NULL"
    ),
    "SELECT COUNT(*) FROM microdata WHERE NOT (sex = 'Male' AND \"hours-per-week\" > 40)",
    (
        'SELECT AVG("hours-per-week") FROM microdata WHERE occupation = (SELECT '
        "MAX(occupation) FROM microdata)"
    ),
    # shares
    (
        'SELECT 100.0 * COUNT(*) FILTER (WHERE "hours-per-week" > 40) / COUNT(*) AS overtime '
        "FROM microdata"
    ),
    "SELECT AVG(CASE WHEN occupation = 'Sales' THEN 1.0 ELSE 0 END) AS share FROM microdata",
    "SELECT sex, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent FROM microdata GROUP BY sex",
    (
        'SELECT sex, SUM("hours-per-week") / SUM(SUM("hours-per-week")) OVER () AS part FROM '
        "microdata GROUP BY sex"
    ),
    (
        "SELECT occupation, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM microdata), 1) AS "
        "percent FROM microdata GROUP BY occupation ORDER BY occupation"
    ),
    "SELECT COUNT(CASE WHEN age >= 65 THEN 1 END) * 1.0 / COUNT(*) FROM microdata",
    # arithmetic
    (
        'SELECT sex, MAX("hours-per-week") - MIN("hours-per-week") AS span FROM microdata '
        "GROUP BY sex"
    ),
    'SELECT SUM("hours-per-week" * 52) / COUNT(*) AS yearly FROM microdata',
    'SELECT FLOOR(AVG("hours-per-week")), CEIL(AVG("hours-per-week")) FROM microdata',
    'SELECT CAST(AVG("hours-per-week") AS INTEGER) AS hours FROM microdata GROUP BY sex',
    'SELECT SUM("hours-per-week" - 40) AS over FROM microdata WHERE age > 30',
    'SELECT SUM("hours-per-week" - age) FROM microdata',
    (
        "SELECT AVG(\"hours-per-week\") FILTER (WHERE sex = 'Male') / "
        "AVG(\"hours-per-week\") FILTER (WHERE sex = 'Female') AS ratio FROM microdata"
    ),
    'SELECT SQRT(VAR_POP("hours-per-week")) FROM microdata',
    'SELECT CORR(age, "hours-per-week") FROM microdata',
    # quantiles
    "SELECT QUANTILE_CONT(\"hours-per-week\", 0.9) FROM microdata WHERE sex = 'Female'",
    (
        'SELECT education, MEDIAN("hours-per-week") FROM microdata GROUP BY education ORDER '
        "BY education"
    ),
    "SELECT MODE(occupation) FROM microdata",
    # steps
    (
        "WITH adults AS (SELECT * FROM microdata WHERE age >= 21) SELECT sex, "
        'AVG("hours-per-week") FROM adults GROUP BY sex'
    ),
    (
        "WITH by_education AS (SELECT education, COUNT(*) AS n FROM microdata GROUP BY "
        "education) SELECT * FROM by_education WHERE n > 5 ORDER BY education"
    ),
    (
        'SELECT education, hours FROM (SELECT education, AVG("hours-per-week") AS hours FROM '
        "microdata GROUP BY education) t ORDER BY education"
    ),
    "SELECT AVG(n) FROM (SELECT education, COUNT(*) AS n FROM microdata GROUP BY education) t",
    "SELECT sex, COUNT(*) FROM microdata GROUP BY ROLLUP (sex)",
    (
        "SELECT 'men' AS who, COUNT(*) FROM microdata WHERE sex = 'Male' UNION ALL SELECT "
        "'women', COUNT(*) FROM microdata WHERE sex = 'Female'"
    ),
    (
        'SELECT occupation, RANK() OVER (ORDER BY AVG("hours-per-week") DESC) FROM microdata '
        "GROUP BY occupation"
    ),
    (
        'SELECT education, AVG("hours-per-week") AS h FROM microdata WHERE occupation = '
        "'Sales' GROUP BY education HAVING COUNT(*) > 3 AND AVG(age) > 30"
    ),
)

REFUSED: dict[int, str] = {
    7: "rows are in the published tables",
    23: "SUBQUERY among values",
    38: "function CORR",
    41: "function MODE",
}
"""By their places the queries that have no answer, and words of the reason."""
