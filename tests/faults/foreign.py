"""Runs for a worker, with a foreign exception raised in each stage and in every other task.

The exception quotes the data, as those of other libraries do: in its arguments, in its attributes,
and in an exception that it follows from.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from prefect import flow
from prefect.client.schemas import State

from sfumato.flows.publish import publish
from sfumato.flows.release import release
from sfumato.flows.runs.prefect_flow import prefect_flow
from sfumato.tasks.outcomes import RunOutcome
from sfumato.tasks.policy import PrivateFlow

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
OTHERS = {  # the other tasks: the function that each calls first, or that does its work
    "ingest.ingest_related": "write_related_source",
    "hold.find_candidate": "identity",
    "hold.hold": "hold_candidate",
    "deidentify.choose": "choose_terms",
    "validate.attack": "identity",
    "validate.attack_parts": "identity",
    "publish.publish_approved": "find_approved",
    "evaluate.evaluate_before": "original_of_candidate",
    "evaluate.record_evaluated": "record_measured",
    "in_parts.divide": "write_divided",
    "in_parts.find_version": "identity",
    "in_parts.anonymize_parts": "write_candidates",
    "in_parts.validate_parts": "seal_candidates",
    "deliver.deliver": "remember",
}
BEHIND = "deliver.deliver"  # what fails there fails no run
NOWHERE = "s3://nowhere"


class Foreign(Exception):
    """An exception with content that no message of ours may hold."""

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


@contextmanager
def _broken(module: str, function: str) -> Iterator[None]:
    """Let a function of a module raise a foreign exception while the block runs."""
    module_ = import_module(f"sfumato.{module}")
    works = getattr(module_, function)
    setattr(module_, function, _raise)
    try:
        yield
    finally:
        setattr(module_, function, works)


def _one_task(name: str, place: str) -> RunOutcome:
    """Run one task, of which nothing but its name and a folder is known."""
    Path(place).mkdir(mode=0o700, exist_ok=True)
    module, task = name.split(".")
    task_found = getattr(import_module(f"sfumato.tasks.{module}"), task)
    returned = task_found(**_arguments(task_found, Path(place)))
    return RunOutcome("Completed", f"{task}: {', '.join(returned)} is behind")


def _name(*_: str, **__: str) -> str:
    return "one-task"


one_task = prefect_flow(PrivateFlow("one-task", _one_task, _name, _name))


def _arguments(function: Any, place: Path) -> dict[str, Any]:
    """Something for each argument; the task fails before it looks at most of them."""
    special = {
        "declared": [SimpleNamespace(uri=NOWHERE)],
        "facts": {},
        **dict.fromkeys(("candidate", "divided", "run"), place),
    }
    anything = SimpleNamespace(
        name="wages", private=place, versions=None, published_words=None, bars=()
    )
    return {name: special.get(name, anything) for name in signature(function).parameters}


def _state_of(function: Any, *arguments: str) -> State[Any]:
    """Return the state in which a flow or a task ends, typed as the function that it was."""
    state: State[Any] = function(*arguments, return_state=True)
    return state


@flow(name="every-stage", persist_result=False)
def every_stage(specs: dict[str, str], states: str) -> None:
    """Release each spec in a run of its own, with the stage of its name broken.

    Then run every other task, and the flow that publishes what was approved, each broken.

    Args:
        specs: a spec for every stage.
        states: the file that gets the type of the state in which each run ended.
    """
    ended = {}
    for stage, spec in specs.items():
        with _broken(f"tasks.{stage}", STAGES[stage]):
            ended[stage] = _state_of(release, spec).type.value
    for name, function in OTHERS.items():
        with _broken(f"tasks.{name.split('.')[0]}", function):
            place = str(Path(states).parent / "place")
            ended[name] = _state_of(one_task, name, place).type.value
    with _broken("flows.runs.publishing", "resolve_run"):
        approved = _state_of(publish, specs["publish"], "0" * 64)
    ended["flows.publish"] = approved.type.value
    Path(states).write_text(json.dumps(ended), encoding="utf-8")
