-- query: SELECT vip, AVG(loss) FROM microdata WHERE sex ILIKE 'F_' OR day < DATE '2020-01-02' GROUP BY vip
WITH selected AS (
  SELECT
    microdata.`vip`,
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    REGEXP_INSTR(`sex`, '(?s)^[Ff].\\z' COLLATE utf8mb4_nopad_bin) > 0
    OR `day` < CAST('2020-01-02' AS DATE)
  GROUP BY
    microdata.`vip`,
    microdata.group_id
)
SELECT
  selected.`vip` AS `vip`,
  CAST(SUM(help_loss.l_sum) AS DOUBLE) / SUM(selected.hits) AS `avg(loss)_lower`,
  CAST(SUM(help_loss.u_sum) AS DOUBLE) / SUM(selected.hits) AS `avg(loss)_upper`
FROM selected
JOIN help_loss
  USING (group_id, hits)
GROUP BY
  selected.`vip`
