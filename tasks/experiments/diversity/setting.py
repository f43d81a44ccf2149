"""Common parts of the experiments of l-diversity: full-domain generalization of Adult."""

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
    """Number of people drawn, and the levels that vary."""

    rows: int
    levels: tuple[int, ...]


def promises(microdata: Microdata, model: str, level: int) -> tuple[PrivacyModel, ...]:
    """Return the promises of one of the models, with the level as its k or l."""
    about = scope(microdata)
    if model == ENTROPY:
        return (EntropyLDiversity(l=Decimal(level), **about),)
    if model == RECURSIVE:
        return (RecursiveLDiversity(l=level, c=Decimal(3), **about),)
    return (KAnonymity(k=level, quasi_identifiers=about["quasi_identifiers"]),)


def full_domain(
    microdata: Microdata,
    model: str,
    level: int,
    hierarchies: Mapping[str, HierarchyRule],
    metric: str = "height",
) -> Method:
    """Return full-domain generalization that keeps a model and loses the least by a metric."""
    partition: dict[str, Any] = {"method": "full-domain", "metric": metric}
    promised = promises(microdata, model, level)
    return Method(promised, partition, {"method": "generalized"}, hierarchies)
