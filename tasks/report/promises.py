"""The promises as a page states them: in words, and what was measured beside what is required."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import Number, PrivacyModel, Verdict, plain
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.report.plots.axes import grouped
from sfumato.tasks.report.plots.ranges import measured

_TITLES = {
    "k-anonymity": "k-anonymity",
    "distinct-l-diversity": "distinct l-diversity",
    "entropy-l-diversity": "entropy l-diversity",
    "recursive-l-diversity": "recursive (c,l)-diversity",
    "t-closeness": "t-closeness",
    "alpha-k": "(α,k)-anonymity",
    "ke-anonymity": "(k,e)-anonymity",
    "alpha-beta": "(α,β)-privacy",
    "p-privacy": "P-privacy",
    "delta-presence": "δ-presence",
    "bayes-optimal": "(ρ1,ρ2)-privacy",
}
_DISTANCES = frozenset({("ke-anonymity", "e")})
_PARAMETERS = {
    ("k-anonymity", "k"): "rows that look the same, at least",
    ("distinct-l-diversity", "l"): "different values in a group, at least",
    ("entropy-l-diversity", "l"): "equally likely values of the same uncertainty, at least",
    ("recursive-l-diversity", "c"): "times the rarer values, more than the most frequent one",
    ("recursive-l-diversity", "l"): "from which rank on values are rare; seen: different values",
    ("recursive-l-diversity", "percent"): "of a group for each value not to be ruled out, at least",
    ("t-closeness", "t"): "distance from the distribution of all rows, at most",
    ("alpha-k", "alpha"): "share of a group for any one value, at most",
    ("alpha-k", "k"): "rows that look the same, at least",
    ("alpha-beta", "alpha"): "probability that any one combination is there, at most",
    ("alpha-beta", "beta"): "share of a group for any one value, at most",
    ("ke-anonymity", "k"): "different values in a group, at least",
    ("p-privacy", "tolerance"): "imbalance of the ranges of a group, at most",
    ("ke-anonymity", "e"): "from the lowest to the highest value of a group, at least",
}
_LONGEST = 32  # digits of an exact number beside a rounded one


@dataclass(frozen=True)
class Parameter:
    """A parameter of a promise: what is required and what is seen at worst."""

    name: str
    meaning: str
    required: str
    observed: str


@dataclass(frozen=True)
class Stated:
    """A promise in words, and how it fared.

    `joined` says whether it is of all groups together, not of each by itself.
    """

    title: str
    sentence: str
    scope: str
    joined: bool
    holds: bool
    groups: int
    failing: int
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Hidden:
    """What a (k,e)-promise leaves an attacker with."""

    name: str
    k: str
    e: str


def about(promise: PrivacyModel, declared: Declared) -> PrivacyModel:
    """The promise with its sensitive attribute named, where there is only one it can be about."""
    sensitive = declared.named("sensitive")
    if promise.sensitive is None and len(sensitive) == 1:
        return replace(promise, sensitive=sensitive[0])
    return promise


def stated(promise: PrivacyModel, verdict: Verdict, declared: Declared) -> Stated:
    """A promise and its verdict, for people."""
    model = promise.name
    kind = kind_of(declared, promise.sensitive)
    sentence = _sentence(promise, declared)
    names = sorted(verdict.required, key=lambda name: (name == "e", name))
    return Stated(
        title=_TITLES[model],
        sentence=f"{sentence[:1].upper()}{sentence[1:]}.",
        scope=", ".join(promise.quasi_identifiers or ()),
        joined=promise.across,
        holds=verdict.holds,
        groups=verdict.groups,
        failing=verdict.failing,
        parameters=tuple(_parameter(model, name, verdict, kind) for name in names),
    )


def _sentence(promise: PrivacyModel, declared: Declared) -> str:
    """The promise in words; where distributions are declared, it is about these."""
    if declared.form.declares and isinstance(promise, TCloseness):
        return (
            f"the distribution of {promise.sensitive} that is declared for a group is like that of "
            f"all published rows together, up to {plain(promise.t)} (earth mover's distance, "
            f"{promise.distance})"
        )
    return promise.sentence()


def hidden(promises: Sequence[PrivacyModel], declared: Declared) -> list[Hidden]:
    """The (k,e)-promises, as what they leave an attacker with."""
    return [
        Hidden(
            str(promise.sensitive),
            grouped(promise.k),
            measured(Fraction(promise.e), kind_of(declared, promise.sensitive)),
        )
        for promise in promises
        if isinstance(promise, KEAnonymity)
    ]


def widest_e(promises: Sequence[PrivacyModel], name: str) -> Fraction | None:
    """The largest range that any promise about a sensitive attribute asks for."""
    wanted = [p.e for p in promises if isinstance(p, KEAnonymity) and p.sensitive == name]
    return max(map(Fraction, wanted), default=None)


def kind_of(declared: Declared, name: str | None) -> str:
    """A column's type; text for one that is not declared."""
    column = None if name is None else declared.columns.get(name)
    return "string" if column is None else column.type


def _parameter(model: str, name: str, verdict: Verdict, kind: str) -> Parameter:
    required, observed = verdict.required[name], verdict.observed.get(name)
    return Parameter(
        name,
        _PARAMETERS.get((model, name), ""),
        _number(required, (model, name), kind),
        _number(observed, (model, name), kind),
    )


def _number(number: Number, parameter: tuple[str, str], kind: str) -> str:
    if number is None:
        return "could not be measured"
    if parameter in _DISTANCES:
        return measured(Fraction(number), kind)
    if number == inf:
        return "infinite"
    exact = grouped(Fraction(number))
    if len(exact) > _LONGEST:
        return f"≈ {float(number):.4g}"
    return f"≈ {float(number):.4g} ({exact})" if "/" in exact else exact
