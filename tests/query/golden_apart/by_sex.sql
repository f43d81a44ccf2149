SELECT
  k0 AS "sex",
  l0 AS "count(*)_lower",
  u0 AS "count(*)_upper",
  e0 AS "count(*)_estimate"
FROM (
  WITH sizes AS (
    SELECT
      group_id,
      SUM("count") AS size
    FROM st
    GROUP BY
      group_id
  ), admitted_k0 AS (
    SELECT
      group_id,
      COUNT(*) AS m
    FROM help_sex
    GROUP BY
      group_id
  ), meant_k0 AS (
    SELECT
      group_id,
      "sex" AS k0,
      1 AS l,
      occurrences AS n
    FROM help_sex
  ), admitted_q0 AS (
    SELECT
      group_id,
      COUNT(*) AS m
    FROM help_age
    GROUP BY
      group_id
  ), meant_q0 AS (
    SELECT
      group_id,
      COUNT(*) AS l,
      SUM(occurrences) AS n
    FROM help_age
    WHERE
      "age" >= 50
    GROUP BY
      group_id
  ), meant_s1 AS (
    SELECT
      group_id,
      SUM("count") AS l
    FROM st
    WHERE
      "disease" = 'leukemia'
    GROUP BY
      group_id
  ), ranged AS (
    SELECT
      meant_k0.k0,
      CASE WHEN meant_k0.l = admitted_k0.m THEN size ELSE meant_k0.l END + CASE WHEN meant_q0.l = admitted_q0.m THEN size ELSE meant_q0.l END + meant_s1.l - 2 * size AS low,
      LEAST(size - admitted_k0.m + meant_k0.l, size - admitted_q0.m + meant_q0.l, meant_s1.l) AS high,
      CAST(size AS DOUBLE) * meant_k0.n / size * meant_q0.n / size * meant_s1.l / size AS expected
    FROM sizes
    JOIN meant_k0
      ON meant_k0.group_id = sizes.group_id
    JOIN admitted_k0
      ON admitted_k0.group_id = sizes.group_id
    JOIN meant_q0
      ON meant_q0.group_id = sizes.group_id
    JOIN admitted_q0
      ON admitted_q0.group_id = sizes.group_id
    JOIN meant_s1
      ON meant_s1.group_id = sizes.group_id
  ), counted AS (
    SELECT
      k0,
      least,
      most,
      CASE WHEN expected < least THEN least WHEN expected > most THEN most ELSE expected END AS expected
    FROM (
      SELECT
        k0,
        COALESCE(SUM(CASE WHEN low > 0 THEN low ELSE 0 END), 0) AS least,
        COALESCE(SUM(high), 0) AS most,
        COALESCE(SUM(expected), 0) AS expected
      FROM ranged
      GROUP BY
        k0
    ) AS summed
  )
  SELECT
    k0,
    least AS l0,
    most AS u0,
    expected AS e0
  FROM counted
) AS answer
WHERE
  u0 > 1
