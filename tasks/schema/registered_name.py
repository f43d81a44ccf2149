"""A name that a spec writes, one of those in a registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema


@dataclass(frozen=True, eq=False)
class RegisteredName:
    """A pydantic annotation: the text is a key of a registry at the time of validation.

    Errors are those of a literal with these values.

    Attributes:
        registry: of the names.
        admits: which entries are meant.
    """

    registry: Mapping[str, Any]
    admits: Callable[[Any], bool] = lambda _: True

    def __get_pydantic_core_schema__(
        self, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"enum": self._names(), "type": "string"}

    def _read(self, value: Any) -> str:
        if isinstance(value, str) and value in self._names():
            return value
        *first, last = map(repr, self._names())
        expected = f"{', '.join(first)} or {last}" if first else last
        raise PydanticKnownError("literal_error", {"expected": expected})

    def _names(self) -> list[str]:
        return [name for name, entry in self.registry.items() if self.admits(entry)]
