"""What the experiments of l-diversity have in common: full-domain generalization of Adult."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import EntropyLDiversity, RecursiveLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.experiments.shared.candidates import Method, scope
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule

SEVEN = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
EIGHT = (*SEVEN, "salary-class")
"""What is known where the occupation is sensitive."""

FIVE = ("age", "education", "marital-status", "race", "sex")
K_ANONYMITY, ENTROPY, RECURSIVE = "k-anonymity", "entropy l-diversity", "recursive (3,l)-diversity"


@dataclass(frozen=True)
class PeopleScale:
    """How many people are drawn, and what is varied."""

    rows: int
    levels: tuple[int, ...]


def promises(microdata: Microdata, of: str, level: int) -> tuple[PrivacyModel, ...]:
    """One of the models, k or l being the level."""
    about = scope(microdata)
    if of == ENTROPY:
        return (EntropyLDiversity(l=Decimal(level), **about),)
    if of == RECURSIVE:
        return (RecursiveLDiversity(l=level, c=Decimal(3), **about),)
    return (KAnonymity(k=level, quasi_identifiers=about["quasi_identifiers"]),)


def full_domain(
    microdata: Microdata,
    of: str,
    level: int,
    hierarchies: Mapping[str, HierarchyRule],
    metric: str = "height",
) -> Method:
    """Full-domain generalization that keeps one of the models and loses the least by a metric."""
    partition: dict[str, Any] = {"method": "full-domain", "metric": metric}
    kept = promises(microdata, of, level)
    return Method(kept, partition, {"method": "generalized"}, hierarchies)
