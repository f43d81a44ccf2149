"""Lines of logs as JSON, one object each, for collectors of logs.

They have the content of the lines for people: names, counts and times, and nothing of the data. Of
an exception they have only the type, because its text may quote rows.
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sfumato.expectations.shared.errors import InputError

VARIABLE = "SFUMATO_LOG"
_FORMATS = ("text", "json")
_OURS = ("release", "publish")  # flows whose runs are called by their line, and a word more


def as_json(environ: Mapping[str, str]) -> bool:
    """Return True if messages of commands are to be lines of JSON.

    Raises:
        InputError: where the variable is neither `text` nor `json`.
    """
    format_ = environ.get(VARIABLE) or "text"
    if format_ not in _FORMATS:
        raise InputError(f"{VARIABLE}: is neither {' nor '.join(_FORMATS)}")
    return format_ == "json"


def log_line(level: str, message: str, time: datetime, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line as a document; unknown facts are left out.

    >>> log_line("info", "done", datetime(2026, 5, 31, tzinfo=UTC), {"stage": None, "seconds": 0.1})
    {'time': '2026-05-31T00:00:00.000+00:00', 'level': 'info', 'seconds': 0.1, 'message': 'done'}
    """
    known_facts = {name: fact for name, fact in facts.items() if fact not in (None, {})}
    moment = time.astimezone(UTC).isoformat(timespec="milliseconds")
    return {"time": moment, "level": level, **known_facts, "message": message}


def facts_of_run(flow: str | None, name: str | None, id_: str | None) -> dict[str, str | None]:
    """Return the line that a run is about, its name and its id.

    >>> facts_of_run("release", "wages 2026-05", "5f")
    {'line': 'wages', 'run': 'wages 2026-05', 'id': '5f'}
    >>> facts_of_run("release", "hallowed-lion", "5f")  # is not called by its line yet
    {'line': None, 'run': 'hallowed-lion', 'id': '5f'}
    """
    line, space, _ = (name or "").partition(" ")
    return {"line": line if space and flow in _OURS else None, "run": name, "id": id_}


class JsonLines(logging.Formatter):
    """Formats what is logged on a worker; `deployments/logging.yaml` names it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line; `tasks.policy` puts further facts in its attribute `facts`."""
        had = vars(record)
        run = facts_of_run(*(had.get(f"flow_{name}") for name in ("name", "run_name", "run_id")))
        kind = record.exc_info[0] if isinstance(record.exc_info, tuple) else None
        facts = {
            **run,
            "stage": had.get("task_name"),
            **had.get("facts", {}),
            "logger": record.name,
            "exception": kind and kind.__name__,
        }
        time = datetime.fromtimestamp(record.created, UTC)
        line = log_line(record.levelname.lower(), record.getMessage(), time, facts)
        return json.dumps(line, ensure_ascii=False, default=str)
