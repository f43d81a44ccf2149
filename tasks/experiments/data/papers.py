"""The papers whose experiments are repeated."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper, and what is to be known before its figures are compared with these.

    Attributes:
        title: as published.
        authors: and where it was published.
        about: what it compares, in a sentence.
        apart: how these experiments differ from its own.
    """

    title: str
    authors: str
    about: str
    apart: str


PAPERS: Mapping[str, Paper] = {
    "aggregate-queries": Paper(
        "Aggregate query answering on anonymized tables",
        "Zhang, Koudas, Srivastava, Yu; ICDE 2007",
        "Sensitive values that are permuted within groups are compared with generalized "
        "quasi-identifiers, by how wide the bounds of an average are.",
        "The paper gives 3,900 as the largest capital loss; adult.data has 4,356. Which e it used "
        "is not known here.",
    ),
    "ambiguity": Paper(
        "Ambiguity: hide the presence of individuals and their privacy with low information loss",
        "Wang",
        "Quasi-identifiers are shown each by themselves, so that a group admits many combinations; "
        "estimates of counts are compared with those of generalization.",
        "The paper has up to 500,000 people of a census that may not be passed on; here is a "
        "stand-in, of that size where the size varies or time is measured, and of a few thousand "
        "elsewhere. Several of its algorithms are misprinted: what that costs is measured last.",
    ),
    "distribution": Paper(
        "Distribution-based microdata anonymization",
        "Koudas, Srivastava, Yu, Zhang; VLDB 2009",
        "Sensitive values are shown as subdomains that are spread as a target distribution says, "
        "for whole groups of the owner (SA-only) or by quasi-identifiers (QI-SA).",
        "The paper generates 10,000 people, and so do these experiments; where fakes are searched "
        "for, which takes long, there are 1,500.",
    ),
    "diversity": Paper(
        "l-diversity: privacy beyond k-anonymity",
        "Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam; ICDE 2006",
        "k-anonymous tables may have groups whose people all share a sensitive value; what it "
        "costs to rule that out is compared with k-anonymity.",
        "The paper has 45,222 complete rows of Adult's two files; here is the first, with 30,162 "
        "of which each seed draws a part. Its runs of Incognito are an exact search here. Which "
        "sub-sample with less skewed ages it drew is not known here.",
    ),
    "cell-suppression": Paper(
        "Approximation algorithms for k-anonymity",
        "Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu; 2005",
        "Single cells are suppressed, at most so many times as many as are needed.",
        "The paper has theorems and no experiments: these are this project's own.",
    ),
}
