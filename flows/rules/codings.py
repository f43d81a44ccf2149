"""The rules of codings, which need more than their own column."""

from collections.abc import Callable

from sfumato.flows.rules.spec_parts import SpecParts


def _shifts(spec: SpecParts) -> None:
    """Refuse columns of dates that move differently: the time between them would be lost."""
    moved = {name: c.shift for name, c in spec.columns.items() if c.shift is not None}
    for name, shift in moved.items():
        if not spec.form.recodes:
            raise ValueError(
                f"columns.{name}.shift: form {spec.form.method} shows exact dates. "
                "Someone who knows one date of a person could compute all the others; "
                "use form generalized or suppressed"
            )
        if not any(column.unit for column in spec.columns.values()):
            raise ValueError(
                f"columns.{name}.shift: moves the dates of each person together, and "
                "no column identifies people. Write `unit: true` for an identifier"
            )
        if shift != next(iter(moved.values())):
            raise ValueError(
                f"columns.{name}.shift: differs from the shift of "
                f"{next(iter(moved))!r}. All dates of a person must move together; "
                "write the same shift for both"
            )


def _in_parts(spec: SpecParts) -> None:
    """Refuse codings computed from all rows: parts never have all rows at once."""
    if spec.parts is None:
        return
    for name, column in spec.columns.items():
        for key in column.computed_keys:
            raise ValueError(
                f"columns.{name}.{key}: is computed from all rows at once, and a "
                "release in parts never reads all rows at once. Write a value in its "
                "place, or code the column in the source"
            )


def _pseudonyms(spec: SpecParts) -> None:
    published = spec.names_with_roles("quasi-identifier", "sensitive", "insensitive")
    for name, column in spec.columns.items():
        if column.pseudonym is None:
            continue
        if column.generated is not None:
            raise ValueError(
                f"columns.{name}.pseudonym: the column has generated row numbers, "
                "which do not identify people in another source. Leave pseudonym out"
            )
        for other in column.pseudonym.beside:
            if other not in published:
                raise ValueError(
                    f"columns.{name}.pseudonym.beside: {other!r} is not a published "
                    "column. Name published columns only"
                )


RULES: tuple[Callable[[SpecParts], None], ...] = (_shifts, _in_parts, _pseudonyms)
