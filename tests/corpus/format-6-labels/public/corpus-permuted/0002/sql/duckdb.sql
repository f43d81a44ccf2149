-- UCI Adult, an excerpt: what codes mean, of a whole list and of published codes
--
-- Run in the directory of the release, for example: duckdb -init sql/duckdb.sql
--
-- The table microdata holds the published rows: all columns as they are, except that the values of
-- sensitive columns are shuffled among the rows with the same group_id.
--
-- A help table holds, for so many hits among the rows of a group, the least and the greatest sum,
-- minimum and maximum that the values of so many of its rows can have. The queries below return bounds
-- that surely contain the answer over the represented rows;
-- `sfumato query . "SELECT … FROM microdata …" --rewrite duckdb` writes others.

CREATE OR REPLACE VIEW microdata AS SELECT * FROM READ_PARQUET('data/microdata.parquet');
CREATE OR REPLACE VIEW help_hours_per_week AS SELECT * FROM READ_PARQUET('sql/help_hours_per_week.parquet');

-- Bounds for: SELECT COUNT(*), AVG("hours-per-week") FROM microdata
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  GROUP BY
    microdata.group_id
)
SELECT
  COALESCE(SUM(selected.hits), 0) AS "count(*)_lower",
  COALESCE(SUM(selected.hits), 0) AS "count(*)_upper",
  SUM(help_hours_per_week.l_sum) / SUM(selected.hits) AS "avg(hours-per-week)_lower",
  SUM(help_hours_per_week.u_sum) / SUM(selected.hits) AS "avg(hours-per-week)_upper"
FROM selected
JOIN help_hours_per_week
  USING (group_id, hits);

-- Bounds for: SELECT "age", COUNT(*), AVG("hours-per-week") FROM microdata GROUP BY "age"
WITH selected AS (
  SELECT
    microdata."age",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  GROUP BY
    microdata."age",
    microdata.group_id
)
SELECT
  selected."age" AS "age",
  SUM(selected.hits) AS "count(*)_lower",
  SUM(selected.hits) AS "count(*)_upper",
  SUM(help_hours_per_week.l_sum) / SUM(selected.hits) AS "avg(hours-per-week)_lower",
  SUM(help_hours_per_week.u_sum) / SUM(selected.hits) AS "avg(hours-per-week)_upper"
FROM selected
JOIN help_hours_per_week
  USING (group_id, hits)
GROUP BY
  selected."age";
