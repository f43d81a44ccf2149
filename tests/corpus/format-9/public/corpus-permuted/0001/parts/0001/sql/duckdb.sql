-- UCI Adult, an excerpt that people join and leave: weights permuted, in parts by sex (part 1 of 3)
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
  SUM(help_fnlwgt.l_sum) / SUM(selected.hits) AS "avg(fnlwgt)_lower",
  SUM(help_fnlwgt.u_sum) / SUM(selected.hits) AS "avg(fnlwgt)_upper"
FROM selected
JOIN help_fnlwgt
  USING (group_id, hits)
GROUP BY
  selected."age";
