-- UCI Adult, an excerpt that people join and leave: presence hidden
--
-- Run in the directory of the release, for example: duckdb -init sql/duckdb.sql
--
-- The tables at_… hold the values of a quasi-identifier that each group admits, once each; the
-- sensitive values of each group, and how often each occurs in it, stand in st.
--
-- A help table holds the same values, with how often each is expected to occur in its group. The
-- queries below return bounds that surely contain the count over the represented rows, and an estimate
-- without a guarantee; `sfumato query . "SELECT COUNT(*) … FROM microdata …" --rewrite duckdb` writes
-- others.
--
-- A group goes on to show and to count the values of people who have left, and admits what its people
-- had when they came; a help table counts them, too. Bounds and estimates are of people who are here:
-- any of a group may be those who have left.
--
-- The table lineage has every group once: previous_group_id is the number in the version before of the
-- group that it continues, null where all its people are new; rows are the people who are here, and
-- vacant the values of those who have left.

CREATE OR REPLACE VIEW at_age AS SELECT * FROM READ_PARQUET('data/at_age.parquet');
CREATE OR REPLACE VIEW at_education AS SELECT * FROM READ_PARQUET('data/at_education.parquet');
CREATE OR REPLACE VIEW at_marital_status AS SELECT * FROM READ_PARQUET('data/at_marital_status.parquet');
CREATE OR REPLACE VIEW at_sex AS SELECT * FROM READ_PARQUET('data/at_sex.parquet');
CREATE OR REPLACE VIEW st AS SELECT * FROM READ_PARQUET('data/st.parquet');
CREATE OR REPLACE VIEW lineage AS SELECT * FROM READ_PARQUET('data/lineage.parquet');
CREATE OR REPLACE VIEW help_age AS SELECT * FROM READ_PARQUET('sql/help_age.parquet');
CREATE OR REPLACE VIEW help_education AS SELECT * FROM READ_PARQUET('sql/help_education.parquet');
CREATE OR REPLACE VIEW help_marital_status AS SELECT * FROM READ_PARQUET('sql/help_marital_status.parquet');
CREATE OR REPLACE VIEW help_sex AS SELECT * FROM READ_PARQUET('sql/help_sex.parquet');

-- Bounds for: SELECT COUNT(*) FROM microdata
SELECT
  l0 AS "count(*)_lower",
  u0 AS "count(*)_upper",
  e0 AS "count(*)_estimate"
FROM (
  WITH sizes AS (
    SELECT
      group_id,
      "rows" + "vacant" AS size,
      "rows" AS live,
      "vacant" AS vacancies
    FROM lineage
  ), ranged AS (
    SELECT
      size - vacancies AS low,
      live AS high,
      CAST(live AS DOUBLE) AS expected
    FROM sizes
  ), counted AS (
    SELECT
      least,
      most,
      CASE WHEN expected < least THEN least WHEN expected > most THEN most ELSE expected END AS expected
    FROM (
      SELECT
        COALESCE(SUM(CASE WHEN low > 0 THEN low ELSE 0 END), 0) AS least,
        COALESCE(SUM(high), 0) AS most,
        COALESCE(SUM(expected), 0) AS expected
      FROM ranged
    ) AS summed
  )
  SELECT
    least AS l0,
    most AS u0,
    expected AS e0
  FROM counted
) AS answer;

-- Bounds for: SELECT "age", COUNT(*) FROM microdata GROUP BY "age"
SELECT
  k0 AS "age",
  l0 AS "count(*)_lower",
  u0 AS "count(*)_upper",
  e0 AS "count(*)_estimate"
FROM (
  WITH sizes AS (
    SELECT
      group_id,
      "rows" + "vacant" AS size,
      "rows" AS live,
      "vacant" AS vacancies
    FROM lineage
  ), admitted_k0 AS (
    SELECT
      group_id,
      COUNT(*) AS m
    FROM help_age
    GROUP BY
      group_id
  ), meant_k0 AS (
    SELECT
      group_id,
      "age" AS k0,
      1 AS l,
      occurrences AS n
    FROM help_age
  ), ranged AS (
    SELECT
      meant_k0.k0,
      CASE WHEN meant_k0.l = admitted_k0.m THEN size ELSE meant_k0.l END - vacancies AS low,
      LEAST(size - admitted_k0.m + meant_k0.l, live) AS high,
      CAST(live AS DOUBLE) * meant_k0.n / size AS expected
    FROM sizes
    JOIN meant_k0
      ON meant_k0.group_id = sizes.group_id
    JOIN admitted_k0
      ON admitted_k0.group_id = sizes.group_id
  ), counted AS (
    SELECT
      k0,
      least,
      most,
      CASE WHEN expected < least THEN least WHEN expected > most THEN most ELSE expected END AS expected
    FROM (
      SELECT
        k0,
        COALESCE(SUM(CASE WHEN low > 0 THEN low ELSE 0 END), 0) AS least,
        COALESCE(SUM(high), 0) AS most,
        COALESCE(SUM(expected), 0) AS expected
      FROM ranged
      GROUP BY
        k0
    ) AS summed
  )
  SELECT
    k0,
    least AS l0,
    most AS u0,
    expected AS e0
  FROM counted
) AS answer;
