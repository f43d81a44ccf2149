-- UCI Adult, an excerpt that people join and leave: occupations and hours apart
--
-- Run in the directory of the release, for example: duckdb -init sql/duckdb.sql
--
-- The table qit holds the published rows with all columns but the sensitive ones. The sensitive values
-- of the rows with the same group_id, and how often each occurs among them, stand in st.
--
-- A help table holds, for so many hits among the rows of a group, the least and the greatest sum,
-- minimum and maximum that the values of so many of its rows can have. The queries below return bounds
-- that surely contain the answer over the represented rows;
-- `sfumato query . "SELECT … FROM microdata …" --rewrite duckdb` writes others.
--
-- A group keeps the values of people who have left: counts add up to more than its rows, and any of
-- the values may be those of its rows.
--
-- The table lineage has every group once: previous_group_id is the number in the version before of the
-- group that it continues, null where all its people are new; rows are the people who are here, and
-- vacant the values of those who have left.

CREATE OR REPLACE VIEW qit AS SELECT * FROM READ_PARQUET('data/qit.parquet');
CREATE OR REPLACE VIEW st AS SELECT * FROM READ_PARQUET('data/st.parquet');
CREATE OR REPLACE VIEW lineage AS SELECT * FROM READ_PARQUET('data/lineage.parquet');
CREATE OR REPLACE VIEW help_occupation AS SELECT * FROM READ_PARQUET('sql/help_occupation.parquet');
CREATE OR REPLACE VIEW help_hours_per_week AS SELECT * FROM READ_PARQUET('sql/help_hours_per_week.parquet');

-- Bounds for: SELECT COUNT(*), MIN("occupation"), MAX("occupation") FROM microdata
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
  MIN(help_occupation.l_min) AS "min(occupation)_lower",
  MIN(help_occupation.u_min) AS "min(occupation)_upper",
  MAX(help_occupation.l_max) AS "max(occupation)_lower",
  MAX(help_occupation.u_max) AS "max(occupation)_upper"
FROM selected
JOIN help_occupation
  USING (group_id, hits);

-- Bounds for: SELECT "age", COUNT(*), MIN("occupation"), MAX("occupation") FROM microdata GROUP BY "age"
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
  MIN(help_occupation.l_min) AS "min(occupation)_lower",
  MIN(help_occupation.u_min) AS "min(occupation)_upper",
  MAX(help_occupation.l_max) AS "max(occupation)_lower",
  MAX(help_occupation.u_max) AS "max(occupation)_upper"
FROM selected
JOIN help_occupation
  USING (group_id, hits)
GROUP BY
  selected."age";
