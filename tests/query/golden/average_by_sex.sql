-- query: SELECT sex, AVG("capital-loss") FROM microdata WHERE age BETWEEN 30 AND 40 GROUP BY sex
WITH selected AS (
  SELECT
    microdata."sex",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "age" BETWEEN 30 AND 40
  GROUP BY
    microdata."sex",
    microdata.group_id
)
SELECT
  selected."sex" AS "sex",
  SUM(help_capital_loss.l_sum) / SUM(selected.hits) AS "avg(capital-loss)_lower",
  SUM(help_capital_loss.u_sum) / SUM(selected.hits) AS "avg(capital-loss)_upper"
FROM selected
JOIN help_capital_loss
  USING (group_id, hits)
GROUP BY
  selected."sex"
