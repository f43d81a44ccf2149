-- query: SELECT sex, COUNT(*), AVG(loss) AS a FROM microdata WHERE sex LIKE 'f%' AND vip AND day >= DATE '2020-01-02' AND loss > 0 GROUP BY sex
SELECT
  k0 AS `sex`,
  l0 AS `count(*)_lower`,
  u0 AS `count(*)_upper`,
  l1 AS `a_lower`,
  u1 AS `a_upper`
FROM (
  WITH selected AS (
    SELECT
      `sex` AS k0,
      group_id,
      COUNT(*) AS hits
    FROM microdata
    WHERE
      `sex` LIKE _utf8mb4 'f%' COLLATE utf8mb4_nopad_bin
      AND `vip`
      AND `day` >= CAST('2020-01-02' AS DATE)
    GROUP BY
      `sex`,
      group_id
  ), celled AS (
    SELECT
      selected.*,
      DENSE_RANK() OVER (ORDER BY k0) AS cell
    FROM selected
  ), sizes AS (
    SELECT
      group_id,
      COUNT(*) AS size
    FROM microdata
    GROUP BY
      group_id
  ), matching_0 AS (
    SELECT
      group_id,
      COUNT(*) AS m
    FROM microdata
    WHERE
      `loss` > 0
    GROUP BY
      group_id
  ), ranged AS (
    SELECT
      celled.*,
      size,
      CASE
        WHEN hits + COALESCE(matching_0.m, 0) - size > 0
        THEN hits + COALESCE(matching_0.m, 0) - size
        ELSE 0
      END AS lo,
      CASE
        WHEN hits < COALESCE(matching_0.m, 0)
        THEN hits
        ELSE COALESCE(matching_0.m, 0)
      END AS hi,
      CAST(CAST(hits AS DOUBLE) * COALESCE(matching_0.m, 0) AS DOUBLE) / size AS expected
    FROM celled
    JOIN sizes
      ON sizes.group_id = celled.group_id
    LEFT JOIN matching_0
      ON matching_0.group_id = celled.group_id
  ), counted AS (
    SELECT
      cell,
      k0,
      COALESCE(SUM(lo), 0) AS count_l,
      COALESCE(SUM(hi), 0) AS count_u,
      COALESCE(SUM(expected), 0) AS expected
    FROM ranged
    GROUP BY
      cell,
      k0
  ), ranged_0 AS (
    SELECT
      celled.*,
      size,
      CASE WHEN hits > 0 THEN hits ELSE 0 END AS lo,
      hits AS hi,
      CAST(hits AS DOUBLE) AS expected
    FROM celled
    JOIN sizes
      ON sizes.group_id = celled.group_id
  ), valued_0 AS (
    SELECT
      group_id,
      v,
      times,
      SUM(times) OVER (PARTITION BY group_id) AS m,
      SUM(times) OVER (PARTITION BY group_id ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - times AS below
    FROM (
      SELECT
        group_id,
        `loss` AS v,
        COUNT(*) AS times
      FROM microdata
      WHERE
        `loss` > 0
      GROUP BY
        group_id,
        `loss`
    ) AS grouped
  ), items_0 AS (
    SELECT
      r.cell,
      w.v,
      w.times,
      w.below,
      w.m - w.below - w.times AS above,
      CASE WHEN r.lo + w.m > r.size THEN r.lo + w.m - r.size ELSE 0 END AS a,
      CASE WHEN r.hi < w.m THEN r.hi ELSE w.m END AS b,
      CAST(r.expected * w.times AS DOUBLE) / r.size AS expected
    FROM ranged_0 AS r
    JOIN valued_0 AS w
      ON w.group_id = r.group_id
  ), of_value_0 AS (
    SELECT
      cell,
      v,
      SUM(
        CASE
          WHEN (
            a - below
          ) <= 0
          THEN 0
          WHEN (
            a - below
          ) < times
          THEN (
            a - below
          )
          ELSE times
        END
      ) AS low_sure,
      SUM(
        CASE
          WHEN (
            b - below
          ) <= 0
          THEN 0
          WHEN (
            b - below
          ) < times
          THEN (
            b - below
          )
          ELSE times
        END - CASE
          WHEN (
            a - below
          ) <= 0
          THEN 0
          WHEN (
            a - below
          ) < times
          THEN (
            a - below
          )
          ELSE times
        END
      ) AS low_maybe,
      SUM(
        CASE
          WHEN (
            a - above
          ) <= 0
          THEN 0
          WHEN (
            a - above
          ) < times
          THEN (
            a - above
          )
          ELSE times
        END
      ) AS high_sure,
      SUM(
        CASE
          WHEN (
            b - above
          ) <= 0
          THEN 0
          WHEN (
            b - above
          ) < times
          THEN (
            b - above
          )
          ELSE times
        END - CASE
          WHEN (
            a - above
          ) <= 0
          THEN 0
          WHEN (
            a - above
          ) < times
          THEN (
            a - above
          )
          ELSE times
        END
      ) AS high_maybe,
      SUM(expected) AS expected
    FROM items_0
    GROUP BY
      cell,
      v
  ), runs_0 AS (
    SELECT
      *,
      (
        CAST(low_base_sum DIV low_base_rows AS DOUBLE) + CAST((
          low_base_sum % low_base_rows
        ) AS DOUBLE) / CAST(low_base_rows AS DOUBLE)
      ) - ABS(
        CAST(low_base_sum DIV low_base_rows AS DOUBLE) + CAST((
          low_base_sum % low_base_rows
        ) AS DOUBLE) / CAST(low_base_rows AS DOUBLE)
      ) * CASE
        WHEN (
          low_base_sum % low_base_rows
        ) * 1048576 % low_base_rows = 0
        AND ABS(low_base_sum) <= 4294967296 * low_base_rows
        THEN 0
        ELSE 1.1102230246251568e-16
      END AS low_base,
      (
        CAST(low_mean_sum DIV low_mean_rows AS DOUBLE) + CAST((
          low_mean_sum % low_mean_rows
        ) AS DOUBLE) / CAST(low_mean_rows AS DOUBLE)
      ) - ABS(
        CAST(low_mean_sum DIV low_mean_rows AS DOUBLE) + CAST((
          low_mean_sum % low_mean_rows
        ) AS DOUBLE) / CAST(low_mean_rows AS DOUBLE)
      ) * CASE
        WHEN (
          low_mean_sum % low_mean_rows
        ) * 1048576 % low_mean_rows = 0
        AND ABS(low_mean_sum) <= 4294967296 * low_mean_rows
        THEN 0
        ELSE 1.1102230246251568e-16
      END AS low_mean,
      (
        CAST(high_base_sum DIV high_base_rows AS DOUBLE) + CAST((
          high_base_sum % high_base_rows
        ) AS DOUBLE) / CAST(high_base_rows AS DOUBLE)
      ) + ABS(
        CAST(high_base_sum DIV high_base_rows AS DOUBLE) + CAST((
          high_base_sum % high_base_rows
        ) AS DOUBLE) / CAST(high_base_rows AS DOUBLE)
      ) * CASE
        WHEN (
          high_base_sum % high_base_rows
        ) * 1048576 % high_base_rows = 0
        AND ABS(high_base_sum) <= 4294967296 * high_base_rows
        THEN 0
        ELSE 1.1102230246251568e-16
      END AS high_base,
      (
        CAST(high_mean_sum DIV high_mean_rows AS DOUBLE) + CAST((
          high_mean_sum % high_mean_rows
        ) AS DOUBLE) / CAST(high_mean_rows AS DOUBLE)
      ) + ABS(
        CAST(high_mean_sum DIV high_mean_rows AS DOUBLE) + CAST((
          high_mean_sum % high_mean_rows
        ) AS DOUBLE) / CAST(high_mean_rows AS DOUBLE)
      ) * CASE
        WHEN (
          high_mean_sum % high_mean_rows
        ) * 1048576 % high_mean_rows = 0
        AND ABS(high_mean_sum) <= 4294967296 * high_mean_rows
        THEN 0
        ELSE 1.1102230246251568e-16
      END AS high_mean
    FROM (
      SELECT
        f.*,
        SUM(v * low_sure) OVER (PARTITION BY cell) AS low_base_sum,
        NULLIF(SUM(low_sure) OVER (PARTITION BY cell), 0) AS low_base_rows,
        SUM(v * low_sure) OVER (PARTITION BY cell) + SUM(v * low_maybe) OVER (PARTITION BY cell ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS low_mean_sum,
        NULLIF(
          SUM(low_sure) OVER (PARTITION BY cell) + SUM(low_maybe) OVER (PARTITION BY cell ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
          0
        ) AS low_mean_rows,
        SUM(v * high_sure) OVER (PARTITION BY cell) AS high_base_sum,
        NULLIF(SUM(high_sure) OVER (PARTITION BY cell), 0) AS high_base_rows,
        SUM(v * high_sure) OVER (PARTITION BY cell) + SUM(v * high_maybe) OVER (PARTITION BY cell ORDER BY v DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS high_mean_sum,
        NULLIF(
          SUM(high_sure) OVER (PARTITION BY cell) + SUM(high_maybe) OVER (PARTITION BY cell ORDER BY v DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
          0
        ) AS high_mean_rows
      FROM of_value_0 AS f
    ) AS summed
  ), bounds_0 AS (
    SELECT
      cell,
      CASE WHEN MIN(low_base) < MIN(low_mean) THEN MIN(low_base) ELSE MIN(low_mean) END AS avg_l,
      CASE
        WHEN MAX(high_base) > MAX(high_mean)
        THEN MAX(high_base)
        ELSE MAX(high_mean)
      END AS avg_u
    FROM runs_0
    GROUP BY
      cell
  )
  SELECT
    counted.k0 AS k0,
    counted.count_l AS l0,
    counted.count_u AS u0,
    bounds_0.avg_l AS l1,
    bounds_0.avg_u AS u1,
    counted.count_l AS least
  FROM counted
  LEFT JOIN bounds_0
    ON bounds_0.cell = counted.cell
  WHERE
    counted.count_u > 0
) AS answer
