-- query: SELECT COUNT(*), COUNT(loss) FROM microdata WHERE sex IS NOT NULL
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    NOT "sex" IS NULL
  GROUP BY
    microdata.group_id
)
SELECT
  COALESCE(SUM(selected.hits), 0) AS "count(*)_lower",
  COALESCE(SUM(selected.hits), 0) AS "count(*)_upper",
  COALESCE(SUM(selected.hits), 0) AS "count(loss)_lower",
  COALESCE(SUM(selected.hits), 0) AS "count(loss)_upper"
FROM selected
