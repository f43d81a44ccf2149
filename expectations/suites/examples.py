"""Examples of promises for who uses their expectations: a small table, a promise that holds of it.

The same promise does not hold where one more column tells the rows apart.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, get_type_hints

import pyarrow as pa
from pydantic.fields import FieldInfo

from sfumato.expectations.groups.ranks import groups_of_rows
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.rules.verdicts import observation

DATA: Final[Mapping[str, list[Any]]] = {
    "age": ["30-39", "30-39", "30-39", "30-39", "40-49", "40-49", "40-49", "40-49"],
    "sex": ["f", "f", "f", "m", "f", "m", "m", "m"],
    "visits": [1, 2, 3, 4, 1, 2, 3, 4],
}
_SENSITIVE: Final = "visits"
_CASES: Final = (("Passing", ["age"]), ("Failing", ["age", "sex"]))
_SCOPE: Final[Mapping[str, str]] = {
    "quasi_identifiers": "the columns by which people may be known: equal rows are one group",
    "sensitive": "the column whose values are not to be known of anybody",
}


def example_tests(model: type[PrivacyModel]) -> list[dict[str, Any]]:
    """A model's examples as Great Expectations' gallery has them; none where it gives none."""
    tests = [
        {
            "title": f"{case.lower()}_case",
            "exact_match_out": False,
            "include_in_gallery": True,
            "in": asked,
            "out": {"success": case == "Passing"},
        }
        for case, asked in _cases(model)
    ]
    return [{"data": dict(DATA), "tests": tests}] if tests else []


def explanation(model: type[PrivacyModel], name: str) -> str:
    """The docstring of a model's expectation, which is called `name`."""
    parts = [f"Expect {model.title}. {inspect.getdoc(model)}", _arguments(model)]
    cases = [_shown(case, asked, model, name) for case, asked in _cases(model)]
    return "\n\n".join([*parts, *([_table(), *cases] if cases else [])])


def key_of(model: type[PrivacyModel], field: str) -> str:
    """What an expectation calls a field of its model."""
    return model.column_key if field == "sensitive" else field


def _cases(model: type[PrivacyModel]) -> Iterator[tuple[str, dict[str, Any]]]:
    about = {model.column_key: _SENSITIVE} if model.counts_values() else {}
    for case, by in _CASES if model.example else ():
        yield case, {"quasi_identifiers": by, **about, **model.example}


def _arguments(model: type[PrivacyModel]) -> str:
    hints = get_type_hints(model, include_extras=True)
    named = {key_of(model, f.name): hints[f.name] for f in fields(model)}
    told = {name: _SCOPE.get(name) or _description(hint) for name, hint in named.items()}
    lines = [f"    {name}: {text}." for name, text in told.items() if text]
    return "\n".join(["Args:", *lines])


def _description(hint: Any) -> str | None:
    found = (one for one in getattr(hint, "__metadata__", ()) if isinstance(one, FieldInfo))
    return next((one.description for one in found if one.description), None)


def _table() -> str:
    rows = [list(DATA), *(list(map(str, row)) for row in zip(*DATA.values(), strict=True))]
    lines = ["    " + "".join(cell.ljust(8) for cell in row).rstrip() for row in rows]
    return "\n".join(["Example data:", *lines])


def _shown(case: str, asked: Mapping[str, Any], model: type[PrivacyModel], name: str) -> str:
    arguments = ", ".join(f"{key}={json.dumps(value)}" for key, value in asked.items())
    tags = {f.name: f.default for f in fields(model) if f.name in ("model", "variant")}
    columns = {key: pa.array(values) for key, values in DATA.items()}
    about = {_SENSITIVE: columns[_SENSITIVE]} if model.counts_values() else {}
    groups = groups_of_rows({key: columns[key] for key in asked["quasi_identifiers"]}, about)
    verdict = PROMISE.validate_python({**tags, **asked}).check(groups)
    seen = {"success": verdict.holds, "result": {"observed_value": observation(verdict)}}
    return f"{case} case:\n    {name}({arguments})\n    {seen}"
