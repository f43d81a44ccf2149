"""The release flow in this process, its tasks as plain functions: no server, no artifacts."""

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from typing import Any

from prefect.client.schemas import State

from sfumato.tasks.private.failure import listening

TASKS = ("ingest", "deidentify", "verify", "anonymize", "validate", "publish", "evaluate")
HELD = {
    "find_candidate": "hold",
    "hold": "hold",
    "evaluate_before": "evaluate",
    "record_evaluated": "evaluate",
    "attack": "validate",
    "attack_parts": "validate",
}
IN_PARTS = ("divide", "find_version", "anonymize_parts", "validate_parts")
_ARTIFACTS = ("create_", "update_", "tell")  # what functions that talk to the server begin with


def leave_prefect_out(patch: Any) -> None:
    """Make the flow its plain function, and every task its own, still guarded; show no artifact.

    Args:
        patch: has `setattr` as pytest's monkeypatch has.
    """
    flow = import_module("sfumato.flows.release")
    patch.setattr(flow, "release", _result_of(unwrap(flow.release.fn)))
    of_modules = {**dict(zip(TASKS, TASKS, strict=True)), **dict.fromkeys(IN_PARTS, "in_parts")}
    _leave_out(patch, flow, of_modules | HELD)
    approved = import_module("sfumato.flows.publish")
    patch.setattr(approved, "publish", _result_of(unwrap(approved.publish.fn)))
    _leave_out(patch, approved, {"publish_approved": "publish"})
    policy = import_module("sfumato.tasks.policy")
    for function in ("create_progress_artifact", "update_progress_artifact"):
        patch.setattr(policy, function, lambda *_arguments, **_named: None)
    _leave_out(patch, import_module("sfumato.flows.life.copies"), {"deliver": "deliver"})
    servers = import_module("sfumato.flows.operation.servers")
    patch.setattr(servers, "note_servers", lambda _environ: None)  # imports Prefect's: none starts


def _leave_out(patch: Any, flow: Any, of_modules: Mapping[str, str]) -> None:
    """Make each task of a flow, by the module that it is in, the function that it guards."""
    for name, place in of_modules.items():
        module = import_module(f"sfumato.tasks.{place}")
        plain = _result_of(getattr(module, name).fn)
        patch.setattr(module, name, plain)  # some are imported where they are called
        if hasattr(flow, name):
            patch.setattr(flow, name, plain)
        for function in [f for f in vars(module) if f.startswith(_ARTIFACTS)]:
            patch.setattr(module, function, lambda *_arguments, **_named: None)


def _result_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose states are their results, or raised where they are errors."""

    def run(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        if not isinstance(result, State):
            return result
        if isinstance(result.data, Exception):
            raise result.data
        return result.data

    return run


def release_here(spec: Path, events: list[tuple[str, str]] | None = None) -> Path:
    """Run the whole flow; `events` gets every stage that starts, finishes or fails."""
    flow = import_module("sfumato.flows.release")
    heard = [] if events is None else events
    with listening(lambda stage, event, _counts: heard.append((stage, event))):
        return Path(flow.release(str(spec)))
