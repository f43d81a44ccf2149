"""l-diversity: sensitive values are well represented in every group, by one of three measures.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity
(ICDE 2006): distinct, entropy and recursive (c,l)-diversity; with don't-care values the entropy is
the adjusted one and the recursive variant is positive disclosure-recursive; with `negative` it is
negative/positive disclosure-recursive; with `known` it is multi-attribute l-diversity.
"""

from sfumato.expectations.models.l_diversity.distinct import DistinctLDiversity
from sfumato.expectations.models.l_diversity.eligible import eligible
from sfumato.expectations.models.l_diversity.entropy import EntropyLDiversity
from sfumato.expectations.models.l_diversity.recursive import Negative, RecursiveLDiversity

__all__ = [
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Negative",
    "RecursiveLDiversity",
    "eligible",
]
