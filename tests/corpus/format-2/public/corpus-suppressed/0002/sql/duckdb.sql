-- UCI Adult, an excerpt that people join and leave: cells suppressed
--
-- Run in the directory of the release, for example: duckdb -init sql/duckdb.sql
--
-- The table microdata holds the published rows: labels in the place of quasi-identifiers, all other
-- columns as they are. A label stands for several values, so that a query on labels is not the query
-- on what they stand for: `sfumato query . "SELECT …"` answers that one, with bounds that surely
-- contain the answer over the represented rows.
--
-- The rows of people who have left are still there, and nothing tells them from the others of the same
-- group_id.
--
-- The table lineage has every group once: previous_group_id is the number in the version before of the
-- group that it continues, null where all its people are new; rows are the people who are here, and
-- vacant the values of those who have left.

CREATE OR REPLACE VIEW microdata AS SELECT * FROM READ_PARQUET('data/microdata.parquet');
CREATE OR REPLACE VIEW lineage AS SELECT * FROM READ_PARQUET('data/lineage.parquet');

-- How many rows have each label:
SELECT
  "workclass",
  COUNT(*)
FROM microdata
GROUP BY
  "workclass"
ORDER BY
  "workclass";
