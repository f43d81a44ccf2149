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
  summed.part_0 AS "sex",
  (
    CAST(CAST(CAST(summed.part_1 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_1 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) - ABS(
    CAST(CAST(CAST(summed.part_1 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_1 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_1 AS INT128) % summed.part_2
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_1) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(capital-loss)_lower",
  (
    CAST(CAST(CAST(summed.part_3 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_3 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) + ABS(
    CAST(CAST(CAST(summed.part_3 AS INT128) // summed.part_2 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_3 AS INT128) % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_3 AS INT128) % summed.part_2
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_3) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(capital-loss)_upper"
FROM (
  SELECT
    selected."sex" AS part_0,
    SUM(help_capital_loss.l_sum) AS part_1,
    SUM(selected.hits) AS part_2,
    SUM(help_capital_loss.u_sum) AS part_3
  FROM selected
  JOIN help_capital_loss
    USING (group_id, hits)
  GROUP BY
    selected."sex"
) AS summed
