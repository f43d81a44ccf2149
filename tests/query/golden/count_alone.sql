-- query: SELECT COUNT(*) AS n FROM microdata WHERE vip
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "vip"
  GROUP BY
    microdata.group_id
)
SELECT
  COALESCE(SUM(selected.hits), 0) AS "n_lower",
  COALESCE(SUM(selected.hits), 0) AS "n_upper"
FROM selected;
