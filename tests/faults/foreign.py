"""Runs of the release flow for a worker, with a foreign exception raised in each of its stages.

The exception quotes the data, as those of other libraries do: in its arguments, in its attributes,
and in an exception that it follows from.
"""

import json
from importlib import import_module
from pathlib import Path

from prefect import flow

from sfumato.flows.release import release

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


@flow(name="every-stage", persist_result=False)
def every_stage(specs: dict[str, str], states: str) -> None:
    """Release each spec in a run of its own, with the stage of its name broken.

    Args:
        specs: a spec for every stage.
        states: the file that gets the type of the state in which each run ended.
    """
    ended = {}
    for stage, spec in specs.items():
        module = import_module(f"sfumato.tasks.{stage}")
        works = getattr(module, STAGES[stage])
        setattr(module, STAGES[stage], _raise)
        try:
            ended[stage] = release(spec, return_state=True).type.value
        finally:
            setattr(module, STAGES[stage], works)
    Path(states).write_text(json.dumps(ended), encoding="utf-8")
