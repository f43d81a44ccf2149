"""Runs as flows of Prefect's: what the modules directly under `flows` offer to its workers."""

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, cast

from prefect import flow
from prefect.client.schemas import State
from prefect.runtime import flow_run

from sfumato.expectations.machine.imports import import_as_command
from sfumato.tasks.policy import PrivateFlow
from sfumato.tasks.under_prefect import state_of

P = ParamSpec("P")


def is_our_run(arguments: Sequence[str]) -> bool:
    """Tell by its arguments whether a process is one that a worker started for a flow of ours.

    It is `prefect.flow_engine` with one entrypoint, and runs nothing of anyone else's.
    """
    started = len(arguments) == 2 and "flow_engine" in arguments[0]
    return started and arguments[1].startswith("sfumato.flows.")


if is_our_run(sys.argv):
    import_as_command()


def prefect_flow(private: PrivateFlow[P]) -> Callable[P, Any]:
    """Return the flow of a run on microdata, named like it; it takes the parameters of its body.

    A run that fails ends in a failed state with one line. It raises nothing: Prefect would pickle
    an exception and store it, whatever is said of results.
    """

    @wraps(private.body)
    def run_with_state(*args: P.args, **kwargs: P.kwargs) -> State:
        return state_of(private.run(*args, **kwargs))

    def name_run() -> str:
        return private.run_name(**flow_run.parameters)

    made = flow(name=private.name, flow_run_name=name_run, persist_result=False, log_prints=False)
    return cast(Callable[P, Any], made(run_with_state))
