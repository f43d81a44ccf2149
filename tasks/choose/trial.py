"""A trial: a candidate made from a table, judged, ready for questions, and never published.

Keep out lines, keys and anything that remembers: a trial leaves nothing when its directory is
removed.
"""

import multiprocessing
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from sfumato.expectations.rules.verdicts import require
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partitioner
from sfumato.tasks.private.people.identity import without_suppressed
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.publication.files import write_help_tables
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.stages.anonymize import RELEASE, SUPPRESSED, write_candidate_of_part
from sfumato.tasks.stages.stage import read_note
from sfumato.tasks.stages.validate import assess_candidate
from sfumato.tasks.terms.assessment import Assessment
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that is never published.

    Attributes:
        release: its tables with their help tables, opened as a release is; it has no manifest.
        represented: the original rows that it contains.
        assessment: its rules and promises, judged on the files as they were read back.
        facts: the notes of its partition and form; private.
    """

    release: Release
    represented: Microdata
    assessment: Assessment
    facts: Mapping[str, Any]

    def require_kept(self) -> "Trial":
        """Return the trial if it keeps its rules and promises.

        Raises:
            PromiseError: where a rule or a promise is broken.
        """
        require(self.assessment.findings)
        return self


def run_trial(
    microdata: Microdata,
    terms: Terms,
    directory: Path,
    randomness: Randomness,
    partitioner: Partitioner | None = None,
    references: References = NO_REFERENCES,
) -> Trial:
    """Make a candidate of a table, judge it, and open it for questions.

    Only the partition and the form can refuse here: the promises are judged, and the caller has to
    require that they hold.

    Args:
        microdata: the rows, with the columns that the terms declare.
        terms: the terms that the candidate would declare.
        directory: a private directory for this trial only; later questions read it.
        randomness: the source of random numbers.
        partitioner: replaces the declared one.
        references: the population tables that promises about a population need.

    Raises:
        PromiseError: where the partition cannot keep the promises.
    """
    candidate = write_candidate_of_part(microdata, terms, directory, randomness, partitioner)
    assessment = assess_candidate(candidate, references=references)
    place, declared = candidate / RELEASE, assessment.declared
    write_help_tables(place / "sql", build_help_tables(assessment.tables, declared))
    return Trial(
        release=Release(place, declared, {}, verified=True),
        represented=_published_rows(microdata, candidate),
        assessment=assessment,
        facts=read_note(candidate, "facts"),
    )


def _published_rows(microdata: Microdata, candidate: Path) -> Microdata:
    suppressed = candidate / SUPPRESSED
    return without_suppressed(microdata, np.load(suppressed)) if suppressed.exists() else microdata


def worker_processes(number: int) -> ProcessPoolExecutor:
    """Return a pool of new processes, which inherit nothing and end with this process."""
    spawning = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(number, mp_context=spawning, initializer=end_with_parent)


def end_with_parent() -> None:
    """End this process when its parent ends: it would otherwise keep rows for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
