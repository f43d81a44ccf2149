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
  (
    CAST(CAST(CAST(summed.part_0 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_0 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) - ABS(
    CAST(CAST(CAST(summed.part_0 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_0 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_0 AS INT128) % summed.part_1
    ) * 1048576 % summed.part_1 = 0
    AND ABS(summed.part_0) <= 4294967296 * summed.part_1
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(loss)_lower",
  (
    CAST(CAST(CAST(summed.part_2 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_2 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) + ABS(
    CAST(CAST(CAST(summed.part_2 AS INT128) // summed.part_1 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_2 AS INT128) % summed.part_1
    ) AS DOUBLE) / CAST(summed.part_1 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_2 AS INT128) % summed.part_1
    ) * 1048576 % summed.part_1 = 0
    AND ABS(summed.part_2) <= 4294967296 * summed.part_1
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(loss)_upper"
FROM (
  SELECT
    SUM(help_loss.l_sum) AS part_0,
    SUM(selected.hits) AS part_1,
    SUM(help_loss.u_sum) AS part_2
  FROM selected
  JOIN help_loss
    USING (group_id, hits)
) AS summed
