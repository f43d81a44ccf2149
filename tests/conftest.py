"""Hypothesis profiles (`HYPOTHESIS_PROFILE`: quick, dev, ci, deep), and what many tests share."""

import gc
import os
import shutil
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

from sfumato.expectations.groups.counting import Coded, count, numbers_of
from sfumato.expectations.groups.groups import Groups
from tests.units import PARTS, Units, has_readers, part_of, parts_of, rank

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("quick", max_examples=15, derandomize=True, **_COMMON)
settings.register_profile("ci", max_examples=60, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("deep", max_examples=5000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_addoption(parser):
    """Add the option that runs one part of the suite."""
    parser.addoption("--part", choices=PARTS, help="run this part of the suite (tests/units.py)")


def pytest_ignore_collect(collection_path, config):
    """Leave unread what has no test of the part that is asked for."""
    part, place = config.option.part, collection_path
    if part is None or not place.is_relative_to(config.rootpath / "tests"):
        return None
    name = place.relative_to(config.rootpath).as_posix()
    if place.is_dir():
        return True if part == "reader" and not has_readers(name) else None
    if place.suffix != ".py":
        return None
    return None if part in parts_of(name, place.read_text(encoding="utf-8")) else True


def pytest_collection_modifyitems(config, items):
    """Keep the part of the suite that is asked for, and begin with what takes longest."""
    part = config.option.part
    if part is not None:
        chosen, others = [], []
        for item in items:
            markers = {mark.name for mark in item.iter_markers()}
            fits = part_of(item.nodeid, markers) == part
            (chosen if fits else others).append(item)
        items[:] = chosen
        config.hook.pytest_deselected(items=others)
    items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """On continuous integration nothing that needs a browser or Node is skipped: both are there."""
    report = yield
    needed = item.get_closest_marker("browser") or item.get_closest_marker("node")
    if report.skipped and os.environ.get("CI") and needed:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: was skipped, and CI is set"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give what is set up once for many tests to one worker."""
    return Units(config, log)


@pytest.fixture(scope="module", autouse=True)
def earlier_objects_apart():
    """Let the garbage collector pass over what all tests before have left standing.

    A full collection goes through millions of objects after a while, and some tests ask for many.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def rare_collections():
    """The garbage collector looks for cycles a tenth as often: it took one second in twelve."""
    threshold = gc.get_threshold()
    gc.set_threshold(20_000, 20, 20)
    yield
    gc.set_threshold(*threshold)


@pytest.fixture(scope="session", autouse=True)
def readers_home(tmp_path_factory):
    """The home of what commands remember and trust, and of private work, away from the user's."""
    home = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        yield home


@pytest.fixture(autouse=True)
def no_heads_seen(readers_home):
    """No head of a line is remembered from other tests, whose lines may be equal to this one's."""
    yield
    shutil.rmtree(readers_home / "config" / "sfumato" / "heads", ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def nothing_waits_for_the_disk():
    """Files are synced at once: tests of the order see the calls, and no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses what is no descriptor, too
        yield


@pytest.fixture(scope="session", autouse=True)
def one_database():
    """Let sessions on tables in memory share one database.

    It takes longer to open than most queries on small tables, and no session sees another's tables.
    """
    from sfumato.tasks.sql import session

    opened = session._open_database
    shared = cache(lambda process: opened({}, {}))  # the threads of one do not outlive a fork

    def one(paths, limits):
        return opened(paths, limits) if paths or limits else shared(os.getpid()).cursor()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "_open_database", one)
        yield opened


@pytest.fixture
def own_databases(one_database, monkeypatch):
    """Each session opens a database of its own, as for users."""
    monkeypatch.setattr("sfumato.tasks.sql.session._open_database", one_database)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A small line whose stages run here."""
    from tests.release.small import Small, people

    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Small(tmp_path / "line").write(people())


@pytest.fixture
def few_queries(monkeypatch):
    """Likely intervals are calibrated on a hundred queries of a family, for users on 1,000."""
    calibration = "sfumato.tasks.query.intervals.calibration.factors"
    monkeypatch.setattr("sfumato.tasks.candidates.calibrate.QUERIES", 100)
    monkeypatch.setattr(f"{calibration}.FEWEST", 100)


@pytest.fixture
def undrawn(monkeypatch):
    """Evaluation without its plots, which are drawn elsewhere and take a second."""
    monkeypatch.setattr("sfumato.tasks.stages.evaluate.write_accuracy_report", lambda *_: None)


@pytest.fixture
def call(capsys):
    """Runs a command in this process; its exit code, and what it prints and says."""
    from sfumato.flows.cli.main import run

    def run_command(*arguments):
        code = run([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run_command


@pytest.fixture(scope="session")
def prefect_api():
    """The address of the run's one Prefect server."""
    from tests.prefect_server import server

    with server() as address:
        yield address


@pytest.fixture(scope="session")
def forks(tmp_path_factory):
    """The run's one process that forks commands."""
    from tests.fork_server import fork_server

    with fork_server(tmp_path_factory.mktemp("forks")) as server:
        yield server


@pytest.fixture
def start(forks, prefect_api, tmp_path):
    """Return a function that starts a run of the command in a process of its own."""
    from tests.prefect_server import start as start_apart

    return partial(start_apart, forks, prefect_api, tmp_path)


@pytest.fixture(scope="session")
def guide(tmp_path_factory):
    """Return the place of the run's one site of the guide, and what its builder printed."""
    from tests.guide.site import build

    place = tmp_path_factory.mktemp("site")
    done = build(place)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return place, output


@pytest.fixture(scope="session", autouse=True)
def cheap_passphrases():
    """Passphrases are stretched as little as can be; what users get is yielded."""
    from sfumato.tasks.private import wrapping

    cost = wrapping._COST
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrapping, "_COST", 2)
        yield cost


Rows = Sequence[tuple[Hashable, Any]]


def _groups_of(rows: Rows, type_: pa.DataType | None = None, name: str = "s") -> Groups:
    keys = {key: code for code, key in enumerate(dict.fromkeys(key for key, _ in rows))}
    value_set = {value for _, value in rows}
    values = [*([None] if None in value_set else []), *sorted(value_set - {None})]
    codes = {value: code for code, value in enumerate(values)}
    numbers = numbers_of(pa.array(values, type_), None in value_set, name)
    key = np.array([keys[key] for key, _ in rows], dtype=np.int64)
    code = np.array([codes[value] for _, value in rows], dtype=np.int64)
    return count(
        key, max(len(keys), 1), {name: Coded(code, len(values), numbers, pa.array(values, type_))}
    )


@pytest.fixture(scope="session")
def groups_of() -> Callable[..., Groups]:
    """Groups, numbered as they first appear, of rows that are pairs of a key and a value."""
    return _groups_of
