"""The rules of the columns of a spec: their names and roles, what groups them, and who has rows."""

from collections.abc import Callable

from sfumato.expectations.models.model import PrivacyModel
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.partitions.aimed.parameters import AimedParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.private.people.keys import PEOPLE
from sfumato.tasks.schema.column_names import (
    DEVICES,
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
            "roles: are proposed and not confirmed yet. Read every column's role and "
            "the reason for it, change what is wrong, and write `roles: confirmed`"
        )


def _name_of_line(spec: SpecParts) -> None:
    for taken, what in ((KEYS, "signing keys"), (PEOPLE, "private records of people")):
        if spec.name == taken:
            raise ValueError(
                f"name: {taken} is the name of the directory of {what}. Choose another "
                "name for the line"
            )
    if spec.name in DEVICES:
        raise ValueError(
            f"name: {spec.name} is a name that no directory can have on Windows, where readers "
            "may copy the release to. Choose another name for the line"
        )


def _names(spec: SpecParts) -> None:
    safe: dict[str, str] = {}
    for name in spec.columns:
        if is_like_a_path(name):
            raise ValueError(
                f"columns.{name!r}: is not a possible name: it is empty, looks like a "
                f"path, or has characters that names cannot have{_to_rename(name)}"
            )
        if name.lower() in RESERVED:
            raise ValueError(
                f"columns.{name}: is a name that published files use for other "
                f"things{_to_rename(name)}"
            )
        folded = folded_name(name)
        if not folded or folded in RESERVED:
            raise ValueError(
                f"columns.{name}: has no letter or digit from which a name for files "
                f"and SQL can be made{_to_rename(name)}"
            )
        if folded in DEVICES:
            raise ValueError(
                f"columns.{name}: is a name that no file can have on Windows, where readers may "
                f"copy the release to{_to_rename(name)}"
            )
        if folded in safe:
            raise ValueError(
                f"columns.{name}: would have the same name in files and SQL as "
                f"{safe[folded]!r}{_to_rename(name)}"
            )
        safe[folded] = name


def _to_rename(name: str) -> str:
    """Return what to write to give a column another name."""
    other = names_for_release([*RESERVED, name]).get(name, "another name")
    return f". Give it another name: `source.rename: {{{name!r}: {other}}}`"


def _roles(spec: SpecParts) -> None:
    if not spec.names_with_roles("quasi-identifier"):
        raise ValueError(
            "columns: no column has role quasi-identifier. Give this role to the columns "
            "that others may know about a person, such as age or town"
        )
    if spec.form.protects_values and not spec.names_with_roles("sensitive"):
        raise ValueError(
            "columns: no column has role sensitive. Give this role to the columns to "
            "be protected, such as a diagnosis; for a table without any, use form "
            "generalized or suppressed with `protects: identities`"
        )
    for name in spec.names_with_roles("sensitive", "weight"):
        if spec.nulls == "category" and spec.columns[name].nulls is None:
            raise ValueError(
                f"columns.{name}: needs its own null policy, because the spec's "
                f"`nulls: category` does not apply to role {spec.columns[name].role}. "
                "Write nulls for this column"
            )
        if spec.columns[name].nulls == "category" and (fault := _without_nulls(spec)):
            raise ValueError(f"columns.{name}.nulls: {fault}. Use drop-row or refuse")


def _without_nulls(spec: SpecParts) -> str | None:
    """Return why no sensitive value may be missing, or None."""
    if not spec.form.keeps_nulls:
        return (
            f"form {spec.form.method} spreads values over ranges, and a missing value is "
            "in no range"
        )
    if isinstance(spec.versions, ContinuedVersions):
        return (
            "`versions: composed` follows each person's sensitive value, so no value may be missing"
        )
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
                f"columns.{explained[0]}.unprotected: an insensitive column needs this "
                "reason only under `form.protects: identities`. Leave it out"
            )
        return
    if values := spec.names_with_roles("sensitive"):
        raise ValueError(
            f"form.protects: `identities` does not protect the values of {values[0]!r}, "
            "which has role sensitive. Give it another role, or protect values (leave "
            "protects out)"
        )
    for name in named:
        if spec.columns[name].unprotected is None:
            raise ValueError(
                f"columns.{name}: is published unchanged beside each person's row. "
                "Write why it harms and identifies no person (unprotected: REASON), or "
                "make it a quasi-identifier"
            )
    if isinstance(spec.partition, AimedParameters):
        raise ValueError(
            f"partition: {spec.partition.method} chooses groups by queries on "
            "sensitive values, and no column has role sensitive. Use another partition"
        )
    if isinstance(spec.versions, ContinuedVersions):
        raise ValueError(
            "`versions: composed` follows each person's sensitive value, and no column "
            "has role sensitive. Write `versions: disjoint`"
        )


def _weights(spec: SpecParts) -> None:
    """Refuse a second column of weights, composed versions of one, and forms that show none."""
    weights = spec.names_with_roles("weight")
    if len(weights) > 1:
        raise ValueError(
            f"columns: {weights[0]!r} and {weights[1]!r} both have role weight. Keep one "
            "of them, and give the other role drop"
        )
    for name in weights:
        if isinstance(spec.versions, ContinuedVersions):
            raise ValueError(
                f"columns.{name}: weights describe one sample, and `versions: "
                "composed` joins people of several samples. Write `versions: "
                "disjoint`, or give the column role drop"
            )
        if not spec.form.shows_insensitive:
            raise ValueError(
                f"columns.{name}: form {spec.form.method} cannot show the weight of a "
                "row. Use form permuted, split, generalized or suppressed"
            )


def _over_people(spec: SpecParts) -> None:
    """Check promises over people with several rows, or over households."""
    for i, promise in enumerate(spec.promises):
        if promise.of_whole_people and spec.household is None:
            raise ValueError(
                f"promises.{i}.members: is about households, and the spec names no "
                "column that identifies them. Write `household: COLUMN`"
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
        return (
            f"{spec.household!r} is not a column with role identifier, or it is the unit. "
            "Name the column that identifies households, and give it role identifier"
        )
    if (column.nulls or spec.nulls) == "category":
        return (
            f"each person needs a {spec.household!r}, so `nulls: category` does not work. "
            "Use refuse or drop-row"
        )
    if spec.repeats:
        return (
            "promises over households do not yet work where people have several rows. "
            "Leave household out, or keep one row of each person (repeat: keep-one)"
        )
    if not any(column.unit for column in spec.columns.values()):
        return (
            "households need a column that identifies each person. Write `unit: true` for "
            "an identifier"
        )
    return None


def _fault_over_people(spec: SpecParts) -> str | None:
    """Return what does not go with people who have several rows, or None."""
    if isinstance(spec.versions, ContinuedVersions):
        return "`versions: composed` follows one row of each person. Write `versions: disjoint`"
    if spec.parts is not None:
        return "the rows of one person may be in several parts. Leave parts out"
    if not spec.partition.over_people:
        methods = [
            name for name, parameters in PARTITION_PARAMETERS.items() if parameters.over_people
        ]
        return (
            f"partition {spec.partition.method} groups rows, not people. Use {', '.join(methods)}"
        )
    if spec.partition.counts_rows:
        return (
            "partition.alike hides one row by noise, and not all rows of a person. Leave alike out"
        )
    if spec.form.shows == "columns" or spec.form.declares:
        return (
            f"form {spec.form.method} does not show whole rows. Use form permuted, split, "
            "generalized or suppressed"
        )
    return None


def _meaningless_over_people(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return why a promise means nothing over people who have several rows, or None."""
    if fault := promise.fault_over_people:
        return f"{fault}, or {_without_people(spec)}"
    if promise.quasi_identifiers != tuple(spec.names_with_roles("quasi-identifier")):
        return (
            "names only some quasi-identifiers. Over people, a promise is checked on "
            "the published groups, which use all of them. Leave quasi-identifiers out, "
            f"or {_without_people(spec)}"
        )
    if promise.rows_together and not (spec.form.recodes and spec.partition.equal_rows_together):
        return (
            "can be kept over people only if equal rows are in one group, because the "
            "shares of a person in several groups add up. Use form generalized or "
            "suppressed, with partition full-domain or mondrian (mode strict)"
        )
    return _fault_of_whole(spec) if promise.of_whole_people else None


def _fault_of_whole(spec: SpecParts) -> str | None:
    """Return why no partition here keeps what all members of a household show together, or None."""
    if spec.partition.all_at_once and not spec.partition.may_suppress:
        return None
    methods = [name for name, parameters in PARTITION_PARAMETERS.items() if parameters.all_at_once]
    return (
        "with `members: linkable` is about all groups together. Partition "
        f"{spec.partition.method} judges one group after the other, or suppresses rows "
        f"of some groups. Use {', '.join(methods)} without suppression, or leave "
        "members out"
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
            raise ValueError(
                f"strata: {name!r} is not a column with role quasi-identifier or "
                "insensitive. Name such a column"
            )
        if isinstance(stratum, Bands) and spec.columns[name].type not in NUMBERS:
            raise ValueError(
                f"strata.{i}: bands need a column of numbers, and {name!r} has another "
                "type. Name a column of numbers"
            )
        if isinstance(stratum, HierarchyLevel) and spec.columns[name].hierarchy is None:
            raise ValueError(
                f"strata.{i}: a level needs a hierarchy, and {name!r} has no hierarchy. "
                "Write one for this column, or name another column"
            )
        if str(stratum) in spec.columns and not isinstance(stratum, str):
            raise ValueError(
                f"strata.{i}: a column has the same name as these bands. Rename the column "
                "(source.rename)"
            )


def _unit(spec: SpecParts) -> None:
    units = [name for name, column in spec.columns.items() if column.unit]
    if len(units) > 1:
        raise ValueError(
            f"columns: {units[0]!r} and {units[1]!r} both have `unit: true`. Keep it for "
            "the column that identifies people"
        )
    if spec.unit is None and not units:
        raise ValueError(
            "unit: is missing. Write `unit: row` if each row is one person, or `unit: "
            "true` for the identifier of people"
        )
    if spec.unit == "row" and units:
        raise ValueError(
            f"unit: `row` contradicts `unit: true` of {units[0]!r}. Remove one of the two"
        )
    if spec.unit not in (None, "row", *units):
        raise ValueError(
            f"unit: {spec.unit!r} is not an identifier with `unit: true`. Write "
            f"`{spec.unit}: {{role: identifier, unit: true}}` under columns"
        )


def _row_numbers(spec: SpecParts) -> None:
    """Refuse row numbers as identifiers unless the source is one pinned file."""
    for name, column in spec.columns.items():
        if column.generated is not None and spec.source.sha256 is None:
            raise ValueError(
                f"columns.{name}.generated: row numbers mean the same people only as "
                "long as the file does not change. Write the file's digest: "
                "`source.sha256: DIGEST` (sha256sum FILE prints it)"
            )


RULES: tuple[Callable[[SpecParts], None], ...] = (
    _confirmation,
    _name_of_line,
    _names,
    _roles,
    _weights,
    _identities,
    _over_people,
    _strata,
    _unit,
    _row_numbers,
)
