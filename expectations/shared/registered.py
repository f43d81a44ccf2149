"""Registries: entries that are imported when they are named, and choices that a spec writes.

The registry is a literal mapping, read at each validation: every entry is a choice.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema


@dataclass(frozen=True, eq=False)
class Registered:
    """A pydantic annotation: under `key`, a mapping names its class in `registry`.

    Errors are those of a discriminated union, each with the path of its key.

    Attributes:
        key: that names the class.
        registry: the classes.
        untold: the entries of which no schema or error tells, because nobody writes them.
    """

    key: str
    registry: Mapping[str, Any]
    untold: Sequence[str] = ()

    def __get_pydantic_core_schema__(
        self, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _read_and_written(self._read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        choices = [self._schema_of(self.registry[name], handler) for name in self._choices]
        return {"oneOf": choices, "discriminator": {"propertyName": self.key}}

    def _read(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            if self._is_entry(value):
                return value
            raise PydanticKnownError("model_attributes_type")
        if self.key not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": repr(self.key)})
        named = value[self.key]
        if not isinstance(named, str) or named not in self.registry:
            raise PydanticKnownError(
                "union_tag_invalid",
                {
                    "discriminator": repr(self.key),
                    "tag": str(named),
                    "expected_tags": ", ".join(map(repr, self._choices)),
                },
            )
        return adapter_of(self.registry[named]).validate_python(value)

    @property
    def _choices(self) -> list[str]:
        return [name for name in self.registry if name not in self.untold]

    def _is_entry(self, value: Any) -> bool:
        named = getattr(value, self.key, None)
        if not isinstance(named, str) or named not in self.registry:
            return False
        kind = self.registry[named]
        nested = _nested_registry(kind)
        return nested._is_entry(value) if nested else isinstance(value, kind)

    @staticmethod
    def _schema_of(kind: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = adapter_of(kind).core_schema
        nested = _nested_registry(kind)
        return nested.__get_pydantic_json_schema__(schema, handler) if nested else handler(schema)


@dataclass(frozen=True, eq=False)
class Deferred:
    """A pydantic annotation: a mapping is read as a class that is imported at its first use.

    Most documents do not have such a part, and never import it.

    Attributes:
        place: of the class, `module:attribute`.
        in_short: whether a document may also have a text, which is expanded before it is read.
    """

    place: str
    in_short: bool = False

    def __get_pydantic_core_schema__(
        self, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _read_and_written(self._read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(adapter_of(_import(self.place)).core_schema)
        return {"anyOf": [{"type": "string"}, schema]} if self.in_short else schema

    def _read(self, value: Any) -> Any:
        if value is None or isinstance(value, str | int | float | list | tuple):
            raise PydanticKnownError("model_attributes_type")
        return adapter_of(_import(self.place)).validate_python(value)


def _read_and_written(read: Callable[[Any], Any]) -> CoreSchema:
    """Return the schema of a value that a function reads, and that its own class writes."""
    written = core_schema.plain_serializer_function_ser_schema(_dump, info_arg=True)
    return core_schema.no_info_plain_validator_function(read, serialization=written)


def _dump(value: Any, info: core_schema.SerializationInfo) -> Any:
    kind: Any = type(value)
    return adapter_of(kind).dump_python(
        value,
        mode="json" if info.mode == "json" else "python",
        by_alias=info.by_alias,
        exclude_none=info.exclude_none,
        exclude_unset=info.exclude_unset,
        exclude_defaults=info.exclude_defaults,
    )


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Return the reader and writer of a kind, built once at its first use: builds are deferred."""
    adapter = TypeAdapter[Any](kind)
    adapter.rebuild()
    return adapter


def classes(registry: Mapping[str, Any]) -> tuple[type, ...]:
    """Return every class of a registry, including those of nested registries."""
    kinds: list[type] = []
    for kind in registry.values():
        nested = _nested_registry(kind)
        kinds += [kind] if nested is None else classes(nested.registry)
    return tuple(kinds)


def _nested_registry(kind: Any) -> Registered | None:
    return next((part for part in get_args(kind) if isinstance(part, Registered)), None)


Entry = TypeVar("Entry")


class Entries(MutableMapping[str, Entry]):
    """Entries by their names, each imported at its first use.

    The places are literal strings in the source: the tests of the house read them there, also draw
    arrows of imports through them, and import every one.
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        """Note where entries are, without importing any.

        Args:
            package: which the places begin with.
            places: by the name of each entry `module:attribute` below that package, or the module
                alone where it is the entry.
        """
        self._package = package
        self._places = dict(places)
        self._entries: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            self._entries[name] = _import(f"{self._package}.{self._places[name]}")
        return self._entries[name]

    def __setitem__(self, name: str, entry: Entry) -> None:
        self._places.setdefault(name, "")
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._entries.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _import(place: str) -> Any:
    module, _, attribute = place.partition(":")
    imported = import_module(module)
    return getattr(imported, attribute) if attribute else imported
