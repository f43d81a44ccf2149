-- UCI Adult, an excerpt: labels of hierarchies, occupations in one spelling
--
-- Run in the directory of the release, for example: duckdb -init sql/duckdb.sql
--
-- The table microdata holds the published rows: labels in the place of quasi-identifiers, all other
-- columns as they are. A label stands for several values, so that a query on labels is not the query
-- on what they stand for: `sfumato query . "SELECT …"` answers that one, with bounds that surely
-- contain the answer over the represented rows.

CREATE OR REPLACE VIEW microdata AS SELECT * FROM READ_PARQUET('data/microdata.parquet');

-- How many rows have each label:
SELECT
  "age",
  COUNT(*)
FROM microdata
GROUP BY
  "age"
ORDER BY
  "age";
