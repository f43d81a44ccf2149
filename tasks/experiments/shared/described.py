"""The papers whose experiments are repeated, and the data of experiments in words."""

from collections.abc import Mapping
from dataclasses import dataclass

_COMPLETE = "UCI Adult (Becker and Kohavi, 1996; CC BY 4.0), its 30,162 rows without missing value"


@dataclass(frozen=True)
class DataInWords:
    """Description of data, in a few words and in a sentence."""

    title: str
    about: str
    generated: bool


def _real_data(title: str, about: str) -> DataInWords:
    return DataInWords(title, about, generated=False)


def _generated_data(title: str, about: str) -> DataInWords:
    return DataInWords(title, about, generated=True)


DATA: Mapping[str, DataInWords] = {
    "losses": _real_data(
        "Adult, capital loss",
        "UCI Adult (Becker and Kohavi, 1996; CC BY 4.0), the 1,427 people with a capital loss and "
        "no missing value among the quasi-identifiers.",
    ),
    "losses-by-age": _real_data(
        "Adult, capital loss by age only",
        "The same 1,427 people, if only their age is known.",
    ),
    "salaries": _real_data("Adult, salary class", f"{_COMPLETE}; two salary classes."),
    "occupations": _real_data("Adult, occupation", f"{_COMPLETE}; fourteen occupations."),
    "occupations-by-age": _real_data(
        "Adult, occupation, ages evened out",
        "A Bernoulli sub-sample of the same rows in which no band of five years of age is expected "
        "to have more people than the median band.",
    ),
    "slides": _real_data(
        "The slide table", "The seven people of the paper's own example, by age, race and zip code."
    ),
    "generated-losses": _generated_data(
        "Adult, generated loss",
        "The 1,427 people of UCI Adult with a capital loss. The loss itself is generated. It rises "
        "with age, with normal noise around it.",
    ),
    "correlated": _generated_data(
        "Generated, loss rises with age",
        "Generated people of 17 to 79 years, equally many of each age. Their loss is normal around "
        "a mean that rises with age.",
    ),
    "uncorrelated": _generated_data(
        "Generated, loss independent of age",
        "Generated people of 17 to 79 years, equally many of each age. Their loss is normal and "
        "independent of age.",
    ),
    "uniform": _generated_data(
        "Generated, uniform loss",
        "Generated people of 17 to 79 years. Their loss is uniform on 64 values from 1,024 to "
        "3,040 and independent of age.",
    ),
    "zipf": _generated_data(
        "Generated, Zipf loss",
        "Generated people of 17 to 79 years. Their loss follows Zipf's law with exponent 0.1 over "
        "64 values from 1,024 to 3,040.",
    ),
    "uniform-rising": _generated_data(
        "Generated, uniform loss that rises with age",
        "The same people and losses, given out again so that losses rise with age.",
    ),
    "zipf-rising": _generated_data(
        "Generated, Zipf loss that rises with age",
        "The same people and losses, given out again so that losses rise with age.",
    ),
    "census": _generated_data(
        "Substitute census",
        "A generated substitute for the paper's census of American adults (IPUMS), which may not "
        "be passed on. Its columns and their numbers of values are those of the paper; all "
        "frequencies and dependencies are invented.",
    ),
    "census-salaries": _generated_data(
        "Substitute census, salary class",
        "The same substitute, with the salary class sensitive instead of the occupation.",
    ),
    "lands-end": _generated_data(
        "Substitute for Lands End",
        "A generated substitute for the paper's orders of the retailer Lands End, which are not "
        "public. Columns, numbers of values and hierarchies are modelled on those of the paper; "
        "all frequencies are invented.",
    ),
    "trees": _generated_data("Random trees", "Generated random trees."),
    "groups": _generated_data("Random groups", "Generated small groups of whole numbers."),
    "small-tables": _generated_data(
        "Small random tables",
        "Generated tables of nine rows, with an optimum that is found by trying, or of sixty rows.",
    ),
}


@dataclass(frozen=True)
class Paper:
    """A paper, and what to know before its figures are compared with these.

    Attributes:
        title: its published title.
        authors: its authors, and the place of publication.
        about: the comparison that it makes, in a sentence.
        apart: the differences of these experiments from its own.
        without: what else it shows, and the reason why there is no experiment on it.
    """

    title: str
    authors: str
    about: str
    apart: str
    without: tuple[tuple[str, str], ...]


_EXAMPLES = "Its examples are tests"
PAPERS: Mapping[str, Paper] = {
    "aggregate-queries": Paper(
        "Aggregate query answering on anonymized tables",
        "Zhang, Koudas, Srivastava, Yu; ICDE 2007",
        "Sensitive values that are permuted within groups are compared with generalized "
        "quasi-identifiers, by how wide the bounds of an average are.",
        "The paper gives 3,900 as the largest capital loss; adult.data has 4,356. Which e it used "
        "is not known here.",
        (
            ("Figures: the running example, permuted and generalized", _EXAMPLES),
            (
                "Theorems: bounds in the same groups, disjoint ranges of the least sum",
                "They are laws, which tests compare with all worlds and all partitions",
            ),
        ),
    ),
    "ambiguity": Paper(
        "Ambiguity: hide the presence of individuals and their privacy with low information loss",
        "Wang",
        "Quasi-identifiers are shown each by themselves, so that a group admits many combinations; "
        "estimates of counts are compared with those of generalization.",
        "The paper has up to 500,000 people of a census that may not be passed on. Here is a "
        "substitute, of that size where the size varies or time is measured, and of a few thousand "
        "people elsewhere. Counts are asked over ranges and as the paper has them, as cells of a "
        "GROUP BY. Several algorithms are misprinted; the last experiments measure what that "
        "costs.",
        (
            ("Figures: the running example, its groups and its estimates", _EXAMPLES),
            (
                "All figures on the census itself",
                "It may not be passed on; figures are repeated on a substitute and on Adult",
            ),
        ),
    ),
    "distribution": Paper(
        "Distribution-based microdata anonymization",
        "Koudas, Srivastava, Yu, Zhang; VLDB 2009",
        "Sensitive values are shown as subdomains that follow a target distribution, for whole "
        "groups of the owner (SA-only) or by quasi-identifiers (QI-SA).",
        "The paper generates 10,000 people, and so do these experiments.",
        (("Figures: the running example, its trees and its fakes", _EXAMPLES),),
    ),
    "diversity": Paper(
        "l-diversity: privacy beyond k-anonymity",
        "Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam; ICDE 2006",
        "k-anonymous tables may have groups in which all people share a sensitive value. The cost "
        "of ruling that out is compared with k-anonymity.",
        "The paper has 45,222 complete rows of Adult's two files; here is the first, with 30,162 "
        "of which each seed draws a part. Its runs of Incognito are an exact search here. The "
        "chances of its sub-sample with less skewed ages are not in the texts at hand, and the "
        "orders of Lands End are generated.",
        (
            ("Figures: the inpatients, 4-anonymous and 3-diverse", _EXAMPLES),
            (
                "All tables and figures on the orders of Lands End themselves",
                "They are not public; tables and figures are repeated on a substitute",
            ),
            ("Theorems: beliefs of an attacker, monotony", "They are laws, which tests check"),
        ),
    ),
    "cell-suppression": Paper(
        "Approximation algorithms for k-anonymity",
        "Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu; 2005",
        "Single cells are suppressed, at most a fixed number of times as many as are needed.",
        "The paper has theorems and no experiments; these experiments are this project's own.",
        (
            (
                "Theorem: the problem is NP-hard for three values or more",
                "It is about all algorithms: there is nothing to measure",
            ),
        ),
    ),
}
