"""Settings under which Prefect runs quietly and offline, unless the operator says otherwise."""

import os

_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "GX_ANALYTICS_ENABLED": "false",
}


def quiet() -> None:
    """Set what is not set; must run before the embedded server starts."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
