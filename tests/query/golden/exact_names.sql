-- query: select Sex as "S", sum(LOSS) total from MICRODATA where "AGE" * 2 - 1 > 60 and sex like '%' group by SEX
WITH selected AS (
  SELECT
    microdata."sex",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "age" * 2 - 1 > 60 AND "sex" LIKE '%'
  GROUP BY
    microdata."sex",
    microdata.group_id
)
SELECT
  selected."sex" AS "S",
  SUM(help_loss.l_sum) AS "total_lower",
  SUM(help_loss.u_sum) AS "total_upper"
FROM selected
JOIN help_loss
  USING (group_id, hits)
GROUP BY
  selected."sex"
