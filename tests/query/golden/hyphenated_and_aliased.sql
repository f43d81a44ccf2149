-- query: SELECT Sex AS "who?", SUM("capital-loss") AS total FROM Microdata WHERE AGE BETWEEN 21 AND 23 GROUP BY SEX
WITH selected AS (
  SELECT
    microdata."sex",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "age" BETWEEN 21 AND 23
  GROUP BY
    microdata."sex",
    microdata.group_id
)
SELECT
  selected."sex" AS "who?",
  SUM(help_capital_loss.l_sum) AS "total_lower",
  SUM(help_capital_loss.u_sum) AS "total_upper"
FROM selected
JOIN help_capital_loss
  USING (group_id, hits)
GROUP BY
  selected."sex"
