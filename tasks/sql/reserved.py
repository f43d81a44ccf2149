"""Words that cannot name a table without quotes in one of the databases that we write SQL for.

As DuckDB 2.0, PostgreSQL 15, MariaDB 10.11, SQLite 3.40 and sqlglot 30 list or refuse them.
"""

_WORDS = """
    accessible add all alter analyse analyze and anti any array as asc asensitive asof asymmetric
    at authorization before between bigint binary blob both by call cascade case cast change char
    character charset check collate collation column columns commit concurrently condition
    constraint continue convert create cross current_catalog current_date current_role
    current_schema current_time current_timestamp current_user cursor databases day_hour
    day_microsecond day_minute day_second dec decimal declare default deferrable delayed delete
    delete_domain_id desc describe deterministic distinct distinctrow div do do_domain_ids double
    drop dual each else elseif enclosed end escape escaped except exists exit explain false fetch
    float float4 float8 for force foreign freeze from full fulltext generated glob grant group
    having high_priority hour_microsecond hour_minute hour_second if ignore ignore_domain_ids
    ilike in index infile initially inner inout insensitive insert install int int1 int2 int3 int4
    int8 integer intersect interval into is isnull iterate join key keys kill lambda lateral
    leading leave left like limit linear lines load localtime localtimestamp lock long longblob
    longtext loop low_priority map master_demote_to_replica master_demote_to_slave
    master_ssl_verify_server_cert match maxvalue mediumblob mediumint mediumtext middleint
    minute_microsecond minute_second mod modifies natural no_write_to_binlog not notnull null
    numeric offset on only optimize optionally or order out outer outfile over overlaps
    page_checksum parse_vcol_expr partition pivot pivot_longer pivot_wider placing portion
    positional precision primary procedure purge qualify raise range read read_write reads real
    recursive ref_system_id references regexp release rename repeat replace require resignal
    restrict return returning revoke right rlike rollback row_number rows schemas
    second_microsecond select semi sensitive separator session_user set show signal similar
    smallint some spatial specific sql sql_big_result sql_calc_found_rows sql_small_result
    sqlexception sqlstate sqlwarning ssl starting stats_auto_recalc stats_persistent
    stats_sample_pages straight_join struct summarize symmetric table tablesample terminated then
    tinyblob tinyint tinytext to trailing transaction trigger true try_cast tuple uncache undo
    union unique unlock unpack unpivot unsigned update usage use user using utc_date utc_time
    utc_timestamp values varbinary varchar varcharacter variadic varying verbose when where while
    window with write xor year_month zerofill
"""

RESERVED = frozenset(_WORDS.split())
"""In lower case."""
