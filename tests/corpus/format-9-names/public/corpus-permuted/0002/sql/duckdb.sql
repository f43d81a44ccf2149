-- UCI Adult, an excerpt that people join and leave: weights permuted
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
--
-- A group keeps the values of people who have left. The table vacant holds those that fell to nobody,
-- drawn at random among all of the group's: any of both tables' values may be those of its rows.
--
-- The table lineage has every group once: previous_group_id is the number in the version before of the
-- group that it continues, null where all its people are new; rows are the people who are here, and
-- vacant the values of those who have left.

CREATE OR REPLACE VIEW microdata AS SELECT * FROM READ_PARQUET('data/microdata.parquet');
CREATE OR REPLACE VIEW vacant AS SELECT * FROM READ_PARQUET('data/vacant.parquet');
CREATE OR REPLACE VIEW lineage AS SELECT * FROM READ_PARQUET('data/lineage.parquet');
CREATE OR REPLACE VIEW help_fnlwgt AS SELECT * FROM READ_PARQUET('sql/help_fnlwgt.parquet');

-- Bounds for: SELECT COUNT(*), AVG("fnlwgt") FROM microdata
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  GROUP BY
    microdata.group_id
)
SELECT
  summed.part_0 AS "count(*)_lower",
  summed.part_0 AS "count(*)_upper",
  (
    CAST(CAST(CAST(summed.part_1 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_1 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) - ABS(
    CAST(CAST(CAST(summed.part_1 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_1 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_1 AS INT128) % summed.part_2
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_1) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(fnlwgt)_lower",
  (
    CAST(CAST(CAST(summed.part_3 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_3 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) + ABS(
    CAST(CAST(CAST(summed.part_3 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_3 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_3 AS INT128) % summed.part_2
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_3) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(fnlwgt)_upper"
FROM (
  SELECT
    COALESCE(SUM(selected.hits), 0) AS part_0,
    SUM(help_fnlwgt.l_sum) AS part_1,
    SUM(selected.hits) AS part_2,
    SUM(help_fnlwgt.u_sum) AS part_3
  FROM selected
  JOIN help_fnlwgt
    USING (group_id, hits)
) AS summed;

-- Bounds for: SELECT "age", COUNT(*), AVG("fnlwgt") FROM microdata GROUP BY "age"
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
  summed.part_0 AS "age",
  summed.part_1 AS "count(*)_lower",
  summed.part_1 AS "count(*)_upper",
  (
    CAST(CAST(CAST(summed.part_2 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_2 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) - ABS(
    CAST(CAST(CAST(summed.part_2 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_2 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_2 AS INT128) % summed.part_1
    ) * 1048576 % summed.part_1 = 0
    AND ABS(summed.part_2) <= 4294967296 * summed.part_1
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(fnlwgt)_lower",
  (
    CAST(CAST(CAST(summed.part_3 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_3 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) + ABS(
    CAST(CAST(CAST(summed.part_3 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_3 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_3 AS INT128) % summed.part_1
    ) * 1048576 % summed.part_1 = 0
    AND ABS(summed.part_3) <= 4294967296 * summed.part_1
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(fnlwgt)_upper"
FROM (
  SELECT
    selected."age" AS part_0,
    SUM(selected.hits) AS part_1,
    SUM(help_fnlwgt.l_sum) AS part_2,
    SUM(help_fnlwgt.u_sum) AS part_3
  FROM selected
  JOIN help_fnlwgt
    USING (group_id, hits)
  GROUP BY
    selected."age"
) AS summed;
