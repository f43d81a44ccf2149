"""All attacks by their names."""

from collections.abc import Mapping

from sfumato.tasks.attacks import definetti, homogeneity, small_range
from sfumato.tasks.attacks.attack import Attack

ATTACKS: Mapping[str, Attack] = {
    "homogeneity": homogeneity.attack,
    "small-range": small_range.attack,
    "definetti": definetti.attack,
}
