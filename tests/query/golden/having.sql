-- query: SELECT sex, AVG(loss) AS a FROM microdata GROUP BY sex HAVING COUNT(*) >= 5 AND NOT MIN(loss) > 2
SELECT
  k0 AS "sex",
  "0_lower" AS "a_lower",
  "0_upper" AS "a_upper"
FROM (
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
    selected."sex" AS k0,
    SUM(help_loss.l_sum) / SUM(selected.hits) AS "0_lower",
    SUM(help_loss.u_sum) / SUM(selected.hits) AS "0_upper",
    SUM(selected.hits) AS "1_lower",
    SUM(selected.hits) AS "1_upper",
    MIN(help_loss.l_min) AS "2_lower",
    MIN(help_loss.u_min) AS "2_upper"
  FROM selected
  JOIN help_loss
    USING (group_id, hits)
  GROUP BY
    selected."sex"
) AS answer
WHERE
  (
    "1_upper" >= 5
  ) AND (
    "2_lower" <= 2
  )
