-- query: SELECT vip, COUNT(*), MAX(loss), age FROM microdata GROUP BY age, vip
WITH selected AS (
  SELECT
    microdata."age",
    microdata."vip",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  GROUP BY
    microdata."age",
    microdata."vip",
    microdata.group_id
)
SELECT
  selected."vip" AS "vip",
  SUM(selected.hits) AS "count(*)_lower",
  SUM(selected.hits) AS "count(*)_upper",
  MAX(help_loss.l_max) AS "max(loss)_lower",
  MAX(help_loss.u_max) AS "max(loss)_upper",
  selected."age" AS "age"
FROM selected
JOIN help_loss
  USING (group_id, hits)
GROUP BY
  selected."age",
  selected."vip"
