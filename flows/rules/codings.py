"""The rules of codings, which need more than their own column."""

from collections.abc import Callable

from sfumato.flows.rules.spec_parts import SpecParts


def _shifts(spec: SpecParts) -> None:
    """Refuse columns of dates that move differently: the time between them would be lost."""
    moved = {name: c.shift for name, c in spec.columns.items() if c.shift is not None}
    for name, shift in moved.items():
        if not spec.form.recodes:
            raise ValueError(
                f"columns.{name}.shift: form {spec.form.method} shows dates exactly, and one that "
                "is known would tell all others of its person: use generalized or suppressed"
            )
        if not any(column.unit for column in spec.columns.values()):
            raise ValueError(
                f"columns.{name}.shift: is by unit: name an identifier with unit: true"
            )
        if shift != next(iter(moved.values())):
            raise ValueError(
                f"columns.{name}.shift: must be that of {next(iter(moved))!r}: a person's dates "
                "move together"
            )


def _in_parts(spec: SpecParts) -> None:
    """Refuse codings computed from all rows: parts never have all rows at once."""
    if spec.parts is None:
        return
    for name, column in spec.columns.items():
        for key in column.computed_keys:
            raise ValueError(
                f"columns.{name}.{key}: is computed from all rows at once, which a release in "
                "parts never has: declare a value, or code it in the source"
            )


def _pseudonyms(spec: SpecParts) -> None:
    published = spec.names_with_roles("quasi-identifier", "sensitive", "insensitive")
    for name, column in spec.columns.items():
        if column.pseudonym is None:
            continue
        if column.generated is not None:
            raise ValueError(
                f"columns.{name}.pseudonym: a row's number is nobody's name in another source"
            )
        for other in column.pseudonym.beside:
            if other not in published:
                raise ValueError(f"columns.{name}.pseudonym.beside: {other!r} is not published")


RULES: tuple[Callable[[SpecParts], None], ...] = (_shifts, _in_parts, _pseudonyms)
