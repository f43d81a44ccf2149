-- query: SELECT COUNT(*), SUM(loss), AVG(loss), MIN(loss) FROM microdata WHERE age > 99
WITH selected AS (
  SELECT
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "age" > 99
  GROUP BY
    microdata.group_id
)
SELECT
  summed.part_0 AS "count(*)_lower",
  summed.part_0 AS "count(*)_upper",
  summed.part_1 AS "sum(loss)_lower",
  summed.part_2 AS "sum(loss)_upper",
  (
    CAST(CAST(CAST(summed.part_1 AS INT128) // summed.part_3 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_1 AS INT128) % summed.part_3
    ) AS DOUBLE) / CAST(summed.part_3 AS DOUBLE)
  ) - ABS(
    CAST(CAST(CAST(summed.part_1 AS INT128) // summed.part_3 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_1 AS INT128) % summed.part_3
    ) AS DOUBLE) / CAST(summed.part_3 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_1 AS INT128) % summed.part_3
    ) * 1048576 % summed.part_3 = 0
    AND ABS(summed.part_1) <= 4294967296 * summed.part_3
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(loss)_lower",
  (
    CAST(CAST(CAST(summed.part_2 AS INT128) // summed.part_3 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_2 AS INT128) % summed.part_3
    ) AS DOUBLE) / CAST(summed.part_3 AS DOUBLE)
  ) + ABS(
    CAST(CAST(CAST(summed.part_2 AS INT128) // summed.part_3 AS BIGINT) AS DOUBLE) + CAST((
      CAST(summed.part_2 AS INT128) % summed.part_3
    ) AS DOUBLE) / CAST(summed.part_3 AS DOUBLE)
  ) * CASE
    WHEN (
      CAST(summed.part_2 AS INT128) % summed.part_3
    ) * 1048576 % summed.part_3 = 0
    AND ABS(summed.part_2) <= 4294967296 * summed.part_3
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(loss)_upper",
  summed.part_4 AS "min(loss)_lower",
  summed.part_5 AS "min(loss)_upper"
FROM (
  SELECT
    COALESCE(SUM(selected.hits), 0) AS part_0,
    SUM(help_loss.l_sum) AS part_1,
    SUM(help_loss.u_sum) AS part_2,
    SUM(selected.hits) AS part_3,
    MIN(help_loss.l_min) AS part_4,
    MIN(help_loss.u_min) AS part_5
  FROM selected
  JOIN help_loss
    USING (group_id, hits)
) AS summed
