"""Every privacy model by the name that a spec gives as `model`, and the columns it is about."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import TypeAdapter

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.registered import Entries, Registered, classes

L_DIVERSITY: Mapping[str, type[PrivacyModel]] = Entries(
    "sfumato.expectations.models",
    {
        "distinct": "l_diversity:DistinctLDiversity",
        "entropy": "l_diversity:EntropyLDiversity",
        "recursive": "l_diversity:RecursiveLDiversity",
    },
)
LDiversity = Annotated[PrivacyModel, Registered("variant", L_DIVERSITY)]
PROMISES: Mapping[str, Any] = Entries(
    "sfumato.expectations.models",
    {
        "k-anonymity": "k_anonymity:KAnonymity",
        "k-map": "k_anonymity:KMap",
        "km-anonymity": "limited_knowledge:KMAnonymity",
        "lkc-privacy": "limited_knowledge:LKCPrivacy",
        "l-diversity": "promises:LDiversity",
        "t-closeness": "t_closeness:TCloseness",
        "delta-disclosure": "delta_disclosure:DeltaDisclosure",
        "beta-likeness": "beta_likeness:BetaLikeness",
        "alpha-k": "alpha_k:AlphaK",
        "ke-anonymity": "ke_anonymity:KEAnonymity",
        "alpha-beta": "alpha_beta:AlphaBeta",
        "p-privacy": "p_privacy:PPrivacy",
        "delta-presence": "delta_presence:DeltaPresence",
        "bayes-optimal": "bayes_optimal:BayesOptimal",
        "people": "related:KPeople",
        "related-l-diversity": "related:RelatedDiversity",
        "related-alpha": "related:RelatedAlpha",
    },
)
Promise = Annotated[PrivacyModel, Registered("model", PROMISES)]
PROMISE: TypeAdapter[PrivacyModel] = TypeAdapter(Promise)


def models() -> tuple[type[PrivacyModel], ...]:
    """Return the class of every registered model and variant."""
    return classes(PROMISES)


def with_columns(
    promise: PrivacyModel,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    weights: Sequence[str] = (),
) -> PrivacyModel:
    """Return a promise with the columns that it is about.

    Args:
        promise: the promise; columns that it names stay.
        quasi_identifiers: all of them, where it names none.
        sensitive: the sensitive columns, the only one where it names none.
        weights: the columns of weights, the only one where it is about weights and names none.
    """
    about = weights if promise.weighs else sensitive
    return replace(
        promise,
        quasi_identifiers=promise.quasi_identifiers or tuple(quasi_identifiers),
        sensitive=promise.sensitive or (about[0] if len(about) == 1 else None),
    )
