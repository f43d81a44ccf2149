"""The columns that a promise is about, where it names none."""

from collections.abc import Sequence
from dataclasses import replace

from sfumato.expectations.models.model import PrivacyModel


def with_columns(
    promise: PrivacyModel,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    weights: Sequence[str] = (),
) -> PrivacyModel:
    """A promise that says which columns it is about.

    Args:
        promise: what it names stays.
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
