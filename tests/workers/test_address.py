"""Clusters that others could listen to are refused."""

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.workers.dask import require_safe


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://[::1]:1", "tcp://localhost:1"])
def test_this_machine_needs_no_certificates(address):
    assert require_safe(address) is None


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("tcp://10.0.0.7:8786", "must be tls"),
        ("tcp://localhost.example.org:8786", "must be tls"),
        ("ws://127.0.0.1:8786", "must be tls"),
        ("inproc://127.0.0.1:8786", "must be tls"),
        ("tls://host", "is not an address"),
        ("host:8786", "is not an address"),
        ("tls://host:port", "is not an address"),
        ("tls://host:8786", "Set DASK_DISTRIBUTED__COMM__TLS__CA_FILE"),
    ],
)
def test_others_are_refused(address, fault):
    with pytest.raises(InputError, match=fault) as raised:
        require_safe(address)
    assert "10.0.0.7" not in str(raised.value)


def test_every_certificate_is_asked_for():
    import dask

    names = {"ca-file": "a", "client.cert": "b"}
    with (
        dask.config.set({f"distributed.comm.tls.{name}": file for name, file in names.items()}),
        pytest.raises(InputError, match="Set DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"),
    ):
        require_safe("tls://host:8786")
