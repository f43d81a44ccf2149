"""The rules of the columns of a spec: their names and roles, what groups them, and who has rows."""

from collections.abc import Callable

from sfumato.expectations.models.model import PrivacyModel
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.partitions.aimed.parameters import AimedParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.private.people.keys import PEOPLE
from sfumato.tasks.schema.column_names import (
    RESERVED,
    folded_name,
    is_like_a_path,
    names_for_release,
)
from sfumato.tasks.schema.columns import NUMBERS
from sfumato.tasks.schema.hierarchy_rules import Bands, HierarchyLevel, column_of
from sfumato.tasks.verification.signing_keys import KEYS


def _confirmation(spec: SpecParts) -> None:
    if spec.roles == "proposed":
        raise ValueError(
            "roles: are proposed, and nobody has confirmed them: read every column's role and the "
            "reason for it, change what is wrong, and write roles: confirmed"
        )


def _names(spec: SpecParts) -> None:
    for taken, what in ((KEYS, "signing keys"), (PEOPLE, "what is known of people")):
        if spec.name == taken:
            raise ValueError(f"name: {taken} is the directory of {what}: choose another")
    safe: dict[str, str] = {}
    for name in spec.columns:
        if is_like_a_path(name):
            raise ValueError(
                f"columns.{name!r}: looks like a path, or cannot be a name{_to_rename(name)}"
            )
        if name.lower() in RESERVED:
            raise ValueError(f"columns.{name}: is a reserved name{_to_rename(name)}")
        folded = folded_name(name)
        if not folded or folded in RESERVED:
            raise ValueError(
                f"columns.{name}: has no safe name for files and SQL of its own{_to_rename(name)}"
            )
        if folded in safe:
            raise ValueError(
                f"columns.{name}: collides with {safe[folded]!r} in files and SQL{_to_rename(name)}"
            )
        safe[folded] = name


def _to_rename(name: str) -> str:
    """Return what to write to give a column another name."""
    other = names_for_release([*RESERVED, name]).get(name, "another name")
    return f": give it another (source.rename: {{{name!r}: {other}}})"


def _roles(spec: SpecParts) -> None:
    if not spec.names_with_roles("quasi-identifier"):
        raise ValueError("columns: none has role quasi-identifier")
    if spec.form.protects_values and not spec.names_with_roles("sensitive"):
        raise ValueError(
            "columns: none has role sensitive (forms generalized and suppressed publish a table "
            "without any: form.protects: identities)"
        )
    for name in spec.names_with_roles("sensitive", "weight"):
        if spec.nulls == "category" and spec.columns[name].nulls is None:
            raise ValueError(
                f"columns.{name}: needs a null policy of its own: nulls: category, said of all "
                f"columns, is not for those of role {spec.columns[name].role}"
            )
        if spec.columns[name].nulls == "category" and (fault := _without_nulls(spec)):
            raise ValueError(f"columns.{name}.nulls: {fault}: use drop-row or refuse")


def _without_nulls(spec: SpecParts) -> str | None:
    """Return why no sensitive value may be missing, or None."""
    if not spec.form.keeps_nulls:
        return f"form {spec.form.method} spreads values over ranges, and a missing one is in none"
    if isinstance(spec.versions, ContinuedVersions):
        return "versions: composed follows sensitive values, none of which may be missing"
    return None


def _identities(spec: SpecParts) -> None:
    """Check forms that protect identities only: no sensitive column, and reasons for the others.

    Under other forms, refuse a reason that an insensitive column does not need.
    """
    named = spec.names_with_roles("insensitive")
    if spec.form.protects_values:
        weights = spec.names_with_roles("weight")
        free = [name for name in named if name not in weights]
        if explained := [name for name in free if spec.columns[name].unprotected is not None]:
            raise ValueError(
                f"columns.{explained[0]}.unprotected: an insensitive column needs no reason, "
                "unless form.protects says identities"
            )
        return
    if values := spec.names_with_roles("sensitive"):
        raise ValueError(f"form.protects: identities leaves the values of {values[0]!r} open")
    for name in named:
        if spec.columns[name].unprotected is None:
            raise ValueError(
                f"columns.{name}: stands beside everybody as it is: say why nobody is harmed by it "
                "or known from it (unprotected), or make it a quasi-identifier"
            )
    if isinstance(spec.partition, AimedParameters):
        raise ValueError(
            f"partition: {spec.partition.method} aims at queries of sensitive values, and there "
            "are none"
        )
    if isinstance(spec.versions, ContinuedVersions):
        raise ValueError(
            "versions: composed follows sensitive values, and there are none: use disjoint"
        )


def _weights(spec: SpecParts) -> None:
    """Refuse a second column of weights, composed versions of one, and forms that show none."""
    weights = spec.names_with_roles("weight")
    if len(weights) > 1:
        raise ValueError(f"columns: {weights[0]!r} and {weights[1]!r} both have role weight")
    for name in weights:
        if isinstance(spec.versions, ContinuedVersions):
            raise ValueError(
                f"columns.{name}: weights are of one sample, and people of several versions have "
                "no weights together (versions: composed): use disjoint"
            )
        if not spec.form.shows_insensitive:
            raise ValueError(
                f"columns.{name}: form {spec.form.method} shows no weight of a row; permuted, "
                "split, generalized and suppressed do"
            )


def _over_people(spec: SpecParts) -> None:
    """Check promises over people with several rows, or over households."""
    for i, promise in enumerate(spec.promises):
        if promise.of_whole_people and spec.household is None:
            raise ValueError(
                f"promises.{i}.members: is about households: name the identifier of each "
                "(household: <column>)"
            )
    if not spec.over_people:
        return
    repeats = [
        f"columns.{name}.repeat: all" for name, c in spec.columns.items() if c.repeat == "all"
    ]
    key = repeats[0] if repeats else "household"
    if fault := _fault_of_household(spec) or _fault_over_people(spec):
        raise ValueError(f"{key}: {fault}")
    for i, promise in enumerate(spec.scoped_promises()):
        if fault := _meaningless_over_people(spec, promise):
            raise ValueError(f"promises.{i}: {promise.name} {fault} ({key.rpartition('.')[-1]})")


def _fault_of_household(spec: SpecParts) -> str | None:
    """Return why the identifier of households is unfit, or None."""
    if spec.household is None:
        return None
    column = spec.columns.get(spec.household)
    if column is None or column.role != "identifier" or column.unit:
        return f"{spec.household!r} is not an identifier beside the unit"
    if (column.nulls or spec.nulls) == "category":
        return f"nobody's {spec.household!r} may be missing (nulls: refuse, or drop-row)"
    if spec.repeats:
        return "beside household, promises over people who have several rows mean nothing yet"
    if not any(column.unit for column in spec.columns.values()):
        return "needs a unit: an identifier that tells people apart (unit: true)"
    return None


def _fault_over_people(spec: SpecParts) -> str | None:
    """Return what does not go with people who have several rows, or None."""
    if isinstance(spec.versions, ContinuedVersions):
        return "versions: composed follows one row of a person: use disjoint"
    if spec.parts is not None:
        return "rows of one person may lie in several parts: leave parts out"
    if not spec.partition.over_people:
        methods = [
            name for name, parameters in PARTITION_PARAMETERS.items() if parameters.over_people
        ]
        return f"{spec.partition.method} groups rows, not people: use {', '.join(methods)}"
    if spec.partition.counts_rows:
        return "partition.alike hides one row by noise, not all of a person's: leave alike out"
    if spec.form.shows == "columns" or spec.form.declares:
        return f"form {spec.form.method} shows nobody's rows: use permuted, split, or labels"
    return None


def _meaningless_over_people(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return why a promise means nothing over people who have several rows, or None."""
    if fault := promise.fault_over_people:
        return f"{fault}, or {_without_people(spec)}"
    if promise.quasi_identifiers != tuple(spec.names_with_roles("quasi-identifier")):
        return (
            "has to be about all quasi-identifiers over people: whose rows are is held against the "
            "published groups, and there are none by some of these; leave quasi-identifiers out, "
            f"or {_without_people(spec)}"
        )
    if promise.rows_together and not (spec.form.recodes and spec.partition.equal_rows_together):
        return (
            "means something over people where equal rows are in one group (shares of people in "
            "several groups add up): in forms of labels with partition full-domain, or mondrian "
            "(mode strict)"
        )
    return _fault_of_whole(spec) if promise.of_whole_people else None


def _fault_of_whole(spec: SpecParts) -> str | None:
    """Return why no partition here keeps what all members of a household show together, or None."""
    if spec.partition.all_at_once and not spec.partition.may_suppress:
        return None
    methods = [name for name, parameters in PARTITION_PARAMETERS.items() if parameters.all_at_once]
    return (
        "with members: linkable is about all groups together, and "
        f"{spec.partition.method} judges them one after the other, or suppresses rows of some: "
        f"use {', '.join(methods)} (no suppression), or leave members out"
    )


def _without_people(spec: SpecParts) -> str:
    """Return what to write to keep promises over rows only."""
    return (
        "keep one row of each person (repeat: keep-one)" if spec.repeats else "leave household out"
    )


def _strata(spec: SpecParts) -> None:
    for i, stratum in enumerate(spec.strata):
        name = column_of(stratum)
        if name not in spec.names_with_roles("quasi-identifier", "insensitive"):
            raise ValueError(f"strata: {name!r} is not a quasi-identifier or insensitive column")
        if isinstance(stratum, Bands) and spec.columns[name].type not in NUMBERS:
            raise ValueError(f"strata.{i}: bands are of numbers, and {name!r} has none")
        if isinstance(stratum, HierarchyLevel) and spec.columns[name].hierarchy is None:
            raise ValueError(f"strata.{i}: a level needs a hierarchy, and {name!r} has none")
        if str(stratum) in spec.columns and not isinstance(stratum, str):
            raise ValueError(f"strata.{i}: a column is called as these bands")


def _unit(spec: SpecParts) -> None:
    units = [name for name, column in spec.columns.items() if column.unit]
    if len(units) > 1:
        raise ValueError(f"columns: {units[0]!r} and {units[1]!r} both have unit: true")
    if spec.unit is None and not units:
        raise ValueError("unit: say `row` where rows are people, or mark an identifier unit: true")
    if spec.unit == "row" and units:
        raise ValueError(f"unit: `row` contradicts unit: true of {units[0]!r}")
    if spec.unit not in (None, "row", *units):
        raise ValueError(
            f"unit: {spec.unit!r} is not an identifier with unit: true (write "
            f"{spec.unit}: {{role: identifier, unit: true}} among the columns)"
        )


def _row_numbers(spec: SpecParts) -> None:
    """Refuse row numbers as identifiers unless the source is one pinned file."""
    for name, column in spec.columns.items():
        if column.generated is not None and spec.source.sha256 is None:
            raise ValueError(
                f"columns.{name}.generated: row numbers mean the same people in one file alone: "
                "pin it (source.sha256)"
            )


RULES: tuple[Callable[[SpecParts], None], ...] = (
    _confirmation,
    _names,
    _roles,
    _weights,
    _identities,
    _over_people,
    _strata,
    _unit,
    _row_numbers,
)
