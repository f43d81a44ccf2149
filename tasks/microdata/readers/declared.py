"""The declared source: its place and its format, or a query."""

from collections import ChainMap
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from sfumato.tasks.microdata.notation.address import (
    UNSAFE_ADDRESS,
    holds_secret,
    scheme_of,
    variables_in,
)
from sfumato.tasks.microdata.notation.parameters import BindParameter
from sfumato.tasks.microdata.notation.spelling import FileDialect
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.schema.names import RegisteredName

QUERY = "sql"
_FORMATS: Mapping[str, Any] = ChainMap({QUERY: "the rows of a query's result"}, cast(Any, READERS))
_OF_STORES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def _without_secret(uri: str) -> str:
    if holds_secret(uri):
        raise ValueError(
            "contains a password. Write ${NAME} in its place, and set NAME in the environment"
        )
    return uri


Address = Annotated[
    str,
    Field(min_length=1, description="a path, folder, pattern, file://, s3:// or a database"),
    AfterValidator(_without_secret),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "description": "a path, folder, pattern, file://, s3:// or a database's address",
            "not": {"pattern": UNSAFE_ADDRESS},
        }
    ),
]
"""The address of a source, without a secret: Prefect stores it if a run changes it."""


ColumnName = Annotated[str, Field(min_length=1)]


class Source(FileDialect):
    """The source of the microdata. Paths are relative to the spec; `${NAME}` is environment."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    uri: Address
    format: Annotated[
        str,
        RegisteredName(_FORMATS),
        Field(description="the format of the files; `sql` for a query"),
    ] = "csv"
    sha256: Annotated[
        str | None,
        Field(
            pattern="^[0-9a-f]{64}$",
            description=(
                "the digest that the file must have; for several files, the digest of the "
                "output of sha256sum"
            ),
        ),
    ] = None
    where: Annotated[
        str | None,
        Field(min_length=1, description="an SQL condition that chooses the rows to be released"),
    ] = None
    query: Annotated[
        str | None, Field(min_length=1, description="one SELECT, with parameters as :name")
    ] = None
    parameters: Annotated[
        dict[str, BindParameter],
        Field(description="parameters of the query; they must name no person"),
    ] = {}  # noqa: RUF012 - pydantic copies it
    rename: Annotated[
        dict[str, ColumnName],
        Field(
            description=(
                "new names of columns, by their names in the source, such as "
                "`{town/city: town}`; all other keys of the spec use the new names"
            )
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it
    seen: Annotated[
        tuple[str, ...],
        Field(
            description="the source's columns when the spec was written; other columns are refused"
        ),
    ] = ()
    endpoint: Annotated[
        str | None,
        Field(
            min_length=1,
            description="the endpoint of an S3-compatible store; otherwise AWS_ENDPOINT_URL",
        ),
    ] = None
    max_gigabytes: Annotated[
        float,
        Field(
            alias="max-gigabytes",
            gt=0,
            description="the largest size of objects that are fetched from a store",
        ),
    ] = 16.0

    @model_validator(mode="before")
    @classmethod
    def _query_is_a_format(cls, document: Any) -> Any:
        if isinstance(document, dict) and "query" in document and "format" not in document:
            return {**document, "format": QUERY}
        return document

    @model_validator(mode="after")
    def _keys_fit_the_format(self) -> Self:
        is_query = self.query is not None
        if is_query != (self.format == QUERY):
            raise ValueError(
                "query: needs `format: sql`, and this format needs a query. Write both, or neither"
            )
        if self.parameters and not is_query:
            raise ValueError(
                "parameters: belong to a query, and the source has no query. Leave parameters out"
            )
        if is_query and self.sha256 is not None:
            raise ValueError(
                "sha256: is the digest of files, and the source is a query. Leave sha256 out"
            )
        if (self.format == "excel") != (self.sheet is not None):
            raise ValueError(
                "sheet: needs `format: excel`, and this format needs a sheet. Write both, "
                "or neither"
            )
        if self.endpoint is not None and scheme_of(self.uri) not in (None, "s3"):
            raise ValueError(
                "endpoint: belongs to a store, and the address does not begin with s3://. "
                "Leave endpoint out"
            )
        if len(set(self.rename.values())) < len(self.rename):
            raise ValueError("rename: gives two columns the same name. Choose different names")
        return self

    @property
    def variables(self) -> list[str]:
        """The variables of the environment that may hold its secrets."""
        stored = scheme_of(self.uri) == "s3" or self.uri.startswith("${")
        return [*variables_in(self.uri), *(_OF_STORES if stored and self.query is None else ())]


class RelatedSource(BaseModel):
    """The source of the rows that belong to people."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: Annotated[str, Field(description="the name of the table, as SQL of facts writes it")]
    source: Source
    key: Annotated[str, Field(description="the column that names the person of each row")]
    columns: Annotated[
        tuple[str, ...], Field(description="the columns of the table without its key")
    ]
    orphans: Annotated[
        Literal["refuse", "drop"],
        Field(description="what happens to rows of a person who is not in the table of people"),
    ] = "refuse"
    cap: Annotated[
        int | None,
        Field(ge=1, description="the most rows of a person; people with more are left out"),
    ] = None
