"""Columns that are calculated of published ones, beside which they stand."""

from sfumato.tasks.schema.published import DeclaredColumn


class DerivedColumn(DeclaredColumn):
    """A column of what published ones come to; one of sensitive columns keeps their association.

    `of` has the columns that it is calculated of.
    """

    of: tuple[str, ...]
