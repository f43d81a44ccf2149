-- query: SELECT age, COUNT(*) AS people FROM microdata WHERE NOT (vip OR age > 50) GROUP BY age, sex
WITH selected AS (
  SELECT
    microdata."age",
    microdata."sex",
    microdata.group_id,
    COUNT(*) AS hits
  FROM microdata
  WHERE
    NOT (
      "vip" OR "age" > 50
    )
  GROUP BY
    microdata."age",
    microdata."sex",
    microdata.group_id
)
SELECT
  selected."age" AS "age",
  SUM(selected.hits) AS "people_lower",
  SUM(selected.hits) AS "people_upper"
FROM selected
GROUP BY
  selected."age",
  selected."sex"
