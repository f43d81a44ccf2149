SELECT COUNT(*) FROM microdata
SELECT town, AVG(wage), COUNT(*) FROM microdata WHERE age BETWEEN 30 AND 40 GROUP BY town
SELECT SUM(wage) AS s, MIN(wage), MAX(wage) FROM microdata WHERE NOT (age < 30 OR town IS NULL)
SELECT age, COUNT(*) FROM microdata WHERE town IN ('a', 'b') AND wage >= 200.5 GROUP BY age HAVING COUNT(*) > 1
SELECT STDDEV(wage) FROM microdata WHERE town LIKE '%n%' AND age <> 33
SELECT COUNT(*) FROM microdata WHERE wage > 340.5 AND age < 1e3
SELECT age AS a, SUM(wage), COUNT(*) AS n FROM microdata GROUP BY age HAVING SUM(wage) > 500 AND AVG(wage) < 1000
SELECT MIN(wage) FROM microdata WHERE (age = 30 OR age > 40) AND town = 'CANARYnorth' AND wage <= 560
