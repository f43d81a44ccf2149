"""Every privacy model by the name it has in a spec."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from expectations.k_anonymity import KAnonymity
from expectations.ke_anonymity import KEAnonymity

Promise = Annotated[KAnonymity | KEAnonymity, Field(discriminator="model")]
PROMISE: TypeAdapter[Any] = TypeAdapter(Promise)
