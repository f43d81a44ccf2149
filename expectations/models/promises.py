"""Every privacy model by the name that a spec gives as `model`; a family by its `variant`, too."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import TypeAdapter

from sfumato.expectations.entries import Entries
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.registered import Registered, classes

L_DIVERSITY: Mapping[str, type[PrivacyModel]] = Entries(
    "sfumato.expectations.models.l_diversity",
    {
        "distinct": "distinct:DistinctLDiversity",
        "entropy": "entropy:EntropyLDiversity",
        "recursive": "recursive:RecursiveLDiversity",
    },
)
LDiversity = Annotated[PrivacyModel, Registered("variant", L_DIVERSITY)]
PROMISES: Mapping[str, Any] = Entries(
    "sfumato.expectations.models",
    {
        "k-anonymity": "k_anonymity.k_anonymity:KAnonymity",
        "k-map": "k_anonymity.k_map:KMap",
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
    },
)
Promise = Annotated[PrivacyModel, Registered("model", PROMISES)]
PROMISE: TypeAdapter[PrivacyModel] = TypeAdapter(Promise)


def models() -> tuple[type[PrivacyModel], ...]:
    """The class of every registered model and variant."""
    return classes(PROMISES)
