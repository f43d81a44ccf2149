"""The release flow as a worker loads it, with a foreign exception raised in one of its stages.

`$FOREIGN_STAGE` names the stage. The exception quotes the data, as those of other libraries do: in
its arguments, in its attributes, and in an exception that it follows from.
"""

import os
from importlib import import_module

from sfumato.flows.release import release

__all__ = ["CANARY", "STAGES", "release"]

CANARY = "CANARYforeign"
STAGES = {  # the function of each task's module that does its work
    "ingest": "write_source",
    "deidentify": "write_deidentified",
    "verify": "measure_risks",
    "anonymize": "write_candidate",
    "validate": "assess_candidate",
    "publish": "publish_version",
    "evaluate": "evaluate_release",
}


class Foreign(Exception):
    """What no message of ours may hold."""

    def __init__(self) -> None:
        super().__init__(f"{CANARY}: a message that quotes the data", {"row": CANARY})
        self.cell = CANARY
        self.add_note(f"a note with {CANARY}")


def _raise(*_: object, **__: object) -> None:
    cell = CANARY
    try:
        raise KeyError(cell)
    except KeyError as error:
        raise Foreign from error


if stage := os.environ.get("FOREIGN_STAGE"):
    setattr(import_module(f"sfumato.tasks.{stage}"), STAGES[stage], _raise)
