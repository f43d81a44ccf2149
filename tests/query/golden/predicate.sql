-- query: SELECT AVG(loss) FROM microdata WHERE (sex IS NULL OR sex LIKE 'f%') AND NOT age IN (20, 22) AND age * 2 - 1 <> -3
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    (
      "sex" IS NULL OR "sex" LIKE 'f%'
    )
    AND NOT "age" IN (20, 22)
    AND "age" * 2 - 1 <> -3
  GROUP BY
    microdata.group_id
)
SELECT
  SUM(help_loss.l_sum) / SUM(selected.hits) AS "avg(loss)_lower",
  SUM(help_loss.u_sum) / SUM(selected.hits) AS "avg(loss)_upper"
FROM selected
JOIN help_loss
  USING (group_id, hits)
