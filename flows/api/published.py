"""A release that was opened: verified files, its tables, and questions to them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload
from weakref import finalize

from sfumato.expectations.shared.errors import Fault, QueryError, SfumatoError
from sfumato.flows.api.answer import BoundedAnswer
from sfumato.flows.api.asking import NamedTables, ShortQuestions
from sfumato.flows.api.facts import (
    AccuracyListing,
    Columns,
    Domain,
    KeptPromise,
    LineVersion,
    Listing,
    ReleaseLine,
    SchemaColumn,
    StatedAccuracy,
    domain_of,
)
from sfumato.flows.api.frames import arrow_table
from sfumato.flows.api.markup import public_names, table_html
from sfumato.tasks.query.ask import Conversation
from sfumato.tasks.verification.record import Standing, files_as_they_stand, require_unchanged

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from sfumato.tasks.lines.versions import Version
    from sfumato.tasks.query.question.calculations import OwnTables
    from sfumato.tasks.query.sql.marginal_counts import Estimator
    from sfumato.tasks.report.line_entries import LineEntry
    from sfumato.tasks.terms.opened import Release
    from sfumato.tasks.terms.terms import Declared
    from sfumato.tasks.verification.way_in import WayIn


class PublishedTables(Mapping[str, "pa.Table"]):
    """The published tables by their names, each read when it is asked for."""

    def __init__(self, release: "Release") -> None:
        """Take a release whose files were verified."""
        from sfumato.tasks.query.ask import files_of_tables

        self._files = files_of_tables(release, ())

    def __getitem__(self, name: str) -> "pa.Table":
        from sfumato.tasks.query.engines.engine import read_table

        return read_table(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<published tables: {', '.join(self._files)}>"


def _numbers_of_rows(declared: "Declared") -> str:
    """Return how many rows are published, of each table if there are two."""
    rows, related, form = declared.rows, declared.related_rows, declared.form
    if related is None:
        return f"{rows.published:,} of {rows.read:,} published"
    return (
        f"{rows.published:,} of {rows.read:,} {form.table_of_rows} published, "
        f"{related.published:,} of {related.read:,} {form.related_table}"
    )


class VerifiedRelease(ShortQuestions):
    """A release whose files are those of its manifest; `sfumato.open` gives it.

    Ask it:

        release.query("SELECT sex, AVG(cost) AS mean FROM microdata GROUP BY sex")
        release.mean("cost", {"age": (30, 40)}, group_by="sex")
        release.count()

    An answer has a lower and an upper bound for each aggregate, which contain the truth, and an
    estimate without guarantee (`help(sfumato.BoundedAnswer)`).

    Look at it: `columns`, `promises`, `accuracy`, `line`, `version`, `citation`, `tables`.

    Its files are watched: after a change nothing is answered until it is opened again. A `with`
    block, or `close`, lets go of what is open.

    Attributes:
        directory: where it lies; of one from elsewhere, its copy here.
        verified: whether a trusted signature, an announced digest or a check vouches for the files.
        author: the signer, and the standing of the signature, in words.
    """

    def __init__(self, way_in: "WayIn", directory: Path) -> None:
        """Open a release by a way in; `sfumato.open` is the way to call."""
        self._way_in = way_in
        self._standing: Standing
        self._release: Release
        self._stack = ExitStack()
        finalize(self, self._stack.close)
        self._open(directory)

    def _open(self, directory: Path) -> None:
        standing = files_as_they_stand(directory)
        self._release, self._standing = self._way_in.open(directory), standing
        self._stack.close()
        self._conversation = self._stack.enter_context(Conversation(self._release))

    @property
    def directory(self) -> Path:
        """The directory of the release; for a release from elsewhere, of its copy here."""
        return self._release.directory

    @property
    def verified(self) -> bool:
        """True if a trusted signature, an announced digest or a check vouches for the files."""
        return self._release.verified

    @property
    def author(self) -> str:
        """The signer of the release and the standing of the signature, in words."""
        return self._release.author

    @property
    def name(self) -> str:
        """The name of the line that the release is a version of."""
        return str(self._release.declared.name)

    @property
    def title(self) -> str:
        """The release's title."""
        return str(self._release.declared.title)

    @property
    def digest(self) -> str:
        """The SHA-256 that vouches for every file, as 64 hexadecimal digits."""
        return str(self._release.manifest["sfumato"]["digest"])

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest: a Frictionless Data Package, with more under `sfumato`."""
        return self._release.manifest

    @property
    def columns(self) -> Columns:
        """The columns that queries can name: role, type, description and domain of each."""
        words = self._release.declared.words
        return Columns(
            {
                name: SchemaColumn(
                    name,
                    column.told_role,
                    column.type,
                    column.nulls,
                    words.columns.get(name),
                    words.labels[name].codes if name in words.labels else {},
                    partial(self._domain, name),
                )
                for name, column in self._release.declared.columns.items()
            }
        )

    @property
    def schema(self) -> dict[str, SchemaColumn]:
        """The same as `columns`, as a dict."""
        return dict(self.columns)

    @property
    def promises(self) -> Listing[KeptPromise]:
        """The promises, each with its parameters and what the published tables come to."""
        return Listing(
            KeptPromise(
                promise.name,
                {name: value for name, value in observation["promise"].items() if name != "model"},
                dict(observation["observed"]),
                observation.get("groups"),
            )
            for promise, observation in zip(
                self._release.declared.promises,
                self.manifest["sfumato"].get("observed") or (),
                strict=False,  # a release of old software observes nothing
            )
        )

    @property
    def accuracy(self) -> AccuracyListing:
        """The accuracy of answers, as the line's public record states it; empty if it does not."""
        version = self._record_versions().get(self.version)
        return AccuracyListing(
            StatedAccuracy(
                stated["workload"],
                stated["level"],
                stated.get("queries"),
                stated["median"],
                stated.get("lower_quartile"),
                stated.get("upper_quartile"),
                stated.get("mean"),
            )
            for stated in (version.accuracy if version is not None else None) or ()
            if {"workload", "level", "median"} <= set(stated)
        )

    @property
    def version(self) -> str:
        """The number of this version, such as 0002, by the line's record or its directory."""
        name = self.directory.resolve().name
        numbers = [n for n, v in self._record_versions().items() if v.digest == self.digest]
        return name if name in numbers or not numbers else numbers[-1]

    @property
    def line(self) -> ReleaseLine:
        """The line of this release, with all its versions and the current one."""
        entry = self._line_entry()
        if entry is None:
            return ReleaseLine(self.name, self.title, Listing(()))
        versions = (LineVersion(v.number, v.state, v.digest, v.time) for v in entry.versions)
        return ReleaseLine(entry.name, entry.title, Listing(versions))

    @property
    def citation(self) -> str:
        """The sentence that cites this version."""
        from sfumato.tasks.report.line_metadata import citation

        entry, number = self._line_entry(), self.version
        cited = [] if entry is None else [v for v in entry.versions if v.number == number]
        if entry is None or not cited:
            publisher = self._release.declared.words.publisher or "anonymous"
            return (
                f"{publisher}: {self.title}. Public microdata, {self.name}, "
                f"digest {self.digest[:12]}…"
            )
        return citation(replace(entry, versions=(replace(cited[0], state="current"),)))

    def _record_versions(self) -> "Mapping[str, Version]":
        """Return the versions in the record beside the release, if it is one of them."""
        from sfumato.tasks.lines.versions import read_record

        try:
            versions = read_record(self.directory.resolve().parent).versions
        except SfumatoError:  # what stands beside a release need not be a record
            return {}
        return versions if any(v.digest == self.digest for v in versions.values()) else {}

    def _line_entry(self) -> "LineEntry | None":
        from sfumato.tasks.lines.public_record import read_line_entry

        return read_line_entry(self.directory.resolve().parent) if self._record_versions() else None

    def _domain(self, name: str) -> Domain:
        from sfumato.tasks.query.ask import files_of_tables
        from sfumato.tasks.query.published.values import PublishedValues

        require_unchanged(self.directory, self._standing)
        files = files_of_tables(self._release, ())
        return domain_of(PublishedValues(files, self._release.declared).column(name))

    @property
    def tables(self) -> PublishedTables:
        """The published tables by their names, as Arrow tables, each read when it is asked for.

        What they hold depends on the form of the release: a row of them need not be a person.
        """
        return PublishedTables(self._release)

    @overload
    def query(
        self, sql: str, estimator: "Estimator" = ..., tables: Mapping[str, Any] | None = ...
    ) -> BoundedAnswer: ...
    @overload
    def query(
        self,
        sql: Mapping[str, str],
        estimator: "Estimator" = ...,
        tables: Mapping[str, Any] | None = ...,
    ) -> dict[str, BoundedAnswer]: ...
    @overload
    def query(
        self,
        sql: list[str] | tuple[str, ...],
        estimator: "Estimator" = ...,
        tables: Mapping[str, Any] | None = ...,
    ) -> list[BoundedAnswer]: ...
    def query(
        self,
        sql: str | list[str] | tuple[str, ...] | Mapping[str, str],
        estimator: "Estimator" = "weighted",
        tables: Mapping[str, Any] | None = None,
    ) -> BoundedAnswer | list[BoundedAnswer] | dict[str, BoundedAnswer]:
        """Answer aggregates over `microdata`, with bounds that surely contain the truth.

        Args:
            sql: a SELECT over `microdata`, as the guide's page on queries says; or several, as a
                list or by names. Two related tables have the names of their spec, in place of
                `microdata`.
            estimator: how often values are taken to occur that a group admits: `weighted`, as
                expected, or `uniform`, all alike. Bounds do not depend on it.
            tables: of your own, by the names that JOIN calls them: Arrow tables, pandas or Polars
                data frames.

        Returns:
            The answer; for several queries a list of answers, or a dict by the same names.

        Raises:
            QueryError: where a query is not allowed, or cannot be evaluated; of several, it names
                the query.
            Fault: where what was found cannot be right, and is not given out.
            InputError: where something given is no table.
            PromiseError: where the files changed since they were verified.
        """
        own = {name: arrow_table(table) for name, table in (tables or {}).items()}
        if isinstance(sql, str):
            return self._answer(sql, estimator, own)
        if isinstance(sql, Mapping):
            return {n: self._named_answer(str(n), q, estimator, own) for n, q in sql.items()}
        numbered = enumerate(sql, start=1)
        return [self._named_answer(f"query {n}", q, estimator, own) for n, q in numbered]

    def _named_answer(
        self, name: str, sql: str, estimator: "Estimator", own: "OwnTables"
    ) -> BoundedAnswer:
        try:
            return self._answer(sql, estimator, own)
        except (QueryError, Fault) as error:
            raise type(error)(f"{name}: {error}") from None

    def _answer(self, sql: str, estimator: "Estimator", own: "OwnTables") -> BoundedAnswer:
        answer = self._conversation.answer(sql, estimator, own)
        require_unchanged(self.directory, self._standing)
        return BoundedAnswer(answer)

    def _answer_short(self, sql: str) -> BoundedAnswer:
        return self._answer(sql, "weighted", {})

    def _asked_tables(self) -> NamedTables | None:
        declared = self._release.declared
        if not declared.has_related_rows:
            return None
        form = declared.form
        return NamedTables(
            form.table_of_rows, form.related_table, form.person_key, tuple(form.related_columns)
        )

    def rewrite(self, sql: str, dialect: str = "duckdb") -> str:
        """The SQL that computes the bounds of a query in a database that has the tables.

        With `duckdb` it runs on what `connect` gives.

        Args:
            sql: as for `query`.
            dialect: duckdb, postgres, sqlite or mariadb.

        Raises:
            QueryError: where the query is not allowed, cannot be rewritten, or gives SQL that a
                database with the tables would refuse.
            InputError: where a file is missing.
        """
        from sfumato.tasks.query.rewriting import rewriter

        with rewriter(self._release) as rewriting:
            return rewriting.sql(sql, dialect)

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """A DuckDB connection with the published tables, and those that rewritten SQL reads.

        It is yours to close. It reads no other file and no variable of the process; tables of your
        own are added by its `register`. What SQL gives there is about the published tables as they
        stand: `query` is what knows which bounds follow from them.

        Raises:
            InputError: where a file is missing.
            PromiseError: where the files changed since they were verified.
        """
        from sfumato.tasks.query.rewriting import open_tables

        require_unchanged(self.directory, self._standing)
        return open_tables(self._release)

    def check(self) -> tuple[str, ...]:
        """Measure every promise again on the published tables, and compare every file with them.

        The log of its line is compared with the heads that the reader remembers, as `sfumato check`
        does. From then on the release is `verified`: answers are called guaranteed.

        Returns:
            What was found, in lines.

        Raises:
            PromiseError: where anything is not as it must be.
        """
        from sfumato.flows.cli.analyst.check import checked_lines
        from sfumato.tasks.publication.check import check
        from sfumato.tasks.publication.made_again import Checked
        from sfumato.tasks.verification.log_check import check_log_beside

        checks: list[Checked] = []

        def checking(*arguments: Any) -> None:
            checks.append(check(*arguments))

        way_in = self._way_in
        self._way_in = replace(way_in, check=checking)
        try:
            self._open(self.directory)
        finally:
            self._way_in = way_in
        log = check_log_beside(self._release, (), way_in.environ)
        remarks = (self.author, *log.lines(), *log.remember(way_in.environ))
        return (
            *checked_lines(self.directory, checks[0]),
            *(f"{self.directory}: {remark}" for remark in remarks),
        )

    def close(self) -> None:
        """Let go of what is open; a later query opens it again."""
        self._stack.close()
        self._conversation = self._stack.enter_context(Conversation(self._release))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    def _facts(self) -> dict[str, str]:
        declared = self._release.declared
        return {
            "release": f"{self.name} {self.version}",
            "title": self.title,
            "form": declared.form.method,
            "promises": ", ".join(promise.name for promise in declared.promises),
            "rows": _numbers_of_rows(declared),
            "columns": ", ".join(f"{c.name} ({c.role})" for c in self.schema.values()),
            "verified": f"{'yes' if self.verified else 'no: check() verifies it'}; {self.author}",
        }

    def __repr__(self) -> str:
        return "\n".join(f"{name:<9} {text}" for name, text in self._facts().items())

    def _repr_html_(self) -> str:
        return table_html([], [list(pair) for pair in self._facts().items()])
