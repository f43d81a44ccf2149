"""Ready SQL of a release: views over its files, and example queries to start from."""

from sqlglot import exp

from sfumato.tasks.query.help_tables.registry import help_names
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.dialect_fixes import write_bounds
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.query.sql.trees import to_nearest
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.parted import union_of_parts
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.tables import schemas
from sfumato.tasks.terms.terms import Declared

_RUN = "Run in the directory of the release, for example: duckdb -init sql/duckdb.sql"

_LINEAGE = """\
The table lineage has every group once: previous_group_id is the number in the version before of the
group that it continues, null where all its people are new; rows are the people who are here, and
vacant the values of those who have left."""


def duckdb_script(declared: Declared) -> str:
    """Return the release's `sql/duckdb.sql`, which depends only on its declaration."""
    way = SQL_WAYS[declared.form.shows]
    views = [_view(name, f"data/{name}.parquet", declared) for name in schemas(declared)]
    views += [_view(name, f"sql/{name}.parquet", declared) for name in help_names(declared)]
    words = [declared.title, _RUN, way.words(declared)]
    words += [f"{way.of_vacant(declared)}\n\n{_LINEAGE}"] if declared.is_composed else []
    parts = [_comment("\n\n".join(words)), "\n".join(views)]
    for title, plain in way.queries(declared):
        parts.append(f"{_comment(title)}\n{plain.sql('duckdb', pretty=True)};")
    parts += [
        f"{_comment(f'Bounds for: {query}')}\n{_rewrite_example(query, declared)};"
        for query in _examples(declared, way)
    ]
    return "\n\n".join(parts) + "\n"


def _rewrite_example(query: str, declared: Declared) -> str:
    """Return the SQL of an example, with means as the release's layout has them."""
    rewritten = rewrite(query, declared)
    if tells("outward bounds", declared.software):
        return rewritten.sql()
    return write_bounds(to_nearest(rewritten.tree), DIALECTS["duckdb"])


def _examples(declared: Declared, way: SqlWay) -> list[str]:
    """Return queries for some aggregates: over all rows, and by the first quasi-identifier."""
    if way.examples is None or way.refusal(declared) is not None:
        return []
    if declared.has_related_rows and not tells("two tables", declared.software):
        return []
    aggregates = [exp.Count(this=exp.Star()), *way.examples(declared)]
    queries = [way.source(exp.select(*aggregates), declared)]
    for other in declared.names_with_roles("quasi-identifier")[:1]:
        key = exp.column(other, quoted=True)
        by_key = exp.select(key, *(aggregate.copy() for aggregate in aggregates))
        queries.append(way.source(by_key, declared).group_by(key.copy()))
    return [query.sql("duckdb") for query in queries]


def _view(name: str, path: str, declared: Declared) -> str:
    """Return the statement that makes a view of a table's file, or of those of its parts."""
    parts = declared.made_of
    places = [f"{PARTS}/{part.name}/{path}" for part in parts] or [path]
    added = [part.added_to(declared.numbered_columns(name)) for part in parts] or [{}]
    sources = [
        exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(place)])
        for place in places
    ]
    view = exp.Create(
        this=exp.table_(name),
        kind="VIEW",
        replace=True,
        expression=union_of_parts(sources, added),
    )
    return f"{view.sql('duckdb', pretty=bool(parts))};"


def _comment(text: str) -> str:
    return "\n".join(f"-- {line}".rstrip() for line in text.splitlines())
