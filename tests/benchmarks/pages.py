"""Answers of a release's page in Chromium: the first one from navigation on, and further ones.

Releases are of UCI Adult's people without missing values: 30,162 of them once, or repeated up to
100,000 and 241,296 rows. Times are by the browser's own clock, and end when the answer is in the
page: its bounds, and its likely intervals. CPU is that of the page's main thread. Nothing is
asserted.
"""

import argparse
import http.server
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.files import page_beside
from sfumato.tasks.report.page_data import MOST_TEXT
from sfumato.tasks.schema.stated import CalibratedFamily, CalibratedIntervals
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.terms.terms import Declared
from tests.adult import ADULT
from tests.lines import prepare, publish_prepared

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]
SENSITIVE = "hours-per-week"
ROWS = (30_162, 100_000, 241_296)
SETTLED = 1500  # milliseconds after bounds, within which likely intervals follow
DIVERSE = [{"model": "l-diversity", "variant": "distinct", "l": 3}]
FORMS: Mapping[str, Mapping[str, Any]] = {
    "permuted": {
        "promises": [{"model": "ke-anonymity", "k": 5, "e": 10}],
        "partition": {"method": "ke"},
    },
    "split": {"promises": [{**DIVERSE[0], "l": 2}], "partition": {"method": "anatomy"}},
    "generalized": {"promises": DIVERSE, "partition": {"method": "mondrian"}},
    "ambiguous": {"promises": DIVERSE, "partition": {"method": "mondrian"}},
}
QUESTIONS = {
    "count": "SELECT COUNT(*) FROM microdata WHERE age BETWEEN 30 AND 49 AND sex = 'Female'",
    "count of values": (
        'SELECT COUNT(*) FROM microdata WHERE age < 40 AND "hours-per-week" BETWEEN 30 AND 45'
    ),
    "average": "SELECT AVG(\"hours-per-week\") FROM microdata WHERE age >= 40 AND race = 'White'",
    "sum": (
        'SELECT SUM("hours-per-week") FROM microdata WHERE age BETWEEN 20 AND 25 '
        "AND education = 'Bachelors'"
    ),
    "average by 2": 'SELECT sex, AVG("hours-per-week") FROM microdata WHERE age > 50 GROUP BY sex',
    "average by 16": 'SELECT education, AVG("hours-per-week") FROM microdata GROUP BY education',
    "count by 16": (
        "SELECT education, COUNT(*) FROM microdata "
        'WHERE "hours-per-week" > 45 AND age < 60 GROUP BY education'
    ),
}
WATCH = """
window.shown = {bounds: null, likely: null};
new MutationObserver(() => {
  const answer = document.querySelector('[aria-label="Answer"] tbody');
  if (!answer || answer === window.shown.seen) return;
  window.shown.bounds ??= performance.now();
  const likely = [...answer.querySelectorAll('[data-label^="Likely"]')];
  if (likely.some(({textContent}) => textContent !== '' && textContent !== '…')) {
    window.shown.likely ??= performance.now();
  }
}).observe(document, {subtree: true, childList: true, characterData: true});
"""
ASK = """hash => {
  window.shown = {
    bounds: null, likely: null,
    seen: document.querySelector('[aria-label="Answer"] tbody'),
  };
  window.asked = performance.now();
  window.location.hash = hash;
}"""
IS_SETTLED = f"""() => {{
  const {{ bounds, likely }} = window.shown;
  return bounds !== null && (likely !== null || performance.now() - bounds > {SETTLED});
}}"""
TIMES = """() => [window.shown.bounds, window.shown.likely].map(
  time => time === null ? null : time - (window.asked ?? 0))"""


def main(arguments: Sequence[str] = ()) -> None:
    """Print medians of milliseconds for each form and number of rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS, help="people, repeated")
    parser.add_argument("--forms", nargs="*", default=list(FORMS))
    parser.add_argument("--again", type=int, default=5, help="how often each question is asked")
    parser.add_argument("--keep", type=Path, help="a directory for releases, to measure them again")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        if browser is None:
            print("pages: there is no Chromium", flush=True)
            return
        place = chosen.keep or Path(temporary)
        for rows in chosen.rows:
            for form in chosen.forms:
                pages = release_pages(place / f"{form}-{rows}", form, rows)
                for name, page in pages.items():
                    label = f"{form}, {rows:,} rows {name}"
                    # only counts have bounds if every column is apart
                    offered = {
                        n: q for n, q in QUESTIONS.items() if form != "ambiguous" or "COUNT" in q
                    }
                    with serve(page.parent) as address:
                        measure(browser, label, f"{address}/{page.name}", offered, chosen.again)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium, or yield None where it or Playwright is missing."""
    path = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        yield None
        return
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def serve(directory: Path) -> Iterator[str]:
    """Serve a directory on this machine alone, and yield its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

    handler = partial(Quiet, directory=str(directory))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


def release_pages(folder: Path, form: str, rows: int) -> dict[str, Path]:
    """Return the page of a release that holds its tables, and one that reads the files beside it.

    Their keys say where the tables are. The release is made unless it is there.
    """
    directory = folder / "public" / form / "0001"
    if not directory.exists():
        _publish(folder, form, rows)
    release = open_release(directory)
    tables = read_tables(release.declared, directory / "data")
    assessment = assess(_with_factors(release.declared), tables)
    pages = {}
    for name, length in (("in the page", 0), ("in files", MOST_TEXT + 1)):
        with patch("sfumato.tasks.report.page_data._least_length", lambda _, n=length: n):
            pages[name] = directory / f"{name.replace(' ', '-')}.html"
            pages[name].write_text(page_beside(directory, assessment), encoding="utf-8")
    return pages


def _publish(folder: Path, form: str, rows: int) -> None:
    """Publish so many rows: the people of UCI Adult, repeated, in random order."""
    folder.mkdir(parents=True)
    people = pq.read_table(ADULT).drop_null().select([*QUASI, SENSITIVE])
    order = np.random.default_rng(rows).permutation(rows)
    table = people.take(pa.array(order % len(people)))
    numbered = table.append_column("person", pa.array(np.arange(len(table))))
    pa.csv.write_csv(numbered, folder / "people.csv")
    columns = {
        "person": {"role": "identifier", "unit": True},
        **{name: {"role": "quasi-identifier"} for name in QUASI},
        "age": {"role": "quasi-identifier", "type": "integer"},
        SENSITIVE: {"role": "sensitive", "type": "integer"},
    }
    spec = {
        "version": 1,
        "name": form,
        "title": "People",
        "source": {"uri": "people.csv"},
        "columns": columns,
        "form": {"method": form},
        "publish": {"uri": "public"},
        "evaluate": {"workloads": []},
        **FORMS[form],
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    with patch.dict("os.environ", {"SFUMATO_WORK": str(folder / "work")}):
        publish_prepared(
            prepare(folder / "spec.yaml", folder / "run", seeded_keys(1)), folder / "run"
        )


def _with_factors(declared: Declared) -> Declared:
    """Return a declaration with a factor of each family: what it is does not change times."""
    families = [
        CalibratedFamily(family=f"{name}-by-{number}", of=column, factor=Decimal("1.5"))
        for name, column in (
            ("rows", ""),
            ("count", SENSITIVE),
            ("sum", SENSITIVE),
            ("avg", SENSITIVE),
        )
        for number in ("one", "several")
    ]
    stated = CalibratedIntervals(grid="fine", families=tuple(families))
    return declared.model_copy(update={"intervals": stated})


@dataclass(frozen=True)
class Answered:
    """Milliseconds until an answer's bounds are in the page, its likely interval, and of CPU."""

    bounds: float
    likely: float | None
    cpu: float


def measure(
    browser: Any, label: str, address: str, questions: Mapping[str, str], again: int
) -> None:
    """Print the milliseconds of a first answer, and of each question after it."""
    first: list[Answered] = []
    further: dict[str, list[Answered]] = {name: [] for name in questions}
    for _ in range(again):
        context = browser.new_context()
        page = context.new_page()
        page.add_init_script(WATCH)
        clock = context.new_cdp_session(page)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        fragment = f"#ask={quote(list(questions.values())[-1])}"
        first.append(_time(page, clock, partial(page.goto, f"{address}{fragment}")))
        for name, sql in questions.items():
            ask = partial(page.evaluate, ASK, f"#ask={quote(sql)}")
            further[name].append(_time(page, clock, ask))
        context.close()
    print(f"{label}: first answer {_milliseconds(first)}", flush=True)
    for name, times in further.items():
        print(f"  then {name}: {_milliseconds(times)}", flush=True)


def _time(page: Any, clock: Any, act: Callable[[], Any]) -> Answered:
    """Act, and wait until bounds are in the page, and likely intervals if any follow."""
    before = _cpu(clock)
    act()
    while not page.evaluate(IS_SETTLED):
        page.wait_for_timeout(20)
    bounds, likely = page.evaluate(TIMES)
    return Answered(bounds, likely, _cpu(clock) - before)


def _cpu(clock: Any) -> float:
    """Return the milliseconds of CPU that the page's main thread has taken."""
    metrics = clock.send("Performance.getMetrics")["metrics"]
    return next(1e3 * metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def _milliseconds(answers: Sequence[Answered]) -> str:
    """Describe the medians."""
    likely = [answer.likely for answer in answers if answer.likely is not None]
    parts = [
        f"{median(answer.bounds for answer in answers):,.0f} ms",
        *([f"with its likely interval {median(likely):,.0f} ms"] if likely else []),
        f"{median(answer.cpu for answer in answers):,.0f} ms of CPU",
    ]
    return ", ".join(parts)


if __name__ == "__main__":
    main(sys.argv[1:])
