-- query: SELECT MIN(seen) AS first, MAX(seen) AS "the last", SUM(loss) FROM microdata WHERE day >= DATE '2020-01-05'
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "day" >= CAST('2020-01-05' AS DATE)
  GROUP BY
    microdata.group_id
)
SELECT
  MIN(help_seen.l_min) AS "first_lower",
  MIN(help_seen.u_min) AS "first_upper",
  MAX(help_seen.l_max) AS "the last_lower",
  MAX(help_seen.u_max) AS "the last_upper",
  SUM(help_loss.l_sum) AS "sum(loss)_lower",
  SUM(help_loss.u_sum) AS "sum(loss)_upper"
FROM selected
JOIN help_seen
  USING (group_id, hits)
JOIN help_loss
  USING (group_id, hits)
