"""Dask's workers: processes of this machine for the time of a run, or those of a cluster.

Dask ships the text of exceptions to its logs and to who waits: none leaves a worker, where work
ends with what it returned or with a line that may be shown. Its pages would show jobs: none is
served here.
"""

import ipaddress
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sfumato.expectations.machine.packages import import_extra
from sfumato.expectations.shared.errors import Fault, InputError, SfumatoError
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_text
from sfumato.tasks.schema.formats import software
from sfumato.tasks.workers.workers import Workers

_CERTIFICATES = ("ca-file", "client.cert", "client.key")
_SEEN = "seen-by-workers"
_AHEAD = 1000  # jobs that the scheduler knows of at a time
_DEATHS = 3  # of workers, for one job
_SECONDS = 60  # until a cluster answers
_UNTIL_WORKERS = 600  # seconds that parts wait for a worker where there is none
_TALKATIVE = ("distributed", "distributed.client", "distributed.scheduler")
_SETTINGS = {
    "distributed.scheduler.http.routes": [],  # they would tell of jobs
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{_SECONDS}s",
    "distributed.scheduler.allowed-failures": _DEATHS,
    "distributed.scheduler.no-workers-timeout": f"{_UNTIL_WORKERS}s",
    # Dask never starts a worker that it dropped: a busy machine needs more than Dask's 15 s.
    "distributed.deploy.lost-worker-timeout": f"{_UNTIL_WORKERS}s",
    "distributed.worker.memory.target": False,  # nothing is kept that could be spilled
    "distributed.worker.memory.spill": False,
}


def require_safe(address: str) -> Any:
    """Return how a client speaks to a scheduler (a `distributed.Security`), None on this machine.

    Raises:
        InputError: where others could listen, or who they are would not be known.
    """
    scheme, host = _split(address)
    if scheme == "tcp" and _is_loopback(host):
        return None
    if scheme != "tls":
        raise InputError(
            "SFUMATO_DASK: must be tls://…, or tcp:// on this machine. Otherwise "
            "others on the network could learn where the microdata are"
        )
    import dask  # optional
    from distributed import Security

    for name in _CERTIFICATES:
        if not dask.config.get(f"distributed.comm.tls.{name}", None):
            variable = f"DASK_DISTRIBUTED__COMM__TLS__{name}".replace(".", "__").replace("-", "_")
            raise InputError(f"SFUMATO_DASK: tls:// needs certificates. Set {variable.upper()}")
    return Security(require_encryption=True)


def _split(address: str) -> tuple[str, str]:
    try:
        parts = urlsplit(address)
        if parts.hostname and parts.port:
            return parts.scheme, parts.hostname
    except ValueError:
        pass
    raise InputError("SFUMATO_DASK: is not an address. Write one such as tls://host:8786")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_alike(client: Any, run: Path) -> None:
    """Compare the workers of a cluster with this process.

    Args:
        client: of the cluster.
        run: a private directory, which all of them must see.

    Raises:
        InputError: where there is none, or one has other software or sees another disk.
    """
    token = secrets.token_hex(16)
    (run / _SEEN).write_text(token, encoding="ascii", newline="\n")
    answers = client.run(_answer, str(run / _SEEN), on_error="return")
    if not answers:
        raise InputError("SFUMATO_DASK: the cluster has no workers. Start some")
    here = software()
    for number, answer in enumerate(answers.values(), start=1):
        called = f"SFUMATO_DASK: worker {number} of {len(answers)}"
        if not isinstance(answer, tuple):
            raise InputError(f"{called}: does not have sfumato installed. Install it there")
        versions, seen = answer
        if other := next((name for name in here if versions.get(name) != here[name]), None):
            raise InputError(
                f"{called}: has {other} {versions.get(other)}, and this process has "
                f"{here[other]}. Install the same versions"
            )
        if seen != token:
            raise InputError(
                f"{called}: does not see the work directory, which must be on a shared "
                "disk, at the same path, and belong to the same user"
            )


def _answer(path: str) -> tuple[dict[str, str], str | None]:
    """Return the software that a worker has, and the content of a file as it reads it."""
    try:
        return software(), read_text(Path(path), encoding="ascii")
    except OSError:
        return software(), None


J = TypeVar("J")


R = TypeVar("R")


@dataclass(frozen=True)
class _Refused:
    """An error that may be shown, as it travels."""

    kind: type[SfumatoError]
    message: str


class DaskWorkers:
    """The workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        """Work through a client of the cluster."""
        self._client = client

    def each(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """See `Workers`."""
        waiting = (self._submit(work, job) for job in jobs)
        ahead = deque(islice(waiting, _AHEAD))
        try:
            while ahead:
                yield _result(ahead[0], work.__name__)
                ahead.popleft().release()
                ahead.extend(islice(waiting, 1))
        finally:
            if ahead:
                self._client.cancel(list(ahead))

    def _submit(self, work: Callable[[J], R], job: J) -> Any:
        return self._client.submit(_run_sheltered, work, job, pure=False)


def _run_sheltered(work: Callable[[J], R], job: J) -> R | _Refused:
    """Do the work, and return an error instead of raising it."""
    try:
        with sanitise_errors(work.__name__):
            return work(job)
    except SfumatoError as error:
        return _Refused(type(error), str(error))


def _result(future: Any, name: str) -> Any:
    from distributed import KilledWorker  # Dask is optional
    from distributed.scheduler import NoWorkerError

    try:
        result = future.result()
    except KilledWorker as error:
        died = error.allowed_failures + 1
        raise Fault(
            f"{name}: {died} workers died on the same part, probably for lack of "
            "memory. Make the parts smaller (parts.rows)"
        ) from None
    except NoWorkerError as error:
        raise Fault(
            f"{name}: no worker was there for {error.args[-1]:.0f} s, and no other came. "
            "See why workers cannot start, or leave out `engine: dask`"
        ) from None
    if isinstance(result, _Refused):
        raise result.kind(result.message)
    return result


@contextmanager
def dask_workers(run: Path, environ: Mapping[str, str]) -> Iterator[Workers]:
    """Yield the workers of the cluster that SFUMATO_DASK names, or some of this machine's own.

    Args:
        run: the run's private directory, which all of them must see.
        environ: where the address is.

    Raises:
        InputError: where the cluster cannot be used.
        MissingPackageError: where Dask is not installed.
    """
    dask, distributed = (import_extra(name, "dask", "engine") for name in ("dask", "distributed"))
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    address = environ.get("SFUMATO_DASK")
    with dask.config.set(_SETTINGS):
        if address:
            with _client_of(distributed, address) as client:
                require_alike(client, run)
                yield DaskWorkers(client)
        else:
            with (
                _own_cluster(distributed, run) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield DaskWorkers(client)


def _own_cluster(distributed: Any, run: Path) -> Any:
    """Start a process for each processor that this one may use.

    Whoever reaches a scheduler can have code run, and other users reach this machine's loopback:
    certificates made for the run keep them out.
    """
    from dask.system import CPU_COUNT  # Dask is optional

    return distributed.LocalCluster(
        n_workers=CPU_COUNT,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tls",
        security=True,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        memory_limit=0,
        local_directory=str(private_directory(run / "dask")),
        silence_logs=logging.CRITICAL,
    )


@contextmanager
def _client_of(distributed: Any, address: str) -> Iterator[Any]:
    security = require_safe(address)
    try:
        client = distributed.Client(address, security=security, timeout=_SECONDS)
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise InputError(
            f"SFUMATO_DASK: no scheduler answers at this address ({type(error).__name__})"
        ) from None
    with client:
        yield client
