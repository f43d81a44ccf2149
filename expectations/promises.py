"""Every privacy model by the name it has in a spec."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from expectations.alpha_beta import AlphaBeta
from expectations.alpha_k import AlphaK
from expectations.bayes_optimal import BayesOptimal
from expectations.k_anonymity import KAnonymity
from expectations.ke_anonymity import KEAnonymity
from expectations.l_diversity import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from expectations.model import PrivacyModel
from expectations.p_privacy import PPrivacy
from expectations.presence import DeltaPresence
from expectations.t_closeness import TCloseness

LDiversity = Annotated[
    DistinctLDiversity | EntropyLDiversity | RecursiveLDiversity, Field(discriminator="variant")
]
Promise = Annotated[
    KAnonymity
    | LDiversity
    | TCloseness
    | AlphaK
    | KEAnonymity
    | AlphaBeta
    | PPrivacy
    | DeltaPresence
    | BayesOptimal,
    Field(discriminator="model"),
]
PROMISE: TypeAdapter[Any] = TypeAdapter(Promise)
MODELS: tuple[type[PrivacyModel], ...] = (
    KAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
    AlphaK,
    KEAnonymity,
    AlphaBeta,
    PPrivacy,
    DeltaPresence,
    BayesOptimal,
)
