"""The release flow as a worker loads it, with a foreign exception raised in `deidentify`."""

import sfumato.tasks.deidentify
from sfumato.flows.release import release

__all__ = ["release"]


def _raise(*_: object, **__: object) -> None:
    raise ValueError("CANARYforeign: a message that quotes the data")


sfumato.tasks.deidentify.write_deidentified = _raise
