"""Set-ups of sdcMicro: the calls of an R script, read and never run.

Source: `createSdcObj`, `localSuppression` (`kAnon`), `globalRecode` and `topBotCoding` of sdcMicro
5.8 (`R/aux_functions.r`, `R/localSuppression.R`, `R/globalRecode.R`, `R/topBotCoding.R`): their
parameters, in order, and their defaults.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.hostile import read_foreign_text
from sfumato.tasks.other_tools.r_script import COMPUTED, RCall, Value, read_calls, words_on
from sfumato.tasks.other_tools.setup import (
    OTHERS_MAY_KNOW,
    Cut,
    ForeignColumn,
    ForeignSetup,
    Omission,
    is_name,
    name_list,
    weight_role,
)
from sfumato.tasks.schema.columns import Role

TOOL = "sdcMicro script"
MOST_BREAKS = 1_000
_SETUP = (
    *("dat", "keyVars", "numVars", "pramVars", "ghostVars", "weightVar", "hhId", "strataVar"),
    *("sensibleVar", "excludeVars", "options", "seed", "randomizeRecords", "alpha"),
)
_SUPPRESSION = ("obj", "k", "importance", "combs")
_RECODING = ("obj", "column", "breaks", "labels", "method")
_TAIL = ("obj", "value", "replacement", "kind", "column")
_DEFAULT_K = 2
_UNUSED: Mapping[str, str] = {
    "pramVars": "values are not changed at random here, as pram does",
    "ghostVars": (
        "values are not suppressed together with those of other columns. Give such a column role "
        "quasi-identifier"
    ),
}
_ROLES: Mapping[str, tuple[Role, str]] = {
    "keyVars": ("quasi-identifier", "a categorical key variable in sdcMicro"),
    "numVars": (
        "quasi-identifier",
        "a continuous key variable in sdcMicro, so others may know it. If others cannot, and it "
        "has to be protected, give it role sensitive",
    ),
    "weightVar": weight_role("sdcMicro"),
    "hhId": ("identifier", "identifies households in sdcMicro"),
    "sensibleVar": ("sensitive", "a sensible variable in sdcMicro"),
    "excludeVars": ("drop", "excluded in sdcMicro"),
}
_STRATUM = "a stratum in sdcMicro: groups are made within each of its values"
_CODED = f"recoded in sdcMicro, {OTHERS_MAY_KNOW}"
_PERTURBS = (
    "changes values at random or to means, which no form here does. A release shows true values in "
    "labels, or exact ones among others"
)
_WITHOUT: Mapping[str, str] = {
    "addNoise": _PERTURBS,
    "LocalRecProg": "recodes locally by an algorithm of its own; partition mondrian does so here",
    "groupAndRename": "joins levels by name. Write them as a hierarchy of the column",
    "ldiversity": "only measures. The draft promises l-diversity of sensible variables",
    "microaggregation": _PERTURBS,
    "mafast": _PERTURBS,
    "pram": _PERTURBS,
    "rankSwap": _PERTURBS,
    "recordSwap": _PERTURBS,
    "shuffle": _PERTURBS,
    "undolast": (
        "takes back the step before it, and the draft has all steps. Take that step out of the "
        "script, and import it again"
    ),
}
_STEPS = ("createSdcObj", "localSuppression", "kAnon", "globalRecode", "topBotCoding")


@dataclass
class _Collected:
    """Parts of a set-up that were read so far."""

    columns: dict[str, ForeignColumn] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    strata: tuple[str, ...] = ()
    household: str | None = None
    ks: list[int] = field(default_factory=list)

    def omit(self, what: str, why: str) -> None:
        """Add a part that is not taken over."""
        self.omissions.append(Omission(what, why))


def read_script(path: Path, file: str) -> ForeignSetup:
    """Return the set-up of an R script that uses sdcMicro.

    Raises:
        InputError: if it is no R script, or has not exactly one call of `createSdcObj` outside of
            functions, loops and conditions.
    """
    calls = read_calls(read_foreign_text(path, file), {*_STEPS, *_WITHOUT}, file)
    return setup_of_calls(calls, file)


def setup_of_calls(calls: Sequence[RCall], file: str) -> ForeignSetup:
    """Return the set-up that calls of sdcMicro make.

    Raises:
        InputError: if there is not exactly one call of `createSdcObj` that surely runs.
    """
    first = _the_setup(calls, file)
    collected = _Collected()
    _take_variables(first, collected)
    for call in calls:
        if call is not first:
            _take_step(call, collected)
    _require_columns(collected, file)
    return _finish(collected)


def _the_setup(calls: Sequence[RCall], file: str) -> RCall:
    made = [call for call in calls if call.function == "createSdcObj" and not call.in_braces]
    if not made:
        raise InputError(
            f"{file}: has no call of createSdcObj outside of functions, loops and "
            "conditions, so its key variables are not known"
        )
    if len(made) > 1:
        lines = ", ".join(str(call.line) for call in made)
        raise InputError(
            f"{file}: calls createSdcObj {len(made)} times (lines {lines}). Keep "
            "the one that you want"
        )
    return made[0]


def _take_variables(call: RCall, collected: _Collected) -> None:
    """Take the roles of variables from a call of `createSdcObj`."""
    values = call.arguments(_SETUP)
    _take_roles(values, call.line, collected)
    collected.strata = tuple(_names(values.get("strataVar"), "strataVar", call.line, collected))
    for name in collected.strata:
        if name not in collected.columns:
            collected.columns[name] = ForeignColumn("quasi-identifier", _STRATUM, bare=True)
    for parameter, why in _UNUSED.items():
        if values.get(parameter) is not None:
            collected.omit(parameter, why)


def _take_roles(values: Mapping[str, Value], line: int, collected: _Collected) -> None:
    """Take the roles of the variables that arguments name."""
    for parameter, (role, reason) in _ROLES.items():
        for name in _names(values.get(parameter), parameter, line, collected):
            if name in collected.columns:
                collected.omit(
                    f"{name!r} in {parameter}", "has a role already, by an earlier argument"
                )
                continue
            is_number = parameter in ("numVars", "weightVar")
            collected.columns[name] = ForeignColumn(
                role, reason, "decimal" if is_number else None, bare=parameter != "numVars"
            )
            if parameter == "hhId":
                collected.household = name


_WILDCARDS = (
    "a missing value counts as a value of its own here, and matches no other. So k is never "
    "larger here than in sdcMicro"
)


def _names(value: Any, parameter: str, line: int, collected: _Collected) -> list[str]:
    """Return the names of an argument; computed ones and numbers of columns are omissions."""
    if value is None:
        return []
    values = value if isinstance(value, tuple) else (value,)
    if all(isinstance(name, str) and is_name(name) for name in values):
        return list(dict.fromkeys(values))
    if all(isinstance(name, int) and not isinstance(name, bool) for name in values):
        why = "numbers of columns depend on the data frame. Write names in the script"
    elif value is COMPUTED:
        why = "is computed by the script, and no R is run. Write the names in the script"
    else:
        why = "is no name of a column"
    collected.omit(f"{parameter} (line {line})", why)
    return []


def _take_step(call: RCall, collected: _Collected) -> None:
    what = f"{call.function} (line {call.line})"
    if call.function in _WITHOUT:
        collected.omit(what, _WITHOUT[call.function])
    elif call.in_braces:
        collected.omit(what, "is in a function, loop or condition, so it may not run")
    elif call.function in ("localSuppression", "kAnon"):
        _take_suppression(call, what, collected)
    elif call.function == "globalRecode":
        _take_recoding(call, what, collected)
    elif call.function == "topBotCoding":
        _take_tail(call, what, collected)


def _take_suppression(call: RCall, what: str, collected: _Collected) -> None:
    """Take k from a call of `localSuppression`; suppression within subsets of keys is none."""
    values = call.arguments(_SUPPRESSION)
    if values.get("combs") is not None:
        collected.omit(
            what,
            "asks for k-anonymity of combinations of some key variables (combs). Write a promise "
            "for each, with `quasi-identifiers: […]`",
        )
        return
    k = values.get("k", _DEFAULT_K)
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        why = "is computed by the script" if k is COMPUTED else "is no whole number"
        collected.omit(f"k of {what}", f"{why}. Write k in the draft")
        return
    collected.ks.append(k)
    default = "" if "k" in values else ", the default of sdcMicro"
    collected.changes.append(f"k-anonymity with k {k}{default}, from {what}")
    if values.get("importance") is not None:
        collected.omit(
            f"importance of {what}", "partitions here choose by themselves which cells to suppress"
        )


def _take_recoding(call: RCall, what: str, collected: _Collected) -> None:
    """Take intervals from a call of `globalRecode` as the hierarchy of a column."""
    values = call.arguments(_RECODING)
    name = values.get("column")
    if not isinstance(name, str) or not is_name(name):
        collected.omit(what, "its column is computed by the script. Write a hierarchy by hand")
        return
    column = collected.columns.get(name, ForeignColumn("quasi-identifier", _CODED))
    if column.cut is not None:
        collected.omit(what, f"{name!r} is recoded twice, and a hierarchy has the first recoding")
        return
    cut, fault = _cut(values.get("breaks", COMPUTED), values.get("labels"))
    if cut is None:
        collected.omit(f"{what} of {name!r}", fault)
        return
    words = "the intervals of globalRecode"
    collected.columns[name] = replace(column, cut=cut, words=words, bare=False)
    collected.changes.append(f"the {len(cut.breaks) - 1} intervals of {name!r}, from {what}")
    collected.omit(
        f"{what} as a fixed recoding",
        f"{name!r} has these intervals as a level of its hierarchy, and groups may show narrower "
        "labels or exact values where they keep the promises",
    )


def _cut(breaks: Any, labels: Any) -> tuple[Cut | None, str]:
    """Return cut points with their labels, or None and the reason."""
    if breaks is COMPUTED or labels is COMPUTED:
        return None, "breaks or labels are computed by the script. Write a hierarchy by hand"
    if not isinstance(breaks, tuple):
        return None, (
            "gives a number of intervals, which sdcMicro computes from the data. The draft "
            "proposes intervals of its own"
        )
    if not 2 <= len(breaks) <= MOST_BREAKS:
        return None, f"has fewer than 2 or more than {MOST_BREAKS:,} cut points"
    if not all(isinstance(b, int | float) and not isinstance(b, bool) for b in breaks):
        return None, "has a cut point that is no number"
    ordered = tuple(sorted(breaks))
    if len(set(ordered)) < len(ordered) or not all(map(isfinite, ordered[1:-1])):
        return None, "has a cut point twice"
    return (Cut(ordered), "") if labels is None else _labelled_cut(ordered, labels)


def _labelled_cut(ordered: tuple[float, ...], labels: Any) -> tuple[Cut | None, str]:
    """Return cut points with labels of a script, or None and the reason."""
    if isinstance(labels, bool):
        return Cut(ordered), ""
    texts = labels if isinstance(labels, tuple) else (labels,)
    written = tuple(str(label) for label in texts)
    if len(written) != len(ordered) - 1 or len(set(written)) < len(written):
        return None, "has not one label of its own for each interval"
    if not all(is_name(label) and label != "*" for label in written):
        return None, "has a label that no hierarchy can have"
    return Cut(ordered, written), ""


def _take_tail(call: RCall, what: str, collected: _Collected) -> None:
    """Take a threshold from a call of `topBotCoding` as the coding `top` or `bottom`."""
    values = call.arguments(_TAIL)
    name, value, kind = values.get("column"), values.get("value"), values.get("kind", "top")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(name, str) or not is_name(name) or not is_number or kind not in _KINDS:
        collected.omit(what, "its column, value or kind is computed. Write `top` or `bottom`")
        return
    column = collected.columns.get(name, ForeignColumn("quasi-identifier", _CODED, bare=True))
    key = _KINDS[kind]
    type_ = column.type or ("integer" if isinstance(value, int) else "decimal")
    keys = {**column.keys, key: value}
    collected.columns[name] = replace(column, keys=keys, type=type_)
    collected.changes.append(f"{key} {value} of {name!r}, from {what}")
    replacement = values.get("replacement")
    if replacement != value:
        collected.omit(
            f"the replacement {words_on(replacement)} of {what}",
            f"values beyond the threshold become the threshold itself here ({value})",
        )


_KINDS = {"top": "top", "bottom": "bottom"}


def _require_columns(collected: _Collected, file: str) -> None:
    """Make sure that at least one variable has a role.

    Raises:
        InputError: otherwise, with what could not be read.
    """
    if not any(column.role == "quasi-identifier" for column in collected.columns.values()):
        why = "; ".join(map(str, collected.omissions[:3])) or "keyVars is missing"
        raise InputError(f"{file}: names no key variable that can be read: {why}")


def _finish(collected: _Collected) -> ForeignSetup:
    columns = collected.columns
    if not collected.ks:
        collected.omit(
            "local suppression",
            "the script contains no call of it with a written k, so the draft proposes k",
        )
    partition, form = _method(columns)
    promises = ({"model": "k-anonymity", "k": max(collected.ks)},) if collected.ks else ()
    collected.omit("missing values as wildcards (alpha)", _WILDCARDS)
    return ForeignSetup(
        TOOL,
        columns,
        promises,
        partition,
        form,
        collected.strata,
        collected.household,
        changes=(*_words_on_roles(columns), *collected.changes),
        omissions=tuple(collected.omissions),
    )


def _words_on_roles(columns: Mapping[str, ForeignColumn]) -> Iterator[str]:
    roles = dict.fromkeys(column.role for column in columns.values() if column.role is not None)
    for role in roles:
        names = [name for name, column in columns.items() if column.role == role]
        yield f"role {role}: {name_list(names)}"


def _method(columns: Mapping[str, ForeignColumn]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the partition and form that are nearest to recoding and local suppression.

    Cells are suppressed where nothing else is done. Recoded and continuous columns need labels, and
    sensitive ones a partition that promises something of them.
    """
    has_sensitive = any(column.role == "sensitive" for column in columns.values())
    protects = {} if has_sensitive else {"protects": "identities"}
    labelled = any(
        column.cut is not None or (column.role == "quasi-identifier" and not column.bare)
        for column in columns.values()
    )
    if has_sensitive or labelled:
        return {"method": "mondrian"}, {"method": "generalized", **protects}
    return {"method": "forest"}, {"method": "suppressed", **protects}
