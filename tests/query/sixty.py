"""Sixty questions of an analyst's first day with a table of people.

They were written by somebody who had not read the language of queries, and are kept as they
were written: change the columns of a form, never a question. All forms of the corpus release age,
education and sex; other columns are placeholders.
"""

SIXTY = (
    # First looks
    "SELECT * FROM microdata LIMIT 10",
    "SELECT COUNT(*) FROM microdata",
    "SELECT COUNT(*) AS people, COUNT(DISTINCT education) AS educations,"
    " COUNT(DISTINCT {text}) AS texts FROM microdata",
    "SELECT DISTINCT {work} FROM microdata ORDER BY {work}",
    "SELECT MIN(age), MAX(age), AVG(age) FROM microdata",
    "SELECT MIN({number}), MAX({number}), AVG({number}), MEDIAN({number}) FROM microdata",
    "SELECT SUM(CASE WHEN {text} IS NULL OR {text} = '?' THEN 1 ELSE 0 END) AS missing"
    " FROM microdata",
    "SELECT STDDEV(age) AS deviation FROM microdata",
    "SELECT MEDIAN(age) FROM microdata",
    # Counts by group
    "SELECT sex, COUNT(*) AS n FROM microdata GROUP BY sex",
    "SELECT education, COUNT(*) AS n FROM microdata GROUP BY education ORDER BY n DESC",
    "SELECT {text}, COUNT(*) FROM microdata GROUP BY {text} ORDER BY COUNT(*) DESC LIMIT 5",
    "SELECT {work}, sex, COUNT(*) FROM microdata GROUP BY {work}, sex ORDER BY {work}, sex",
    "SELECT age, COUNT(*) FROM microdata GROUP BY age ORDER BY age",
    "SELECT {marital}, COUNT(*) AS n FROM microdata WHERE age < 30 GROUP BY 1 ORDER BY 2 DESC",
    "SELECT sex, {marital}, COUNT(*) FROM microdata GROUP BY ROLLUP (sex, {marital})",
    "SELECT COUNT(*) FROM microdata WHERE sex = 'Female' AND age BETWEEN 25 AND 34",
    # Shares
    "SELECT 100.0 * COUNT(*) FILTER (WHERE sex = 'Female') / COUNT(*) AS women FROM microdata",
    "SELECT AVG(CASE WHEN education = 'Bachelors' THEN 1.0 ELSE 0 END) AS bachelors FROM microdata",
    "SELECT {work}, AVG(CASE WHEN sex = 'Female' THEN 1.0 ELSE 0.0 END) AS women"
    " FROM microdata GROUP BY {work} ORDER BY women DESC",
    "SELECT education, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent FROM microdata"
    " GROUP BY education ORDER BY percent DESC",
    "SELECT education, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM microdata), 1) AS percent"
    " FROM microdata GROUP BY education",
    "SELECT sex, {text}, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY sex) AS share"
    " FROM microdata GROUP BY sex, {text}",
    "SELECT SUM(CASE WHEN {number} > {middle} THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS long"
    " FROM microdata",
    # Conditions
    "SELECT COUNT(*) FROM microdata WHERE {text} = '{value}' AND sex = 'Female'",
    "SELECT COUNT(*) FROM microdata WHERE education IN ('Bachelors', 'Masters', 'Doctorate')",
    "SELECT COUNT(*) FROM microdata WHERE {text} LIKE '%{part}%'",
    "SELECT sex, COUNT(*) FROM microdata WHERE {work} ILIKE '%{work_part}%' GROUP BY sex",
    "SELECT COUNT(*) FROM microdata WHERE NOT ({marital} = '{marital_value}') AND age >= 18",
    "SELECT COUNT(*) FROM microdata WHERE {number} >= {high} AND (age < 25 OR age > 60)",
    "SELECT COUNT(*) FROM microdata"
    " WHERE education <> 'HS-grad' AND {text} IN ('{value}', '{other}')",
    # Bands
    "SELECT CASE WHEN age < 30 THEN 'under 30' WHEN age < 50 THEN '30-49' ELSE '50+' END AS band,"
    " COUNT(*) AS n FROM microdata GROUP BY band ORDER BY band",
    "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM microdata"
    " GROUP BY decade ORDER BY decade",
    "SELECT CASE WHEN {number} < {low} THEN 'low' WHEN {number} <= {middle} THEN 'usual'"
    " ELSE 'high' END AS band, COUNT(*), AVG(age) FROM microdata GROUP BY 1",
    "SELECT age // 5 * 5 AS band, AVG({number}) FROM microdata GROUP BY band ORDER BY band",
    "SELECT CASE WHEN education IN ('Bachelors', 'Masters', 'Doctorate') THEN 'degree'"
    " ELSE 'no degree' END AS degree, sex, COUNT(*) FROM microdata GROUP BY degree, sex",
    # Means, medians, quantiles
    "SELECT sex, AVG({number}) FROM microdata GROUP BY sex",
    "SELECT education, AVG(age), AVG({number}), COUNT(*) FROM microdata"
    " GROUP BY education ORDER BY 3 DESC",
    "SELECT MEDIAN({number}) FROM microdata WHERE sex = 'Female'",
    "SELECT {text}, MEDIAN(age) FROM microdata GROUP BY {text}",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {number}) AS p90 FROM microdata",
    "SELECT sex, QUANTILE_CONT(age, 0.25) AS q1, QUANTILE_CONT(age, 0.75) AS q3 FROM microdata"
    " GROUP BY sex",
    "SELECT SUM({number}) FROM microdata WHERE {work} = '{work_value}'",
    "SELECT {text}, AVG({number}) AS mean, STDDEV({number}) AS deviation FROM microdata"
    " GROUP BY {text}",
    "SELECT MODE(education) FROM microdata",
    "SELECT CORR(age, {number}) FROM microdata",
    # Differences and ratios
    "SELECT AVG({number}) FILTER (WHERE sex = 'Male')"
    " - AVG({number}) FILTER (WHERE sex = 'Female') AS gap FROM microdata",
    "SELECT education, COUNT(*) FILTER (WHERE sex = 'Female') * 1.0"
    " / NULLIF(COUNT(*) FILTER (WHERE sex = 'Male'), 0) AS ratio FROM microdata"
    " GROUP BY education",
    "SELECT SUM({number}) / COUNT(*) AS mean FROM microdata WHERE {text} = '{value}'",
    # HAVING
    "SELECT {text}, COUNT(*) AS n FROM microdata GROUP BY {text} HAVING COUNT(*) > 20"
    " ORDER BY n DESC",
    "SELECT education, AVG({number}) AS mean FROM microdata GROUP BY education"
    " HAVING COUNT(*) >= 20 AND AVG({number}) > {middle}",
    # CTEs and subqueries
    "WITH young AS (SELECT * FROM microdata WHERE age < 30)"
    " SELECT sex, COUNT(*) FROM young GROUP BY sex",
    "WITH groups AS (SELECT {text}, AVG({number}) AS mean, COUNT(*) AS n FROM microdata"
    " GROUP BY {text}) SELECT {text}, mean FROM groups WHERE n > 20 ORDER BY mean DESC",
    "SELECT COUNT(*) FROM microdata WHERE {number} > (SELECT AVG({number}) FROM microdata)",
    "SELECT COUNT(*) FROM (SELECT education, {text} FROM microdata GROUP BY 1, 2"
    " HAVING COUNT(*) > 5) AS common",
    "SELECT AVG(n) FROM (SELECT {text}, COUNT(*) AS n FROM microdata GROUP BY {text}) AS sizes",
    # Top-n, UNION, windows
    "SELECT education, MAX({number}) AS most FROM microdata GROUP BY education"
    " ORDER BY most DESC LIMIT 3",
    "SELECT 'women' AS who, COUNT(*) AS n, AVG(age) AS mean FROM microdata WHERE sex = 'Female'"
    " UNION ALL SELECT 'men', COUNT(*), AVG(age) FROM microdata WHERE sex = 'Male'",
    "SELECT education, n, RANK() OVER (ORDER BY n DESC) AS place FROM"
    " (SELECT education, COUNT(*) AS n FROM microdata GROUP BY education) AS counted",
    "SELECT age, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY age) AS running FROM microdata"
    " GROUP BY age ORDER BY age",
)
