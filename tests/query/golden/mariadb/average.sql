-- query: SELECT vip, AVG(loss) FROM microdata WHERE sex ILIKE 'F_' OR day < DATE '2020-01-02' GROUP BY vip
WITH selected AS (
  SELECT
    microdata.`vip`,
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    REGEXP_INSTR(`sex`, _utf8mb4 x'283f73295e5b46665d2e5c7a' COLLATE utf8mb4_nopad_bin) > 0
    OR `day` < CAST('2020-01-02' AS DATE)
  GROUP BY
    microdata.`vip`,
    microdata.group_id
)
SELECT
  summed.part_0 AS `vip`,
  (
    CAST(summed.part_1 DIV summed.part_2 AS DOUBLE) + CAST((
      summed.part_1 % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) - ABS(
    CAST(summed.part_1 DIV summed.part_2 AS DOUBLE) + CAST((
      summed.part_1 % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) * CASE
    WHEN (
      summed.part_1 % summed.part_2
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_1) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS `avg(loss)_lower`,
  (
    CAST(summed.part_3 DIV summed.part_2 AS DOUBLE) + CAST((
      summed.part_3 % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) + ABS(
    CAST(summed.part_3 DIV summed.part_2 AS DOUBLE) + CAST((
      summed.part_3 % summed.part_2
    ) AS DOUBLE) / CAST(summed.part_2 AS DOUBLE)
  ) * CASE
    WHEN (
      summed.part_3 % summed.part_2
    ) * 1048576 % summed.part_2 = 0
    AND ABS(summed.part_3) <= 4294967296 * summed.part_2
    THEN 0
    ELSE 1.1102230246251568e-16
  END AS `avg(loss)_upper`
FROM (
  SELECT
    selected.`vip` AS part_0,
    SUM(help_loss.l_sum) AS part_1,
    SUM(selected.hits) AS part_2,
    SUM(help_loss.u_sum) AS part_3
  FROM selected
  JOIN help_loss
    USING (group_id, hits)
  GROUP BY
    selected.`vip`
) AS summed
