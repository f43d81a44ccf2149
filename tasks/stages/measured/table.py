"""The table that `measure` is about: its columns, their types and their hierarchies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.expectations.errors import InputError, SpecError
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.hierarchies import read_hierarchy, require_leaves, with_ancestors
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.microdata.table import Microdata


def read_measured(
    place: str,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    promises: Sequence[PrivacyModel],
    written: Written,
) -> Microdata:
    """The measured columns, each of one type: that of text, where it tells groups apart alone.

    Raises:
        SpecError: where a type is given for a column that is not measured.
        InputError: where the table cannot be read as said, or a column that tells groups apart and
            is sensitive has texts that mean the same value.
    """
    apart = [*quasi_identifiers, *(name for p in promises for name in p.adversary_columns)]
    about = [*sensitive, *(p.sensitive for p in promises if p.sensitive is not None)]
    for name in written.types:
        if name not in (*apart, *about):
            hint = "name it in --qi, --sensitive or --model"
            raise SpecError(f"--types {name}: the column is not measured: {hint}")
    texts = _as_text([name for name in apart if name not in about], written)
    microdata = read_inferred(place, [*apart, *about], texts)
    both = [name for name in apart if name in about and name not in written.types]
    if both:
        _require_texts_apart(place, both, microdata, written)
    return microdata


def _require_texts_apart(
    place: str, names: Sequence[str], microdata: Microdata, written: Written
) -> None:
    """Make sure that inferred types give each text a value of its own.

    Raises:
        InputError: for a column with texts that mean the same value.
    """
    texts = read_inferred(place, names, _as_text(names, written))
    for name in names:
        if len(texts[name].values) > len(microdata[name].values):
            raise InputError(
                f"{place}: column {name!r}: is a quasi-identifier and sensitive, and texts of it "
                f"mean the same: give its type with --types (string keeps them apart)"
            )


def _as_text(names: Sequence[str], written: Written) -> Written:
    return replace(written, of_text=dict.fromkeys(names, "string"))


def with_hierarchies(microdata: Microdata, files: Mapping[str, str], place: str) -> Microdata:
    """The table read from `place`, with the hierarchies of these files, by column.

    Raises:
        InputError: where a column is not measured, or its hierarchy lacks a value.
    """
    for name, file in files.items():
        if not microdata.has(name):
            raise InputError(f"{file}: column {name!r} is not measured")
        known, column = read_hierarchy(Path(file), file), microdata[name]
        require_leaves(column, known, place, np.arange(microdata.rows))
        above = with_ancestors(column, known)
        microdata = microdata.keep(above if c.name == name else c for c in microdata.columns)
    return microdata
