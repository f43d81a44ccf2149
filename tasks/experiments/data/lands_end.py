"""Generated orders, in the place of those of the retailer Lands End, which are not public.

Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam measured on 4,591,581 of them. Columns,
numbers of values and hierarchies are modelled on theirs (as Incognito's authors list them), all
frequencies are invented.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule, Intervals, Prefixes

KNOWN = ("zipcode", "order-date", "gender", "style", "price", "quantity", "shipment")
COST = "cost"
_STYLES, _PRICES, _COSTS, _DAYS = 1509, 346, 147, 320
HIERARCHIES: dict[str, HierarchyRule] = {
    "zipcode": Prefixes(prefixes=(4, 3, 2, 1)),
    "order-date": Intervals(intervals=(7, 28, 112)),
    "price": Intervals(intervals=(5, 25, 125)),
}
"""The hierarchies of some columns; others have two levels, their values and all of them."""


def orders(rows: int, seed: int, known: Sequence[str] = KNOWN) -> Microdata:
    """Orders by some of the columns; the cost follows from the price, and luck."""
    rng = np.random.default_rng(seed)
    price = np.minimum(rng.gamma(2.0, 30.0, rows), _PRICES - 1).astype(np.int64)
    place = rng.integers(0, 31_953, rows) * 3
    columns = {
        "zipcode": pa.array([f"{number:05d}" for number in place]),
        "order-date": pa.array(rng.integers(0, _DAYS, rows)),
        "gender": pa.array(rng.choice(["f", "m"], rows, p=[0.7, 0.3])),
        "style": pa.array(rng.zipf(1.3, rows) % _STYLES),
        "price": pa.array(price),
        "quantity": pa.array(np.ones(rows, dtype=np.int64)),
        "shipment": pa.array(rng.choice(["land", "air"], rows, p=[0.9, 0.1])),
    }
    luck = rng.normal(1.0, 0.25, rows)
    cost = np.clip(price * luck / 2, 0, _COSTS - 1).astype(np.int64)
    found = [encode(name, "quasi-identifier", columns[name]) for name in known]
    return Microdata((*found, encode(COST, "sensitive", pa.array(cost))), rows)
