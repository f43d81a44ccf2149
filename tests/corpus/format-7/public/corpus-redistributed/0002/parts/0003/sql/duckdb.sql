-- UCI Adult, an excerpt: distributions over the values of all parts (part 3 of 5)
--
-- Run in the directory of the release, for example: duckdb -init sql/duckdb.sql
--
-- The table qit holds the published rows with all columns but the sensitive one. The values of the
-- rows with the same group_id lie in the subdomains of the group, from lower to upper, that stand in
-- st with how often each occurs; if there are more subdomains than rows, nobody can tell which are
-- fakes. The values are spread as the target of the group says, which stands in aims and targets.
--
-- A help table holds, for so many hits among the rows of a group, the least and the greatest sum,
-- minimum and maximum that the values of so many of its rows can have. The queries below return bounds
-- that surely contain the answer over the represented rows;
-- `sfumato query . "SELECT … FROM microdata …" --rewrite duckdb` writes others.

CREATE OR REPLACE VIEW qit AS SELECT * FROM READ_PARQUET('data/qit.parquet');
CREATE OR REPLACE VIEW st AS SELECT * FROM READ_PARQUET('data/st.parquet');
CREATE OR REPLACE VIEW aims AS SELECT * FROM READ_PARQUET('data/aims.parquet');
CREATE OR REPLACE VIEW targets AS SELECT * FROM READ_PARQUET('data/targets.parquet');
CREATE OR REPLACE VIEW help_fnlwgt AS SELECT * FROM READ_PARQUET('sql/help_fnlwgt.parquet');

-- Bounds for: SELECT COUNT(*), AVG("fnlwgt") FROM microdata
WITH selected AS (
  SELECT
    qit.group_id,
    COUNT(*) AS hits
  FROM qit
  GROUP BY
    qit.group_id
)
SELECT
  COALESCE(SUM(selected.hits), 0) AS "count(*)_lower",
  COALESCE(SUM(selected.hits), 0) AS "count(*)_upper",
  SUM(help_fnlwgt.l_sum) / SUM(selected.hits) AS "avg(fnlwgt)_lower",
  SUM(help_fnlwgt.u_sum) / SUM(selected.hits) AS "avg(fnlwgt)_upper"
FROM selected
JOIN help_fnlwgt
  USING (group_id, hits);

-- Bounds for: SELECT "age", COUNT(*), AVG("fnlwgt") FROM microdata GROUP BY "age"
WITH selected AS (
  SELECT
    qit."age",
    qit.group_id,
    COUNT(*) AS hits
  FROM qit
  GROUP BY
    qit."age",
    qit.group_id
)
SELECT
  selected."age" AS "age",
  SUM(selected.hits) AS "count(*)_lower",
  SUM(selected.hits) AS "count(*)_upper",
  SUM(help_fnlwgt.l_sum) / SUM(selected.hits) AS "avg(fnlwgt)_lower",
  SUM(help_fnlwgt.u_sum) / SUM(selected.hits) AS "avg(fnlwgt)_upper"
FROM selected
JOIN help_fnlwgt
  USING (group_id, hits)
GROUP BY
  selected."age";
