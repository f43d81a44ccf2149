SELECT
  k0 AS "sex",
  l0 AS "n_lower",
  u0 AS "n_upper",
  e0 AS "n_estimate"
FROM (
  WITH sizes AS (
    SELECT
      group_id,
      "rows" + "vacant" AS size,
      "rows" AS live,
      "vacant" AS vacancies
    FROM lineage
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
  ), ranged AS (
    SELECT
      meant_k0.k0,
      CASE WHEN meant_k0.l = admitted_k0.m THEN size ELSE meant_k0.l END + CASE WHEN meant_q0.l = admitted_q0.m THEN size ELSE meant_q0.l END - 1 * size - vacancies AS low,
      LEAST(size - admitted_k0.m + meant_k0.l, size - admitted_q0.m + meant_q0.l, live) AS high,
      CAST(live AS DOUBLE) * meant_k0.n / size * meant_q0.n / size AS expected
    FROM sizes
    JOIN meant_k0
      ON meant_k0.group_id = sizes.group_id
    JOIN admitted_k0
      ON admitted_k0.group_id = sizes.group_id
    JOIN meant_q0
      ON meant_q0.group_id = sizes.group_id
    JOIN admitted_q0
      ON admitted_q0.group_id = sizes.group_id
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
    expected AS e0,
    least AS l1,
    most AS u1,
    expected AS e1
  FROM counted
) AS answer
WHERE
  l1 > 1 AND l0 > 0
