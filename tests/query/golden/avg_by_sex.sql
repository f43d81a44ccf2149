-- query: SELECT sex, AVG(loss) FROM microdata GROUP BY sex
WITH selected AS (
  SELECT
    microdata."sex",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  GROUP BY
    microdata."sex",
    microdata.group_id
)
SELECT
  selected."sex" AS "sex",
  SUM(help_loss.l_sum) / SUM(selected.hits) AS "avg(loss)_lower",
  SUM(help_loss.u_sum) / SUM(selected.hits) AS "avg(loss)_upper"
FROM selected
JOIN help_loss
  USING (group_id, hits)
GROUP BY
  selected."sex";
