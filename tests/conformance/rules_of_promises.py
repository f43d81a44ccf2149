"""Rules about promises: parameters beyond what tables keep, at it, and scopes that mean nothing."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random

from tests.conformance.arithmetic import Limit, limits_of
from tests.conformance.drafts import Document, Draft, NotApplicableError
from tests.conformance.rulebook import Expected, refusal, refuses, require, valid

BROKEN = ("promise-broken", "promise-unmeasurable", "validation-wrong")
SCOPE = ("promise-scope", "manifest-schema", "validation-wrong", "promise-broken")


def _limits(draft: Draft) -> Iterator[tuple[int, Limit]]:
    """Yield what the tables have for each parameter of each promise that is computed here."""
    terms, tables = draft.terms, draft.tables()
    for place, promise in enumerate(terms["promises"]):
        try:
            for limit in limits_of(terms, tables, promise):
                yield place, limit
        except NotApplicableError:
            continue


def _pick(draft: Draft, rng: Random) -> tuple[int, Limit]:
    limits = list(_limits(draft))
    require(limits)
    return rng.choice(limits)


def rule_of_promise(number: Fraction) -> int | str:
    """Return a number as a manifest writes it, rounded to nine decimals (M3.3)."""
    if number.denominator == 1:
        return int(number)
    digits = f"{abs(int(number * 10**9)):010}"
    text = f"{digits[:-9]}.{digits[-9:]}".rstrip("0").rstrip(".")
    sign = "-" if number < 0 else ""
    return int(sign + text) if "." not in text else sign + text


def _step(limit: Limit, rng: Random, *, stronger: bool) -> Fraction:
    """Return a number on one side of the figure."""
    exact = Fraction(limit.figure) if isinstance(limit.figure, float) else limit.figure
    distance = Fraction(1) if limit.whole else rng.choice([Fraction(1, 1000), Fraction(1, 10)])
    upwards = stronger != limit.at_most
    return exact + distance if upwards else exact - distance


_DOMAINS = {"alpha": (0, 1), "t": (0, 1), "l": (1, 10**6), "k": (1, 10**6), "c": (0, 10**6)}


def _require_in_domain(draft: Draft, place: int, limit: Limit, number: Fraction) -> None:
    """Skip a number that the promise may not have."""
    least, most = _DOMAINS.get(limit.name, (0, 10**12))
    if draft.terms["promises"][place]["model"] == "lkc-privacy":
        most = min(most, 1) if limit.name == "c" else most
    require(least <= number <= most)


def _put(draft: Draft, place: int, limit: Limit, number: Fraction) -> None:
    """Promise another number, and write the release with it."""
    _require_in_domain(draft, place, limit, number)
    require(number > 0 or limit.name == "t")
    value = rule_of_promise(number)
    draft.rebuild(lambda terms: terms["promises"][place].update({limit.name: value}))


@refuses(*BROKEN)
def promise_beyond_the_tables(draft: Draft, rng: Random) -> None:
    """Promise a little more than the tables keep, and write the release with it."""
    place, limit = _pick(draft, rng)
    number = _step(limit, rng, stronger=True)
    require(Fraction(str(rule_of_promise(number))) != limit.figure)
    _put(draft, place, limit, number)


@valid
def promise_as_the_tables_keep_it(draft: Draft, rng: Random) -> None:
    """Promise just what the tables keep: a limit belongs to what is allowed."""
    place, limit = _pick(draft, rng)
    require(not isinstance(limit.figure, float) and limit.name != "c")
    require(Fraction(str(rule_of_promise(limit.figure))) == limit.figure)
    _put(draft, place, limit, limit.figure)


@valid
def promise_that_is_weaker(draft: Draft, rng: Random) -> None:
    """Promise less than the tables keep, and observe the same; a policy may ask for more."""
    require("policy" not in draft.terms)
    place, limit = _pick(draft, rng)
    _put(draft, place, limit, _step(limit, rng, stronger=False))


@refuses("observed-wrong", "validation-wrong", "bytes-differ", "statement-wrong")
def promise_that_was_not_observed(draft: Draft, rng: Random) -> None:
    """Promise less in the manifest, and leave `validation.json` as it is."""
    place, limit = _pick(draft, rng)
    number = _step(limit, rng, stronger=False)
    _require_in_domain(draft, place, limit, number)
    require(number > _DOMAINS.get(limit.name, (0, 0))[0])
    value = rule_of_promise(number)
    require(value != draft.terms["promises"][place][limit.name])
    draft.declare(lambda terms: terms["promises"][place].update({limit.name: value}))


@refuses(*SCOPE, "format-wrong")
def promise_of_another_form(draft: Draft, rng: Random) -> None:
    """Promise what the form cannot show."""
    others = {
        "permuted": ["k-anonymity", "alpha-k"],
        "split": ["k-anonymity", "alpha-k"],
        "ambiguous": ["k-anonymity", "t-closeness"],
        "generalized": ["alpha-beta"],
        "suppressed": ["alpha-beta"],
        "redistributed": ["k-anonymity", "alpha-k"],
    }
    parameters = {
        "k-anonymity": {"k": 1},
        "alpha-k": {"alpha": 1, "k": 1},
        "t-closeness": {"t": 1, "distance": "equal"},
        "alpha-beta": {"alpha": 1, "beta": 1, "presence": "per-group"},
    }
    model = rng.choice(others[draft.form])

    def change(terms: Document) -> None:
        promise = terms["promises"][0]
        scope = {key: promise[key] for key in ("quasi-identifiers", "sensitive") if key in promise}
        terms["promises"].append({"model": model, **parameters[model], **scope})

    _add(draft, change)


def _add(draft: Draft, change) -> None:
    """Declare other promises; without a release that could be made of them, only state them."""
    draft.declare(change)


@refuses(*SCOPE, "observed-wrong")
def promise_about_no_quasi_identifier(draft: Draft, rng: Random) -> None:
    """Promise something about no quasi-identifier, or about a column that is none."""
    sensitive = [c["name"] for c in draft.terms["columns"] if c["role"] == "sensitive"]
    columns = rng.choice([[], ["nobody's"], sensitive[:1] or ["nobody's"]])
    draft.declare(lambda terms: _alter(terms, rng, "quasi-identifiers", columns))


def _alter(terms: Document, rng: Random, key: str, value: object) -> None:
    """Change a promise and its observation alike."""
    place = rng.randrange(len(terms["promises"]))
    terms["promises"][place][key] = value
    terms["observed"][place]["promise"][key] = value


@refuses(*SCOPE, "observed-wrong")
def promise_about_no_sensitive_column(draft: Draft, rng: Random) -> None:
    """Let a promise about values name no sensitive column."""
    quasi = [c["name"] for c in draft.terms["columns"] if c["role"] == "quasi-identifier"]
    about = [
        i
        for i, promise in enumerate(draft.terms["promises"])
        if promise["model"] not in ("k-anonymity", "k-map", "delta-presence")
    ]
    require(about)
    place, name = rng.choice(about), rng.choice(["nobody's", quasi[0]])

    def change(terms: Document) -> None:
        terms["promises"][place]["sensitive"] = name
        terms["observed"][place]["promise"]["sensitive"] = name

    draft.declare(change)


@refuses("promise-scope", "manifest-schema", "observed-wrong", "validation-wrong", "format-wrong")
def columns_without_a_promise(draft: Draft, rng: Random) -> None:
    """Leave the promises out that are about a quasi-identifier or a sensitive column."""
    terms = draft.terms
    sensitive = [
        c["name"] for c in terms["columns"] if c["role"] == "sensitive" and "unprotected" not in c
    ]
    values = ("k-anonymity", "k-map", "delta-presence")
    kept_places = [i for i, promise in enumerate(terms["promises"]) if promise["model"] in values]
    require(sensitive and kept_places)

    def change(terms: Document) -> None:
        terms["promises"] = [terms["promises"][i] for i in kept_places]
        terms["observed"] = [terms["observed"][i] for i in kept_places]

    draft.declare(change)


@refuses("manifest-schema")
def promise_of_no_model(draft: Draft, rng: Random) -> None:
    """Promise what no model says, or with a key that the model does not have."""
    key, value = rng.choice(
        [("model", "m-invariance"), ("model", "K-anonymity"), ("more", 1), ("model", None)]
    )
    draft.declare(lambda terms: _alter(terms, rng, key, value))


@refuses("manifest-schema")
def parameter_out_of_range(draft: Draft, rng: Random) -> None:
    """Promise a number that a parameter cannot be."""
    wrong = {
        "k": [0, -1, "1.5"],
        "l": [0, -1],
        "t": [-1, "-0.5"],
        "alpha": [0, 2, "-0.1"],
        "e": ["-0.5", -1],
        "beta": [-1],
        "delta": [-1],
        "tolerance": [-1, 1],
    }
    promises = list(enumerate(draft.terms["promises"]))
    choices = [(i, key) for i, promise in promises for key in wrong if key in promise]
    require(choices)
    place, key = rng.choice(choices)
    value = rng.choice(wrong[key])

    def change(terms: Document) -> None:
        terms["promises"][place][key] = value
        terms["observed"][place]["promise"][key] = value

    draft.declare(change)


@refuses("manifest-schema")
def parameter_left_out(draft: Draft, rng: Random) -> None:
    """Leave a number of a promise out."""
    names = ("k", "l", "t", "alpha", "e", "beta", "delta", "tolerance", "variant", "distance")
    promises = list(enumerate(draft.terms["promises"]))
    choices = [(i, key) for i, promise in promises for key in names if key in promise]
    require(choices)
    place, key = rng.choice(choices)

    def change(terms: Document) -> None:
        terms["promises"][place].pop(key)
        terms["observed"][place]["promise"].pop(key)

    draft.declare(change)


@refuses("promise-broken", "observed-wrong", "validation-wrong")
def promise_repeated(draft: Draft, rng: Random) -> Expected:
    """Make a promise twice, and observe it once."""
    require(not draft.in_parts)

    def change(terms: Document) -> None:
        terms["promises"].append(rng.choice(terms["promises"]))

    draft.declare(change)
    return refusal("observed-wrong", "validation-wrong", "bytes-differ")
