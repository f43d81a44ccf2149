"""Prefect's server, asked before a long run: whether it is there, lets us in, and is one."""

from contextlib import suppress

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from sfumato.expectations.machine.fault import explain
from sfumato.expectations.machine.servers import named_server, other_server
from sfumato.expectations.shared.errors import SfumatoError, TransientFault

_SECONDS = 10.0  # that a server has for an answer
_SERVER_ERROR = 500  # statuses from here on may pass: Prefect's client asks again


def require_server() -> None:
    """Refuse to begin without the server that is configured; none is started by this.

    A server that is busy or fails is let pass: Prefect's client asks it again.

    Raises:
        Fault: where it cannot be reached, does not let us in, or is no Prefect server.
    """
    if named_server() is None:
        return
    with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
        failure = _failure()
    if failure is not None:
        raise failure


def _failure() -> SfumatoError | None:
    """Return what is wrong with the server that is configured, as an error."""
    try:
        with get_client(httpx_settings={"timeout": _SECONDS}, sync_client=True) as client:
            return None if _is_busy(client) or _is_prefect(client) else other_server().error()
    except Exception as error:  # noqa: BLE001 - the words for it, or Prefect's own client says it
        fault = explain(error)
        return None if fault is None else fault.error()


def _is_busy(client: SyncPrefectClient) -> bool:
    """Decide whether the server answers with a failure that may pass."""
    error = client.api_healthcheck()
    if error is None:
        return False
    status = getattr(getattr(error, "response", None), "status_code", 0)
    fault = explain(error)
    if status >= _SERVER_ERROR or (status and fault and issubclass(fault.kind, TransientFault)):
        return True
    raise error


def _is_prefect(client: SyncPrefectClient) -> bool:
    """Decide whether the server tells its version, as Prefect's does."""
    with suppress(ValueError):  # its answer is no JSON
        return isinstance(client.api_version(), str)
    return False
