"""Every privacy model by the name that a spec gives as `model`; a family by its `variant`, too."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import TypeAdapter

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity, KMap
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.registered import Registered, classes

L_DIVERSITY: Mapping[str, type[PrivacyModel]] = {
    "distinct": DistinctLDiversity,
    "entropy": EntropyLDiversity,
    "recursive": RecursiveLDiversity,
}
PROMISES: Mapping[str, Any] = {
    "k-anonymity": KAnonymity,
    "k-map": KMap,
    "l-diversity": Annotated[PrivacyModel, Registered("variant", L_DIVERSITY)],
    "t-closeness": TCloseness,
    "delta-disclosure": DeltaDisclosure,
    "beta-likeness": BetaLikeness,
    "alpha-k": AlphaK,
    "ke-anonymity": KEAnonymity,
    "alpha-beta": AlphaBeta,
    "p-privacy": PPrivacy,
    "delta-presence": DeltaPresence,
    "bayes-optimal": BayesOptimal,
}
Promise = Annotated[PrivacyModel, Registered("model", PROMISES)]
PROMISE: TypeAdapter[PrivacyModel] = TypeAdapter(Promise)


def models() -> tuple[type[PrivacyModel], ...]:
    """The class of every registered model and variant."""
    return classes(PROMISES)
