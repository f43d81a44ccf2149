"""Every privacy model by the name it has in a spec."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness

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
