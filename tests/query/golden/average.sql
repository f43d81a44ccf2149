-- query: SELECT AVG(loss) FROM microdata
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  GROUP BY
    microdata.group_id
)
SELECT
  SUM(help_loss.l_sum) / SUM(selected.hits) AS "avg(loss)_lower",
  SUM(help_loss.u_sum) / SUM(selected.hits) AS "avg(loss)_upper"
FROM selected
JOIN help_loss
  USING (group_id, hits)
