"""Page contents to render: built from values per group, with everything else declared to fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.promises import PROMISE
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.report.page import PageContent, PublishedFile
from sfumato.tasks.terms.terms import Declared

FILES = (
    PublishedFile("data/microdata.csv", 81_234),
    PublishedFile("data/microdata.parquet", 12_345),
    PublishedFile("sql/duckdb.sql", 1_234),
    PublishedFile("validation.json", 567),
)
ADULT_COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi-identifier", "type": "integer"},
    "education": {"role": "quasi-identifier", "type": "string"},
    "sex": {"role": "quasi-identifier", "type": "string"},
    "hours-per-week": {"role": "insensitive", "type": "integer"},
    "capital-loss": {"role": "sensitive", "type": "integer"},
}


def groups_of_sizes(sizes: Sequence[int], sensitive: Mapping[str, pa.Array]) -> Groups:
    """Groups of these sizes; the sensitive values of group after group."""
    key = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    counted = {}
    for name, values in sensitive.items():
        counted[name] = encode(name, "sensitive", values).counted_codes()
    return count(key, len(sizes), counted)


def make_release(rows: int, /, **changes: Any) -> Declared:
    """A release of Adult's capital losses, or of what the changes say."""
    stated: dict[str, Any] = {
        "name": "adult-capital-loss",
        "title": "Capital losses of US adults, 1994",
        "unit": "row",
        "versions": "disjoint",
        "columns": ADULT_COLUMNS,
        "strata": [],
        "promises": [
            {"model": "ke-anonymity", "k": 2, "e": 1, "sensitive": "capital-loss"},
        ],
        "partition": {"method": "ke", "objective": "sum"},
        "form": {"method": "permuted"},
        "formats": ["parquet", "csv"],
        "rows": {
            "read": rows + 31_100,
            "dropped_by_filter": 31_042,
            "dropped_for_nulls": 58,
            "dropped_as_repeats": 0,
            "suppressed": 0,
            "published": rows,
            "fakes": 0,
        },
        "software": {"sfumato": "0.1.0", "numpy": "2.4.6", "pyarrow": "22.0.0"},
    }
    return Declared.model_validate({**stated, **changes})


def content(sizes: Sequence[int], sensitive: Mapping[str, pa.Array], **changes: Any) -> PageContent:
    """The page's content for such groups, with the verdicts that they deserve."""
    groups = groups_of_sizes(sizes, sensitive)
    about = make_release(sum(sizes), **changes)
    promises = [PROMISE.validate_python(promise) for promise in about.promises]
    verdicts = tuple((promise, promise.check(groups)) for promise in promises)
    return PageContent(about, verdicts, groups, FILES)


def losses(sizes: Sequence[int], step: int = 7, **changes: Any) -> PageContent:
    """Groups of such sizes whose capital losses rise from row to row."""
    values = pa.array(np.arange(sum(sizes), dtype=np.int64) * step)
    return content(sizes, {"capital-loss": values}, **changes)


def ambiguous_tables(
    about: Declared, rows: Mapping[str, Sequence[Any]], group: list[int]
) -> Tables:
    """Publish such rows, grouped so, in the form `ambiguous`; group -1 is left out."""
    columns = tuple(
        encode(name, column.role, pa.array(rows[name], column.arrow_type))
        for name, column in about.columns.items()
    )
    partition = Partition(np.array(group, dtype=np.int64))
    return ambiguous.publish(Microdata(columns, len(group)), partition, about.form, seeded_keys(1))


def ambiguously(
    rows: Mapping[str, Sequence[Any]], group: list[int], /, **changes: Any
) -> PageContent:
    """The page's content for the tables of the form `ambiguous`, with the verdicts they deserve."""
    terms = {"form": {"method": "ambiguous"}, **changes}
    about = make_release(sum(number >= 0 for number in group), **terms)
    tables = ambiguous_tables(about, rows, group)
    names = about.names_with_roles("quasi-identifier")
    groups = ambiguous.groups(tables, about.columns, names, about.names_with_roles("sensitive"))
    promises = [PROMISE.validate_python(promise) for promise in about.promises]
    verdicts = tuple((promise, promise.check(groups)) for promise in promises)
    return PageContent(about, verdicts, groups, FILES)


def randomly_cut(values: np.ndarray, k: int, e: int) -> tuple[list[int], np.ndarray]:
    """Values grouped in the given order as soon as a group has k of them spanning e."""
    sizes, group = [], []
    for value in values.tolist():
        group.append(value)
        if len(set(group)) >= k and max(group) - min(group) >= e:
            sizes.append(len(group))
            group = []
    sizes[-1] += len(group)
    return sizes, values
