-- query: SELECT COUNT(*), SUM(loss), AVG(loss), MIN(loss) FROM microdata WHERE age > 99
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "age" > 99
  GROUP BY
    microdata.group_id
)
SELECT
  COALESCE(SUM(selected.hits), 0) AS "count(*)_lower",
  COALESCE(SUM(selected.hits), 0) AS "count(*)_upper",
  SUM(help_loss.l_sum) AS "sum(loss)_lower",
  SUM(help_loss.u_sum) AS "sum(loss)_upper",
  SUM(help_loss.l_sum) / SUM(selected.hits) AS "avg(loss)_lower",
  SUM(help_loss.u_sum) / SUM(selected.hits) AS "avg(loss)_upper",
  MIN(help_loss.l_min) AS "min(loss)_lower",
  MIN(help_loss.u_min) AS "min(loss)_upper"
FROM selected
JOIN help_loss
  USING (group_id, hits)
