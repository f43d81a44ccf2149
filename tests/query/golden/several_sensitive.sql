-- query: SELECT SUM(loss), SUM("capital-loss"), MIN(word) FROM microdata WHERE age < 24
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "age" < 24
  GROUP BY
    microdata.group_id
)
SELECT
  SUM(help_loss.l_sum) AS "sum(loss)_lower",
  SUM(help_loss.u_sum) AS "sum(loss)_upper",
  SUM(help_capital_loss.l_sum) AS "sum(capital-loss)_lower",
  SUM(help_capital_loss.u_sum) AS "sum(capital-loss)_upper",
  MIN(help_word.l_min) AS "min(word)_lower",
  MIN(help_word.u_min) AS "min(word)_upper"
FROM selected
JOIN help_loss
  USING (group_id, hits)
JOIN help_capital_loss
  USING (group_id, hits)
JOIN help_word
  USING (group_id, hits)
