"""The installed `sfumato`, examined from a folder outside the repository."""

import json
import sys
from pathlib import Path

import sfumato.expectations
import sfumato.flows.cli.main
import sfumato.flows.release
import sfumato.tasks
from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.microdata.notation import address
from sfumato.tasks.private.failure import sanitise_errors


def fault() -> str:
    """Return the message about a foreign exception that an installed module raises."""
    try:
        with sanitise_errors("ingest"):
            address.local_path(None, Path(), {})
    except Fault as error:
        return str(error)
    return "nothing was raised"


packages = (sfumato.expectations, sfumato.flows, sfumato.tasks)
print(
    json.dumps(
        {
            "places": [str(Path(package.__file__).parent) for package in packages],
            "old_names": [
                name
                for name in sys.modules
                if name.partition(".")[0] in ("flows", "tasks", "expectations")
            ],
            "fault": fault(),
        }
    )
)
