"""Examples of promises for users of their expectations: a small table, and what it keeps.

The same promise does not hold if one more column distinguishes the rows.
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
    "quasi_identifiers": "the columns by which people may be recognised: equal rows are one group",
    "sensitive": "the column with the values to protect",
}


def example_tests(model: type[PrivacyModel]) -> list[dict[str, Any]]:
    """Return a model's examples in the form of Great Expectations' gallery, if it has any."""
    tests = [
        {
            "title": f"{case.lower()}_case",
            "exact_match_out": False,
            "include_in_gallery": True,
            "in": parameters,
            "out": {"success": case == "Passing"},
        }
        for case, parameters in _cases(model)
    ]
    return [{"data": dict(DATA), "tests": tests}] if tests else []


def explanation(model: type[PrivacyModel], name: str) -> str:
    """Return the docstring of a model's expectation, which is called `name`."""
    parts = [f"Expect {model.title}. {inspect.getdoc(model)}", _arguments(model)]
    cases = [_example_text(case, parameters, model, name) for case, parameters in _cases(model)]
    return "\n\n".join([*parts, *([_table(), *cases] if cases else [])])


def key_of(model: type[PrivacyModel], field: str) -> str:
    """Return the name that an expectation has for a field of its model."""
    return model.column_key if field == "sensitive" else field


def _cases(model: type[PrivacyModel]) -> Iterator[tuple[str, dict[str, Any]]]:
    about = {model.column_key: _SENSITIVE} if model.counts_values() else {}
    for case, columns in _CASES if model.example else ():
        yield case, {"quasi_identifiers": columns, **about, **model.example}


def _arguments(model: type[PrivacyModel]) -> str:
    hints = get_type_hints(model, include_extras=True)
    named = {key_of(model, f.name): hints[f.name] for f in fields(model)}
    texts = {name: _SCOPE.get(name) or _description(hint) for name, hint in named.items()}
    lines = [f"    {name}: {text}." for name, text in texts.items() if text]
    return "\n".join(["Args:", *lines])


def _description(hint: Any) -> str | None:
    infos = (info for info in getattr(hint, "__metadata__", ()) if isinstance(info, FieldInfo))
    return next((info.description for info in infos if info.description), None)


def _table() -> str:
    rows = [list(DATA), *(list(map(str, row)) for row in zip(*DATA.values(), strict=True))]
    lines = ["    " + "".join(cell.ljust(8) for cell in row).rstrip() for row in rows]
    return "\n".join(["Example data:", *lines])


def _example_text(
    case: str, parameters: Mapping[str, Any], model: type[PrivacyModel], name: str
) -> str:
    arguments = ", ".join(f"{key}={json.dumps(value)}" for key, value in parameters.items())
    tags = {f.name: f.default for f in fields(model) if f.name in ("model", "variant")}
    columns = {key: pa.array(values) for key, values in DATA.items()}
    about = {_SENSITIVE: columns[_SENSITIVE]} if model.counts_values() else {}
    groups = groups_of_rows({key: columns[key] for key in parameters["quasi_identifiers"]}, about)
    verdict = PROMISE.validate_python({**tags, **parameters}).check(groups)
    seen = {"success": verdict.holds, "result": {"observed_value": observation(verdict)}}
    return f"{case} case:\n    {name}({arguments})\n    {seen}"
