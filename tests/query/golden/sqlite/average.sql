-- query: SELECT vip, AVG(loss) FROM microdata WHERE sex ILIKE 'F_' OR day < DATE '2020-01-02' GROUP BY vip
WITH selected AS (
  SELECT
    microdata."vip",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    "sex" GLOB '[Ff]?' OR "day" < '2020-01-02'
  GROUP BY
    microdata."vip",
    microdata.group_id
)
SELECT
  summed.part_0 AS "vip",
  CASE
    WHEN TYPEOF(summed.part_1) = 'real'
    THEN (
      CAST(summed.part_1 AS REAL) / CAST(summed.part_2 AS REAL)
    ) - ABS(CAST(summed.part_1 AS REAL) / CAST(summed.part_2 AS REAL)) * 1.1102230246251568e-16
    ELSE (
      CAST(summed.part_1 / summed.part_2 AS REAL) + CAST((
        summed.part_1 % summed.part_2
      ) AS REAL) / CAST(summed.part_2 AS REAL)
    ) - ABS(
      CAST(summed.part_1 / summed.part_2 AS REAL) + CAST((
        summed.part_1 % summed.part_2
      ) AS REAL) / CAST(summed.part_2 AS REAL)
    ) * CASE
      WHEN (
        summed.part_1 % summed.part_2
      ) * 1048576 % summed.part_2 = 0
      AND ABS(summed.part_1) <= 4294967296 * summed.part_2
      THEN 0
      ELSE 1.1102230246251568e-16
    END
  END AS "avg(loss)_lower",
  CASE
    WHEN TYPEOF(summed.part_3) = 'real'
    THEN (
      CAST(summed.part_3 AS REAL) / CAST(summed.part_2 AS REAL)
    ) + ABS(CAST(summed.part_3 AS REAL) / CAST(summed.part_2 AS REAL)) * 1.1102230246251568e-16
    ELSE (
      CAST(summed.part_3 / summed.part_2 AS REAL) + CAST((
        summed.part_3 % summed.part_2
      ) AS REAL) / CAST(summed.part_2 AS REAL)
    ) + ABS(
      CAST(summed.part_3 / summed.part_2 AS REAL) + CAST((
        summed.part_3 % summed.part_2
      ) AS REAL) / CAST(summed.part_2 AS REAL)
    ) * CASE
      WHEN (
        summed.part_3 % summed.part_2
      ) * 1048576 % summed.part_2 = 0
      AND ABS(summed.part_3) <= 4294967296 * summed.part_2
      THEN 0
      ELSE 1.1102230246251568e-16
    END
  END AS "avg(loss)_upper"
FROM (
  SELECT
    selected."vip" AS part_0,
    CASE
      WHEN MAX(TYPEOF(help_loss.l_sum)) = 'real'
      THEN (
        SUM(help_loss.l_sum)
      ) - (
        SUM(ABS(help_loss.l_sum))
      ) * (
        COUNT(*) + 4
      ) * 1.12e-16
      WHEN ABS(SUM((
        help_loss.l_sum >> 32
      ))) >= 1073741824
      THEN (
        (
          SUM((
            help_loss.l_sum >> 32
          ))
        ) * 4294967296.0 + SUM((
          help_loss.l_sum & 4294967295
        ))
      ) - ABS(
        (
          SUM((
            help_loss.l_sum >> 32
          ))
        ) * 4294967296.0 + SUM((
          help_loss.l_sum & 4294967295
        ))
      ) * 1.1102230246251568e-16
      ELSE (
        SUM((
          help_loss.l_sum >> 32
        ))
      ) * 4294967296 + SUM((
        help_loss.l_sum & 4294967295
      ))
    END AS part_1,
    SUM(selected.hits) AS part_2,
    CASE
      WHEN MAX(TYPEOF(help_loss.u_sum)) = 'real'
      THEN (
        SUM(help_loss.u_sum)
      ) + (
        SUM(ABS(help_loss.u_sum))
      ) * (
        COUNT(*) + 4
      ) * 1.12e-16
      WHEN ABS(SUM((
        help_loss.u_sum >> 32
      ))) >= 1073741824
      THEN (
        (
          SUM((
            help_loss.u_sum >> 32
          ))
        ) * 4294967296.0 + SUM((
          help_loss.u_sum & 4294967295
        ))
      ) + ABS(
        (
          SUM((
            help_loss.u_sum >> 32
          ))
        ) * 4294967296.0 + SUM((
          help_loss.u_sum & 4294967295
        ))
      ) * 1.1102230246251568e-16
      ELSE (
        SUM((
          help_loss.u_sum >> 32
        ))
      ) * 4294967296 + SUM((
        help_loss.u_sum & 4294967295
      ))
    END AS part_3
  FROM selected
  JOIN help_loss
    USING (group_id, hits)
  GROUP BY
    selected."vip"
) AS summed
