"""Runs as plain functions, in the process of a command: with a record in place of Prefect's server.

The stages are the same functions, with the same retries, messages and errors (see `tasks.policy`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ParamSpec

from sfumato.flows.runs.records import RunRecord, begin_record, keep_record
from sfumato.tasks.policy import PrivateFlow

P = ParamSpec("P")
_running: list[RunRecord] = []


def run_without_prefect(private: PrivateFlow[P], *args: P.args, **kwargs: P.kwargs) -> str:
    """Run a flow, and return what it gives.

    Raises:
        SfumatoError: as the run failed.
    """
    run, line = private.run_name(*args, **kwargs), private.line_name(*args, **kwargs)
    record = begin_record(private.name, run, line)
    with keep_record(record, os.environ), _as_running(record):
        outcome = private.run(*args, **kwargs)
        record.end(outcome)
    if outcome.error is not None:
        raise outcome.error
    return str(outcome.result)


def running_here() -> RunRecord | None:
    """Return the record of the run that this process is in, or None."""
    return _running[-1] if _running else None


@contextmanager
def _as_running(record: RunRecord) -> Iterator[None]:
    _running.append(record)
    try:
        yield
    finally:
        _running.pop()
