-- query: SELECT MIN(seen) AS first, MAX(seen) AS last FROM microdata WHERE day >= DATE '2019-04-15'
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "day" >= CAST('2019-04-15' AS DATE)
  GROUP BY
    microdata.group_id
)
SELECT
  MIN(help_seen.l_min) AS "first_lower",
  MIN(help_seen.u_min) AS "first_upper",
  MAX(help_seen.l_max) AS "last_lower",
  MAX(help_seen.u_max) AS "last_upper"
FROM selected
JOIN help_seen
  USING (group_id, hits)
