"""Run files of tests, and write down which lines each of them runs, and how long it takes."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

from tests.mutants import worker

_MEASURED = ("--cov", "--cov-config=coverage.rc", "--cov-context=test", "--cov-report=")


class _Seconds:
    """Notes how long each test takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        before = self.seconds.get(report.nodeid, 0.0)
        self.seconds[report.nodeid] = before + report.duration


def main(document_path: str, files: Sequence[str]) -> int:
    """Write what the tests of some files run; returns what pytest does."""
    worker.import_packages()
    plugin = _Seconds()
    code = pytest.main([*worker.QUIET, *_MEASURED, *files], plugins=[plugin])
    document = {
        "lines": _lines_run(),
        "seconds": plugin.seconds,
        "modules": worker.foreign_modules(),
    }
    Path(document_path).write_text(json.dumps(document), encoding="utf-8")
    return int(code)


def _lines_run() -> dict[str, dict[int, list[str]]]:
    """The tests that run each line, by file."""
    data = CoverageData(os.environ["COVERAGE_FILE"])
    data.read()
    return {
        str(Path(path).resolve().relative_to(Path.cwd())): {
            line: sorted({context.partition("|")[0] for context in contexts if context})
            for line, contexts in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
