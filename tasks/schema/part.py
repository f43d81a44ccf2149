"""A part of a spec, as every part is."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of a spec: frozen, unknown keys refused, `some-key` in YAML is `some_key` here."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
        defer_build=True,
    )
