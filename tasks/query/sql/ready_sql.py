"""Ready SQL of a release: views over its files, and example queries to start from."""

from sqlglot import exp

from sfumato.tasks.declaration.tables import schemas
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.query.help_tables.build import help_names
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.question.relations import relations, tables_of_counts
from sfumato.tasks.query.sql.rewrite import rewrite

_RUN = "Run in the directory of the release, for example: duckdb -init sql/duckdb.sql"

_HOW_PERMUTED = """\
The table microdata holds the published rows: all columns as they are, except that the values of
sensitive columns are shuffled among the rows with the same group_id."""

_HOW_SPLIT = """\
The table qit holds the published rows with all columns but the sensitive ones. The sensitive values
of the rows with the same group_id, and how often each occurs among them, stand in"""

_HOW_REDISTRIBUTED = """\
The table qit holds the published rows with all columns but the sensitive one. The values of the
rows with the same group_id lie in the subdomains of the group, from lower to upper, that stand in
st with how often each occurs; if there are more subdomains than rows, nobody can tell which are
fakes. The values are spread as the target of the group says, which stands in aims and targets."""

_HOW = """\
A help table holds, for so many hits among the rows of a group, the least and the greatest sum,
minimum and maximum that the values of so many of its rows can have. The queries below return bounds
that surely contain the answer over the represented rows;
`sfumato query . "SELECT … FROM microdata …" --rewrite duckdb` writes others."""

_HOW_APART = """\
The tables at_… hold the values of a quasi-identifier that each group admits, once each; the
sensitive values of each group, and how often each occurs in it, stand in"""

_HOW_COUNTS = """\
A help table holds the same values, with how often each is expected to occur in its group. The
queries below return bounds that surely contain the count over the represented rows, and an estimate
without a guarantee; `sfumato query . "SELECT COUNT(*) … FROM microdata …" --rewrite duckdb` writes
others."""

_HOW_RECODED = """\
The table microdata holds the published rows: labels in the place of quasi-identifiers, all other
columns as they are. A label stands for several values, so that a query on labels is not the query
on what they stand for: `sfumato query . "SELECT …"` answers that one, with bounds that surely
contain the answer over the represented rows."""


def duckdb_script(declared: Declared) -> str:
    """The release's `sql/duckdb.sql`: a function of what the release declares."""
    if declared.recoded:
        return _recoded_script(declared)
    views = [_view(name, f"data/{name}.parquet") for name in schemas(declared)]
    views += [_view(name, f"sql/{name}.parquet") for name in help_names(declared)]
    how = _counts(declared) if declared.form.shows == "columns" else _bounds(declared)
    parts = [_comment(f"{declared.title}\n\n{_RUN}\n\n{how}"), "\n".join(views)]
    for query in _examples(declared):
        rewritten = rewrite(query, declared).sql()
        parts.append(f"{_comment(f'Bounds for: {query}')}\n{rewritten};")
    return "\n\n".join(parts) + "\n"


def _bounds(declared: Declared) -> str:
    """Where the sensitive values stand, and what helps to ask them."""
    known = relations(declared)
    if known.rows == TABLE:
        return f"{_HOW_PERMUTED}\n\n{_HOW}"
    if declared.form.method == "redistributed":
        return f"{_HOW_REDISTRIBUTED}\n\n{_HOW}"
    return f"{_HOW_SPLIT} {' and '.join(known.tables.values())}.\n\n{_HOW}"


def _counts(declared: Declared) -> str:
    """The same where quasi-identifiers stand by themselves."""
    tables = tables_of_counts(declared).values()
    return f"{_HOW_APART} {' and '.join(tables)}.\n\n{_HOW_COUNTS}"


def _recoded_script(declared: Declared) -> str:
    label = exp.column(declared.named("quasi-identifier")[0], quoted=True)
    query = exp.select(label, exp.Count(this=exp.Star())).from_(TABLE)
    ordered = query.group_by(label.copy()).order_by(label.copy()).sql("duckdb", pretty=True)
    parts = [
        _comment(f"{declared.title}\n\n{_RUN}\n\n{_HOW_RECODED}"),
        _view(TABLE, f"data/{TABLE}.parquet"),
        f"{_comment('How many rows have each label:')}\n{ordered};",
    ]
    return "\n\n".join(parts) + "\n"


def _examples(declared: Declared) -> list[str]:
    """Queries on the first sensitive column: over all rows, and by the first quasi-identifier."""
    name = declared.named("sensitive")[0]
    column = exp.column(name, quoted=True)
    aggregates: list[exp.Expr] = [exp.Min(this=column), exp.Max(this=column.copy())]
    if declared.form.shows == "columns":
        aggregates = []
    elif declared.columns[name].type in ("integer", "decimal", "float"):
        aggregates = [exp.Avg(this=column)]
    query = exp.select(exp.Count(this=exp.Star()), *aggregates).from_(TABLE)
    queries = [query]
    for other in declared.named("quasi-identifier")[:1]:
        key = exp.column(other, quoted=True)
        queries.append(exp.select(key, *query.expressions).from_(TABLE).group_by(key))
    return [query.sql("duckdb") for query in queries]


def _view(name: str, path: str) -> str:
    source = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(path)])
    view = exp.Create(
        this=exp.table_(name),
        kind="VIEW",
        replace=True,
        expression=exp.select("*").from_(source),
    )
    return f"{view.sql('duckdb')};"


def _comment(text: str) -> str:
    return "\n".join(f"-- {line}".rstrip() for line in text.splitlines())
