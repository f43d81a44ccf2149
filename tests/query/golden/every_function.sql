-- query: SELECT COUNT(*) AS n, SUM(loss), AVG(loss), MIN(loss), MAX(loss) FROM microdata WHERE sex IN ('f', 'it''s')
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "sex" IN ('f', 'it''s')
  GROUP BY
    microdata.group_id
)
SELECT
  COALESCE(SUM(selected.hits), 0) AS "n_lower",
  COALESCE(SUM(selected.hits), 0) AS "n_upper",
  SUM(help_loss.l_sum) AS "sum(loss)_lower",
  SUM(help_loss.u_sum) AS "sum(loss)_upper",
  SUM(help_loss.l_sum) / SUM(selected.hits) AS "avg(loss)_lower",
  SUM(help_loss.u_sum) / SUM(selected.hits) AS "avg(loss)_upper",
  MIN(help_loss.l_min) AS "min(loss)_lower",
  MIN(help_loss.u_min) AS "min(loss)_upper",
  MAX(help_loss.l_max) AS "max(loss)_lower",
  MAX(help_loss.u_max) AS "max(loss)_upper"
FROM selected
JOIN help_loss
  USING (group_id, hits)
