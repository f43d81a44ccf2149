"""Every privacy model by the name it has in a spec."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from expectations.alpha_k import AlphaK
from expectations.k_anonymity import KAnonymity
from expectations.ke_anonymity import KEAnonymity
from expectations.l_diversity import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from expectations.model import PrivacyModel
from expectations.t_closeness import TCloseness

LDiversity = Annotated[
    DistinctLDiversity | EntropyLDiversity | RecursiveLDiversity, Field(discriminator="variant")
]
Promise = Annotated[
    KAnonymity | LDiversity | TCloseness | AlphaK | KEAnonymity, Field(discriminator="model")
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
)
