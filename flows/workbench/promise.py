"""The step of the promise: which one, against whom, and what each value of its numbers is worth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.expectations.shared.errors import SfumatoError, SpecError
from sfumato.flows.choice.policies import explanation, policy_rows
from sfumato.flows.inputs.policies import policy_names
from sfumato.flows.inputs.spec import json_schema
from sfumato.flows.workbench.counts import CountedTable
from sfumato.flows.workbench.two_tables import write_promises
from sfumato.flows.workbench.visit import Visit
from sfumato.flows.workbench.worth import (
    Worth,
    is_counted,
    range_of,
    reads_as_number,
    step_of,
    worth_of,
)
from sfumato.tasks.report.numbers import half_width, percent
from sfumato.tasks.report.steward.tables import Table, table_of, with_shares

_SHARES = ("alpha", "beta", "t", "min", "max", "rho1", "rho2")
_MOST = {"k": 50, "l": 20}
_LARGEST = {"beta": 10.0, "delta": 5.0, "c": 10.0}
_SWEEPS: Mapping[str, str] = {
    "k": "2..50",
    "l": "2..20",
    "alpha": "0.05..0.9",
    "t": "0.05..0.5",
    "beta": "0.5..8",
    "delta": "0.2..4",
    "e": "",  # from a quarter of its value to four times of it
}
Keys = Mapping[str, Any]


@dataclass(frozen=True)
class AskedThreat:
    """A question about attackers, and what a spec promises if the answer is yes.

    Attributes:
        asks: the question.
        means: what the promise does, in words.
        promises: the promises; one that protects values is written for each sensitive column.
        partition: the partition that fits.
        form: the form that fits.
    """

    asks: str
    means: str
    promises: tuple[Keys, ...]
    partition: Keys
    form: Keys


QUESTIONS: Mapping[str, AskedThreat] = {
    "presence": AskedThreat(
        "Must others not learn that a person is in the table?",
        "Each group shows which values occur, and not which belong together. Readers ask counts.",
        ({"model": "alpha-beta", "alpha": 0.5, "beta": 0.5},),
        {"method": "ambiguity"},
        {"method": "ambiguous"},
    ),
    "rows": AskedThreat(
        "May exact ages, towns and dates not be published?",
        "Labels such as age ranges replace them, so that each person looks like k - 1 others. Each "
        "group has l different sensitive values.",
        ({"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "variant": "distinct", "l": 3}),
        {"method": "mondrian"},
        {"method": "generalized"},
    ),
    "few": AskedThreat(
        "Are there many such columns, and do others know at most two of a person's?",
        "Single cells are hidden until any two columns together show each person like k - 1 "
        "others. No sensitive value is more than a share c of them.",
        ({"model": "lkc-privacy", "l": 2, "k": 5, "c": 0.7},),
        {"method": "local-suppression"},
        {"method": "suppressed"},
    ),
    "numbers": AskedThreat(
        "Is the sensitive column a number of which averages and sums are wanted?",
        "Exact ages and towns are published. In each group, sensitive numbers are shuffled: at "
        "least k different ones, at least e apart.",
        ({"model": "ke-anonymity", "k": 5, "e": None},),
        {"method": "ke"},
        {"method": "permuted"},
    ),
    "categories": AskedThreat(
        "Is it a category of which counts are wanted?",
        "Exact ages and towns are published. In each group, sensitive values are shuffled: at "
        "least l different ones, and no frequent one.",
        ({"model": "l-diversity", "variant": "distinct", "l": 3},),
        {"method": "anatomy"},
        {"method": "permuted"},
    ),
}
"""The questions of the guide's page on choosing, in order; the first yes is where to begin."""
ADDED: Mapping[str, Keys] = {
    "k-anonymity": {"model": "k-anonymity", "k": 5},
    "l-diversity": {"model": "l-diversity", "variant": "distinct", "l": 3},
    "t-closeness": {"model": "t-closeness", "t": 0.2, "distance": "equal"},
    "alpha-k": {"model": "alpha-k", "alpha": 0.5, "k": 5},
    "beta-likeness": {"model": "beta-likeness", "beta": 2},
    "delta-disclosure": {"model": "delta-disclosure", "delta": 1},
}
"""Promises that can be added to others, with numbers to begin with."""
_PROTECTING_NO_VALUE = ("k-anonymity", "k-map", "km-anonymity")


@dataclass(frozen=True)
class Number:
    """A number of a promise, as a slider shows it.

    Attributes:
        name: the key of the spec.
        value: its value, as written.
        words: what it means.
        low: the least value of the slider.
        high: the largest value of the slider; None for a number without one.
        step: the step of the slider.
    """

    name: str
    value: Any
    words: str
    low: float
    high: float | None
    step: float


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: questions, promises with sliders, their worth, and policies."""
    table, uncounted = visit.table_or_fault()
    promises = [p for p in visit.spec.document.get("promises") or () if isinstance(p, Mapping)]
    return {
        "questions": QUESTIONS,
        "promises": [(p, _with_ranges(p, numbers_of(p), table, visit)) for p in promises],
        "added": ADDED,
        "worth": [] if table is None else list(_worth(table, promises, visit)),
        "uncounted_numbers": [
            f"{p['model']}: {number.name}"
            for p in promises
            for number in numbers_of(p)
            if not is_counted(p, number.name)
        ],
        "counting": visit.progress_of(table, uncounted),
        "uncounted": uncounted,
        "measured": bool((visit.spec.document.get("evaluate") or {}).get("workloads")),
        "sweeps": [name for name in _SWEEPS if any(name in promise for promise in promises)],
        "job": visit.latest("sweep"),
        "drafted": visit.latest("plan"),
        "swept": _swept(visit),
        "risk": _risk_of_draft(visit),
        "policies": policy_rows(),
        "policy": _policy(visit),
    }


def numbers_of(promise: Keys) -> Iterator[Number]:
    """Yield the numbers of a promise, with what the spec's schema tells about each."""
    properties = _schema_of(promise).get("properties", {})
    for name, value in promise.items():
        schema = properties.get(name, {})
        whole = schema.get("type") == "integer"
        if not whole and not _is_number(schema):
            continue
        is_share = name in _SHARES and promise["model"] != "beta-likeness"
        is_share |= (promise["model"], name) == ("lkc-privacy", "c")
        high = float(_MOST.get(name, 50)) if whole else 1.0 if is_share else _LARGEST.get(name)
        low, step = (float(schema.get("minimum", 1)), 1.0) if whole else (0.0, 0.01)
        yield Number(name, value, schema.get("description", ""), low, high, step)


def _is_number(schema: Keys) -> bool:
    return any(part.get("type") == "number" for part in schema.get("anyOf", ()))


def _schema_of(promise: Keys) -> Keys:
    """Return the part of the spec's schema that is about a promise; empty if there is none."""
    branches = list(json_schema()["properties"]["promises"]["items"]["oneOf"])
    branches += [inner for branch in branches for inner in branch.get("oneOf", ())]
    definitions = json_schema()["$defs"]
    for branch in branches:
        schema = definitions[branch["$ref"].split("/")[-1]] if "$ref" in branch else branch
        properties = schema.get("properties", {})
        is_model = properties.get("model", {}).get("const") == promise.get("model")
        variant = properties.get("variant", {}).get("const")
        if is_model and variant in (None, promise.get("variant")):
            return dict(schema)
    return {}


def _with_ranges(
    promise: Keys, numbers: Iterator[Number], table: CountedTable | None, visit: Visit
) -> list[Number]:
    """Return numbers with sliders for those that are lengths of a column's range.

    Before the table is counted, such a slider ends at four times its value.
    """
    columns = _columns_of(promise, visit)
    length = range_of(table, columns[0]) if columns else None
    return [
        replace(number, high=length or _four_times(number.value), step=step_of(length))
        if number.name == "e"
        else number
        for number in numbers
    ]


def _four_times(value: Any) -> float | None:
    return 4 * float(value) if reads_as_number(value) and float(value) > 0 else None


def _worth(table: CountedTable, promises: Sequence[Keys], visit: Visit) -> Iterator[Worth]:
    """Yield what numbers of all promises are worth; those of moved sliders come with the visit."""
    alone = table.groups().alone
    yield "", "rows that are unique now", alone, percent(alone / max(table.rows.rows, 1))
    for place, promise in enumerate(promises):
        numbers = {
            number.name: visit.sent.get(f"{place}.{number.name}") or number.value
            for number in numbers_of(promise)
        }
        columns = [name for name in _columns_of(promise, visit) if table.rows.has(name)]
        yield from worth_of(table, promise, numbers, columns)


def _columns_of(promise: Keys, visit: Visit) -> list[str]:
    own = promise.get("sensitive")
    return [own] if isinstance(own, str) else sensitive_columns(visit)


def sensitive_columns(visit: Visit) -> list[str]:
    """Return the names of the sensitive columns of a spec."""
    written = visit.spec.document.get("columns") or {}
    return [name for name, keys in written.items() if keys.get("role") == "sensitive"]


def _swept(visit: Visit) -> list[dict[str, str]]:
    """Return what each value of a swept number costs, if that was computed for this spec."""
    job = visit.latest("sweep")
    if job is None or job.state != "done" or not visit.is_present(job):
        return []
    return [
        {
            "value": row["name"].rpartition(" · ")[2],
            "accuracy": half_width(row["accuracy"]),
            "guessed": "not attacked" if row["guessed"] is None else percent(row["guessed"]),
            "groups": f"{row['groups']:,}",
            "suppressed": f"{row['suppressed']:,}",
        }
        for row in job.document.get("alternatives", ())
    ]


def _risk_of_draft(visit: Visit) -> Table | None:
    """Return the risk before and after, in the latest draft of the spec as it is now."""
    job = visit.latest("plan")
    if job is None or job.state != "done" or not visit.is_present(job):
        return None
    return table_of(
        "Share of the rows, in the latest draft", with_shares(job.document.get("risk", ()))
    )


def _policy(visit: Visit) -> dict[str, Any] | None:
    """Return what the spec keeps and breaks of a policy: the one that is looked at, or its own."""
    name = visit.sent.get("policy") or None
    if name is not None and name not in policy_names():
        return {"policy": name, "fault": "there is no such policy. Choose one of the list"}
    if name is None and not visit.spec.document.get("policy"):
        return None
    try:
        return explanation(visit.spec.path, name)
    except SfumatoError as error:
        return {"policy": name or "", "fault": str(error)}


def answer(visit: Visit) -> None:
    """Write the promises, the partition and the form of a question that was answered with yes."""
    question = QUESTIONS.get(visit.sent.get("question"))
    if question is None:
        raise SpecError("there is no such question. Reload the page, and choose again")
    promises = [keys for promise in question.promises for keys in _for_columns(promise, visit)]
    changes: dict[tuple[str | int, ...], Any] = {
        ("promises",): promises,
        ("partition",): dict(question.partition),
        ("groups",): None,
        ("form",): dict(question.form),
    }
    visit.set(changes, "the promise")


def _for_columns(promise: Keys, visit: Visit) -> list[dict[str, Any]]:
    """Return a promise for each sensitive column that it protects; its `e` is half the median."""
    columns = sensitive_columns(visit)
    if promise["model"] in _PROTECTING_NO_VALUE:
        return [dict(promise)]
    named = len(columns) > 1
    return [
        {
            **{k: _half_median(visit, column) if v is None else v for k, v in promise.items()},
            **({"sensitive": column} if named else {}),
        }
        for column in columns or [""]
    ]


def _half_median(visit: Visit, column: str) -> int:
    """Return half the median of a column of numbers, 1 if it is unknown."""
    table, _ = visit.table_or_fault()
    facts = None if table is None else table.facts.get(column)
    if facts is None or not facts.is_number or not facts.rows_with_value:
        return 1
    place = int(np.searchsorted(np.cumsum(facts.rows), facts.rows_with_value / 2))
    median = float(facts.column.values[place].as_py())
    return max(1, round(abs(median) / 2))


def change_numbers(visit: Visit) -> None:
    """Write the numbers of promises that were chosen."""
    changes: dict[tuple[str | int, ...], Any] = {}
    for place, promise in enumerate(visit.spec.document.get("promises") or ()):
        for number in numbers_of(promise):
            text = visit.sent.get(f"{place}.{number.name}").strip()
            if text and text != str(number.value):
                changes["promises", place, number.name] = read_number(number.name, text)
    if changes:
        visit.set(changes, "numbers of promises")


def read_number(name: str, text: str) -> int | float:
    """Return a number of a form, whole if it is written so.

    Raises:
        SpecError: where it is no number.

    >>> read_number("k", "5"), read_number("t", "0.2")
    (5, 0.2)
    """
    if not reads_as_number(text):
        raise SpecError(f"{name}: {text!r} is not a number. Write digits, such as 5 or 0.2")
    number = Decimal(text)
    is_whole = number == number.to_integral_value()
    return int(number) if is_whole else float(number)


def add(visit: Visit) -> None:
    """Add a promise, for each sensitive column if it protects values."""
    promise = ADDED.get(visit.sent.get("model"))
    if promise is None:
        raise SpecError(f"there is no such promise. Choose from {', '.join(ADDED)}")
    place = len(visit.spec.document.get("promises") or ())
    added = _for_columns(promise, visit)
    changes = {("promises", place + number): keys for number, keys in enumerate(added)}
    visit.set(changes, f"{promise['model']} added")


def remove(visit: Visit) -> None:
    """Remove a promise."""
    visit.set({("promises", visit.sent.number("place")): None}, "a promise removed")


def sweep(visit: Visit) -> str:
    """Start to compute what each value of a number costs."""
    name = visit.sent.get("name")
    if name not in _SWEEPS:
        raise SpecError(f"there is no such number. Choose from {', '.join(_SWEEPS)}")
    option = f"--sweep={name}={_SWEEPS[name] or _range_around(visit, name)}"
    arguments = ["plan", option, "--format=json", "--", str(visit.spec.path)]
    return visit.start(arguments, f"The sweep over {name}", "sweep")


def _range_around(visit: Visit, name: str) -> str:
    """Return a range of values around that of the first promise with a number.

    Raises:
        SpecError: where no promise has it, or its value is no number.
    """
    promises = visit.spec.document.get("promises") or ()
    value = next((p[name] for p in promises if isinstance(p, Mapping) and name in p), None)
    if not reads_as_number(value):
        raise SpecError(f"no promise has a number {name}. Reload the page, and choose again")
    number = Decimal(str(value))
    return f"{max(number // 4, Decimal(1)):f}..{max(4 * number, Decimal(4)):f}"


def draft(visit: Visit) -> str:
    """Start a draft, which computes what a release would leave of the risk; stay on this page."""
    visit.start(["plan", str(visit.spec.path), "--format=json"], f"Draft of {visit.spec.name}")
    return visit.here


def change_policy(visit: Visit) -> None:
    """Write the policy that a release must keep, or none.

    Raises:
        SpecError: where there is no such policy.
    """
    name = visit.sent.get("policy") or None
    if name is not None and name not in policy_names():
        raise SpecError("there is no such policy. Choose one of the list")
    visit.set({("policy",): name}, "the policy")


ACTIONS = {
    "two": write_promises,
    "answer": answer,
    "numbers": change_numbers,
    "add": add,
    "remove": remove,
    "sweep": sweep,
    "draft": draft,
    "policy": change_policy,
}
"""What the forms of the page do."""
