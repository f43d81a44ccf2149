"""Where a cluster may be: on this machine, or behind TLS with certificates of both sides."""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from sfumato.expectations.errors import InputError

_CERTIFICATES = ("ca-file", "client.cert", "client.key")


def require_safe(address: str) -> Any:
    """How a client must speak to a scheduler (a `distributed.Security`), None on this machine.

    Raises:
        InputError: where others could listen, or who they are would not be known.
    """
    scheme, host = _split(address)
    if scheme == "tcp" and _is_loopback(host):
        return None
    if scheme != "tls":
        raise InputError(
            "SFUMATO_DASK: names neither tls://… nor tcp:// on loopback: whoever listens, or "
            "answers, would be told where the microdata lie"
        )
    import dask  # optional
    from distributed import Security

    for name in _CERTIFICATES:
        if not dask.config.get(f"distributed.comm.tls.{name}", None):
            variable = f"DASK_DISTRIBUTED__COMM__TLS__{name}".replace(".", "__").replace("-", "_")
            raise InputError(f"SFUMATO_DASK: tls:// needs certificates: set {variable.upper()}")
    return Security(require_encryption=True)


def _split(address: str) -> tuple[str, str]:
    try:
        parts = urlsplit(address)
        if parts.hostname and parts.port:
            return parts.scheme, parts.hostname
    except ValueError:
        pass
    raise InputError("SFUMATO_DASK: is no address, such as tls://host:8786")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
