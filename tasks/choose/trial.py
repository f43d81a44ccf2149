"""A trial: the candidate that terms make of a table, judged, ready to be asked, never published.

Keep out lines, keys and whatever remembers: a trial leaves nothing when its directory goes.
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

from sfumato.expectations.verdicts import require
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partitioner
from sfumato.tasks.private.line import without_suppressed
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.publication.files import write_help_tables
from sfumato.tasks.stages.anonymize import RELEASE, SUPPRESSED, write_candidate_of_part
from sfumato.tasks.stages.stage import read_note
from sfumato.tasks.stages.validate import assess_candidate
from sfumato.tasks.terms.assessment import Assessment
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that nobody will publish.

    Attributes:
        release: its tables with their help tables, opened as a release is; it has no manifest.
        represented: the rows that it speaks of, as they were before.
        assessment: its rules and promises, judged by the files as they were read back.
        facts: what its partition and form tell of themselves; private.
    """

    release: Release
    represented: Microdata
    assessment: Assessment
    facts: Mapping[str, Any]

    def require_kept(self) -> "Trial":
        """The trial, where it keeps all that it promises.

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

    Nothing is refused here that the partition and the form do not refuse: the promises are judged,
    and it is for the caller to require that they hold.

    Args:
        microdata: the rows, with the columns that the terms declare.
        terms: what the candidate would declare.
        directory: private, for this trial alone; what is asked later is read from it.
        randomness: what is drawn from.
        partitioner: in place of the one that is declared.
        references: what promises about a population speak of.

    Raises:
        PromiseError: where the partition cannot keep the promises.
    """
    candidate = write_candidate_of_part(microdata, terms, directory, randomness, partitioner)
    assessment = assess_candidate(candidate, references=references)
    place, declared = candidate / RELEASE, assessment.declared
    write_help_tables(place / "sql", assessment.tables, declared)
    return Trial(
        release=Release(place, declared, {}, verified=True),
        represented=_represented(microdata, candidate),
        assessment=assessment,
        facts=read_note(candidate, "facts"),
    )


def _represented(microdata: Microdata, candidate: Path) -> Microdata:
    suppressed = candidate / SUPPRESSED
    return without_suppressed(microdata, np.load(suppressed)) if suppressed.exists() else microdata


def worker_processes(number: int) -> ProcessPoolExecutor:
    """A pool of new processes, which inherit nothing, and end when this one is gone."""
    spawning = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(number, mp_context=spawning, initializer=end_with_parent)


def end_with_parent() -> None:
    """End this process when the one that started it is gone: it would wait for ever, with rows."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
