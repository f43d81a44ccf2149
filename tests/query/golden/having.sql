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
    summed.part_0 AS k0,
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
    END AS "0_lower",
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
    END AS "0_upper",
    summed.part_2 AS "1_lower",
    summed.part_2 AS "1_upper",
    summed.part_4 AS "2_lower",
    summed.part_5 AS "2_upper"
  FROM (
    SELECT
      selected."sex" AS part_0,
      SUM(help_loss.l_sum) AS part_1,
      SUM(selected.hits) AS part_2,
      SUM(help_loss.u_sum) AS part_3,
      MIN(help_loss.l_min) AS part_4,
      MIN(help_loss.u_min) AS part_5
    FROM selected
    JOIN help_loss
      USING (group_id, hits)
    GROUP BY
      selected."sex"
  ) AS summed
) AS answer
WHERE
  (
    "1_upper" >= 5
  ) AND (
    "2_lower" <= 2
  )
