"""The help table of a release that shows subdomains in the place of sensitive values.

It has a row for each number of `hits` among the rows of a group, as that of shuffled values has,
and the same columns. With fakes, and where people have left, a group has more subdomains than
rows, of which any may be the selected ones.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.forms.redistributed.redistributed import groups
from sfumato.tasks.query.help_tables.rows import bounds_of_hits, help_name, with_possible_hits
from sfumato.tasks.query.help_tables.subdomain_nodes import read_nodes
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.schema.names import TARGETS


def tables_of_subdomains(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """The help table of the sensitive column by its name, from the published tables alone.

    Raises:
        InputError: where a sum is too long.
        PromiseError: where the tables contradict each other.
    """
    (name,) = declared.named("sensitive")
    column = declared.columns[name]
    nodes = read_nodes(tables[TARGETS], name, column)
    seen = groups(tables, {name: column}, [], [name])
    shown = seen.subdomains[name]
    roots = np.flatnonzero(nodes.told.node == 0)
    row = np.repeat(roots[shown.target[shown.group]] + shown.node, shown.count)
    least, greatest = (ranks[row] for ranks in nodes.extremes())
    copies = np.repeat(shown.group, shown.count)
    bounds = bounds_of_hits(copies, least, greatest, nodes.values, name)
    return {help_name(name): with_possible_hits(bounds, seen.sizes)}


def _names(_declared: Terms, sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in sensitive]


SUBDOMAINS = HelpTables(_names, tables_of_subdomains)
