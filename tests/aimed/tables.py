"""Small tables on which aimed partitions are tried."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.partitions.aimed.parameters import ArbitraryAim, RangeAim


def table(ages, wages, **others):
    """A table of ages and wages."""
    quasi = {"age": ages, **others}
    columns = [
        encode(n, "quasi-identifier", pa.array(list(column_values)))
        for n, column_values in quasi.items()
    ]
    wage = encode("wage", "sensitive", pa.array(list(wages)))
    return Microdata((*columns, wage), len(wages))


def promise(k, e):
    """A (k,e)-promise about wages."""
    return KEAnonymity(k=k, e=Decimal(e), quasi_identifiers=("age",), sensitive="wage")


def windows(*spans, over="age"):
    """A family of windows."""
    return RangeAim(kind="range", over=over, spans=spans)


def sets(*selected):
    """A family of random sets."""
    return ArbitraryAim(kind="arbitrary", selected=selected)


def wages_of(microdata):
    """The wage of each row."""
    column = microdata["wage"]
    return np.array(column.values.to_pylist())[column.codes]
