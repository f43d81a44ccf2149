-- query: SELECT vip, AVG(loss) FROM microdata WHERE sex ILIKE 'F_' OR day < DATE '2020-01-02' GROUP BY vip
WITH selected AS (
  SELECT
    microdata."vip",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "sex" ~ '^[Ff].$' COLLATE "C" OR "day" < CAST('2020-01-02' AS DATE)
  GROUP BY
    microdata."vip",
    microdata.group_id
)
SELECT
  summed.part_0 AS "vip",
  (
    CAST(DIV(CAST(summed.part_1 AS DECIMAL), CAST(summed.part_2 AS DECIMAL)) AS DOUBLE PRECISION) + CAST((
      CAST(summed.part_1 AS DECIMAL) % CAST(summed.part_2 AS DECIMAL)
    ) AS DOUBLE PRECISION) / CAST(summed.part_2 AS DOUBLE PRECISION)
  ) - ABS(
    CAST(DIV(CAST(summed.part_1 AS DECIMAL), CAST(summed.part_2 AS DECIMAL)) AS DOUBLE PRECISION) + CAST((
      CAST(summed.part_1 AS DECIMAL) % CAST(summed.part_2 AS DECIMAL)
    ) AS DOUBLE PRECISION) / CAST(summed.part_2 AS DOUBLE PRECISION)
  ) * CASE
    WHEN (
      CAST(summed.part_1 AS DECIMAL) % CAST(summed.part_2 AS DECIMAL)
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_1) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(loss)_lower",
  (
    CAST(DIV(CAST(summed.part_3 AS DECIMAL), CAST(summed.part_2 AS DECIMAL)) AS DOUBLE PRECISION) + CAST((
      CAST(summed.part_3 AS DECIMAL) % CAST(summed.part_2 AS DECIMAL)
    ) AS DOUBLE PRECISION) / CAST(summed.part_2 AS DOUBLE PRECISION)
  ) + ABS(
    CAST(DIV(CAST(summed.part_3 AS DECIMAL), CAST(summed.part_2 AS DECIMAL)) AS DOUBLE PRECISION) + CAST((
      CAST(summed.part_3 AS DECIMAL) % CAST(summed.part_2 AS DECIMAL)
    ) AS DOUBLE PRECISION) / CAST(summed.part_2 AS DOUBLE PRECISION)
  ) * CASE
    WHEN (
      CAST(summed.part_3 AS DECIMAL) % CAST(summed.part_2 AS DECIMAL)
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_3) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS "avg(loss)_upper"
FROM (
  SELECT
    selected."vip" AS part_0,
    SUM(help_loss.l_sum) AS part_1,
    SUM(selected.hits) AS part_2,
    SUM(help_loss.u_sum) AS part_3
  FROM selected
  JOIN help_loss
    USING (group_id, hits)
  GROUP BY
    selected."vip"
) AS summed
