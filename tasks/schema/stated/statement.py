"""A statement of a publisher's: frozen, and of nothing but what it may tell."""

from pydantic import BaseModel, ConfigDict


class PublisherStatement(BaseModel):
    """A part of what is stated; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
