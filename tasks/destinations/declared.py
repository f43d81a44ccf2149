"""Destinations as a steward declares them; their secrets come only from the environment."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from sfumato.tasks.microdata.notation.address import UNSAFE_ADDRESS, holds_secret, variables_in
from sfumato.tasks.schema.names import safe_name

LONGEST_SCHEMA = 57
"""The bytes of a name in PostgreSQL, without those of a version's number."""
_OF_STORES = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")


def _without_secret(uri: str) -> str:
    if holds_secret(uri):
        raise ValueError(
            "contains a password. Write ${NAME} in its place, and set NAME in the environment"
        )
    return uri


class StoreDestination(BaseModel):
    """A store of objects where the line's directory is copied to."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    uri: Annotated[
        str,
        Field(
            pattern=r"^s3://[^/\s@:?#]+(/[^\s?#]*)?$",
            description="s3://bucket/prefix, below which the line's directory is copied",
        ),
    ]
    endpoint: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s/?#@]+/?$",
            description="the endpoint of an S3-compatible store; otherwise AWS_ENDPOINT_URL",
        ),
    ] = None
    prefix: Annotated[
        str,
        Field(
            alias="keys",  # no name of ours: what has `keys` is taken for a mapping
            pattern=r"^[A-Z][A-Z0-9_]{0,63}$",
            description="what the variables of its keys begin with: <keys>_ACCESS_KEY_ID, …",
        ),
    ] = "AWS"

    @property
    def variables(self) -> list[str]:
        """The variables of the environment that may hold its secrets."""
        return [*variables_in(self.uri), *(f"{self.prefix}_{name}" for name in _OF_STORES)]


class DatabaseDestination(BaseModel):
    """A PostgreSQL database, in which each version of the line has a schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    uri: Annotated[
        str,
        Field(
            pattern=r"^postgresql://\S+$",
            description=(
                "postgresql://HOST/DATABASE; write its password as ${NAME}, and set NAME "
                "in the environment"
            ),
            json_schema_extra={"not": {"pattern": UNSAFE_ADDRESS}},
        ),
        AfterValidator(_without_secret),
    ]
    within: Annotated[
        str | None,
        Field(
            alias="schema",
            pattern=r"^[a-z_][a-z0-9_]*$",
            max_length=LONGEST_SCHEMA,
            description="the schema of the current version's views; otherwise named after the line",
        ),
    ] = None
    readers: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=63)], ...],
        Field(description="roles that may read every version"),
    ] = ()

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        if (self.within or "").startswith("pg_"):
            raise ValueError(
                "schema: names that begin with pg_ belong to PostgreSQL. Choose another name"
            )
        if len(set(self.readers)) < len(self.readers):
            raise ValueError("readers: names a role twice. Name each once")
        return self

    @property
    def variables(self) -> list[str]:
        """The variables of the environment that may hold its secrets."""
        return variables_in(self.uri)

    def schema_of(self, line: str) -> str:
        """Return the name of the schema of the current version's views."""
        return self.within or safe_name(line)
