SELECT
  k0 AS "age",
  l0 AS "n_lower",
  u0 AS "n_upper",
  l1 AS "s_lower",
  u1 AS "s_upper"
FROM (
  WITH selected AS (
    SELECT
      "age" AS k0,
      group_id,
      COUNT(*) AS hits
    FROM microdata
    GROUP BY
      "age",
      group_id
  ), celled AS (
    SELECT
      selected.*,
      DENSE_RANK() OVER (ORDER BY k0) AS cell
    FROM selected
  ), group_values AS (
    SELECT
      group_id,
      "loss"
    FROM microdata
    UNION ALL
    SELECT
      group_id,
      "loss"
    FROM vacant
  ), sizes AS (
    SELECT
      group_id,
      "rows" + "vacant" AS size,
      "rows" AS live,
      "vacant" AS vacancies
    FROM lineage
  ), matching_0 AS (
    SELECT
      group_id,
      COUNT(*) AS m
    FROM group_values
    WHERE
      "loss" > 0
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
      CAST(hits AS DOUBLE) * COALESCE(matching_0.m, 0) / size AS expected
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
        "loss" AS v,
        COUNT(*) AS times
      FROM group_values
      WHERE
        "loss" > 0
      GROUP BY
        group_id,
        "loss"
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
      r.expected * w.times / r.size AS expected
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
  ), bounds_0 AS (
    SELECT
      cell,
      CASE
        WHEN SUM(low_sure) = 0 AND MIN(CASE WHEN low_maybe > 0 THEN v END) > 0
        THEN MIN(CASE WHEN low_maybe > 0 THEN v END)
        WHEN SUM(low_sure + low_maybe) > 0
        THEN SUM(v * low_sure) + SUM(CASE WHEN v < 0 THEN v * low_maybe ELSE 0 END)
      END AS sum_l,
      CASE
        WHEN SUM(high_sure) = 0 AND MAX(CASE WHEN high_maybe > 0 THEN v END) < 0
        THEN MAX(CASE WHEN high_maybe > 0 THEN v END)
        WHEN SUM(high_sure + high_maybe) > 0
        THEN SUM(v * high_sure) + SUM(CASE WHEN v > 0 THEN v * high_maybe ELSE 0 END)
      END AS sum_u
    FROM of_value_0
    GROUP BY
      cell
  )
  SELECT
    counted.k0 AS k0,
    counted.count_l AS l0,
    counted.count_u AS u0,
    bounds_0.sum_l AS l1,
    bounds_0.sum_u AS u1,
    counted.count_l AS least
  FROM counted
  LEFT JOIN bounds_0
    ON bounds_0.cell = counted.cell
  WHERE
    counted.count_u > 0
) AS answer
WHERE
  least > 0
