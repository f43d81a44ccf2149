-- UCI Adult, an excerpt: weights, and a promise about their sums
--
-- Run in the directory of the release, for example: duckdb -init sql/duckdb.sql
--
-- The table microdata holds the published rows: labels in the place of quasi-identifiers, all other
-- columns as they are. A label stands for several values, so that a query on labels is not the query
-- on what they stand for: `sfumato query . "SELECT …"` answers that one, with bounds that surely
-- contain the answer over the represented rows.
--
-- The tables label_… tell what each label admits: a row for each value, or the least and the greatest
-- one, low and high; without either it can be anything. A code in the place of a label may have some
-- of its characters hidden: kept of its length are told. admits_null tells whether a null may be
-- behind the label. The tables value_… have every value that labels of a column admit, if there are
-- not too many. `sfumato query . "SELECT … FROM microdata …" --rewrite duckdb` writes queries for
-- bounds over them.

CREATE OR REPLACE VIEW microdata AS SELECT * FROM READ_PARQUET('data/microdata.parquet');
CREATE OR REPLACE VIEW label_age AS SELECT * FROM READ_PARQUET('sql/label_age.parquet');
CREATE OR REPLACE VIEW value_age AS SELECT * FROM READ_PARQUET('sql/value_age.parquet');
CREATE OR REPLACE VIEW label_marital_status AS SELECT * FROM READ_PARQUET('sql/label_marital_status.parquet');
CREATE OR REPLACE VIEW value_marital_status AS SELECT * FROM READ_PARQUET('sql/value_marital_status.parquet');
CREATE OR REPLACE VIEW label_sex AS SELECT * FROM READ_PARQUET('sql/label_sex.parquet');
CREATE OR REPLACE VIEW value_sex AS SELECT * FROM READ_PARQUET('sql/value_sex.parquet');

-- How many rows have each label:
SELECT
  "age",
  COUNT(*)
FROM microdata
GROUP BY
  "age"
ORDER BY
  "age";

-- What each of them admits:
SELECT
  *
FROM label_age;
