"""Database servers of our own: in a temporary directory, and stopped by their process.

They are started once in a run of tests, from the binaries of PostgreSQL and MariaDB that the
machine has, and listen on a socket in that directory and nowhere else.
"""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg
import pymysql

_PATIENCE = 60.0


@cache
def postgres() -> str:
    """The address of a PostgreSQL server, ready to be connected to."""
    directory, user = _directory("postgres")
    data, binaries = directory / "data", _postgres_binaries()
    init = [f"{binaries}/initdb", "-D", data, "-A", "trust", "-U", "tests", "-E", "UTF8", "-N"]
    _run([*init, "--locale=C.UTF-8"], user, directory)
    quick = ("fsync=off", "full_page_writes=off", "listen_addresses=", "max_wal_size=2GB")
    settings = [part for setting in quick for part in ("-c", setting)]
    server = [f"{binaries}/postgres", "-D", data, "-k", directory, *settings]
    address = f"postgresql://tests@/postgres?host={quote(str(directory), safe='')}"
    _start(server, user, directory, directory / ".s.PGSQL.5432")
    until = time.monotonic() + _PATIENCE
    while not _takes(address):
        assert time.monotonic() < until
        time.sleep(0.1)
    return address


@cache
def mariadb() -> str:
    """The address of a MariaDB server, ready to be connected to."""
    directory, user = _directory("mysql")
    data, place = directory / "data", directory / "socket"
    # In /tmp another server that starts would remove its temporary tables.
    apart = ["--no-defaults", f"--datadir={data}", f"--tmpdir={directory}"]
    shared = [*apart, *([f"--user={user}"] if user else [])]
    install = shutil.which("mariadb-install-db") or "mariadb-install-db"
    normal = ["--auth-root-authentication-method=normal", "--skip-test-db"]
    _run([install, *shared, *normal], None, directory)
    binary = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin") or "mariadbd"
    quick = ["--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"]
    files = [f"--socket={place}", f"--pid-file={directory / 'pid'}"]
    _start([binary, *shared, *files, *quick], None, directory, place)
    with pymysql.connect(unix_socket=str(place), user="root") as connection:
        connection.cursor().execute("CREATE DATABASE tests")
    return f"mariadb://root@/tests?unix_socket={quote(str(place), safe='')}"


def _takes(address: str) -> bool:
    """Tell if PostgreSQL takes connections: it listens a little earlier."""
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def _postgres_binaries() -> Path:
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[-2])
    )
    if folders:
        return folders[-1]
    return Path(shutil.which("initdb") or "/usr/bin/initdb").resolve().parent


def _directory(account: str) -> tuple[Path, str | None]:
    """A directory short enough for a socket, and whose it is: the servers do not run as root."""
    directory = Path(tempfile.mkdtemp(prefix="sfumato-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    user = account if os.geteuid() == 0 else None
    if user:
        shutil.chown(directory, user)
    return directory, user


def _run(command: Sequence[str | Path], user: str | None, directory: Path) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        user=user,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr or done.stdout


def _start(command: Sequence[str | Path], user: str | None, directory: Path, address: Path) -> None:
    """Start a server, to be stopped at the end, and wait until it listens."""
    with (directory / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(part) for part in command], user=user, cwd=directory, stdout=log, stderr=log
        )
    atexit.register(_stop, server)
    until = time.monotonic() + _PATIENCE
    while not _listens(address):
        log_text = (directory / "log").read_text(errors="replace")[-2000:]
        assert server.poll() is None, log_text
        assert time.monotonic() < until, log_text
        time.sleep(0.1)


def _listens(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(address)) == 0


def _stop(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
