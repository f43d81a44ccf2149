"""`make kill`: kill runs everywhere, fill disks, take directories away; what was found, in figures.

python -m tests.faults --runs 1000 --cli 50 --worker 30
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.faults import trials
from tests.forked import import_everything


def main() -> int:
    """Try everything; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="killed, without Prefect")
    parser.add_argument("--cli", type=int, default=50, help="killed, through the command")
    parser.add_argument("--worker", type=int, default=30, help="killed, on a worker")
    parser.add_argument("--only", help="one group, and how each of its trials ended")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0)
    options = parser.parse_args()
    import_everything()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        made = trials.template(scratch / "template")
        groups: dict[str, Iterator[trials.Trial]] = {
            "killed": trials.kills(made, scratch, options.runs, options.seed),
            "directories gone": trials.lose_directories(made, scratch),
            "clock set back": trials.set_back(made, scratch),
            "old backup": trials.old_backup(made, scratch),
        }
        if trials.may_mount():
            groups["disk full"] = trials.full(made, scratch)
            groups["read-only"] = trials.read_only(made, scratch)
        else:
            print("disk full, read-only: skipped, no mount namespace is permitted here")
        if options.only:
            groups = {
                name: trials_of_group
                for name, trials_of_group in groups.items()
                if name == options.only
            }
        successes = [
            _tell(group, trials_of_group, end, options.only)
            for group, trials_of_group in groups.items()
        ]
    wrong = sum(successes)
    for name, number in (("commands", options.cli), ("workers", options.worker)):
        if number and options.only in (None, name):
            from tests.faults import apart  # starts threads, so after all that forks

            wrong += _tell(
                f"killed {name}", getattr(apart, name)(number, options.seed), end, options.only
            )
    return int(wrong > 0)


def _tell(
    group: str, trials_of_group: Iterator[trials.Trial], end: float, each: str | None = None
) -> int:
    """Print a group's figures, and every trial in which something is wrong."""
    codes: Counter[tuple[int | None, int | None]] = Counter()
    wrong = temporaries = 0
    for trial in trials_of_group:
        codes[trial.code, trial.next_code] += 1
        temporaries += bool(trial.temporaries)
        if trial.temporaries:
            print(f"{group}: {trial.what}: left {', '.join(trial.temporaries)}", flush=True)
        if each:
            print(f"{trial.what}: {trial.code} then {trial.next_code}", flush=True)
        if trial.problems:
            wrong += 1
            print(f"{group}: {trial.what}: {'; '.join(trial.problems)}", flush=True)
        if time.monotonic() > end:
            break
    ended = ", ".join(f"{n} × {code} then {then}" for (code, then), n in codes.most_common())
    print(
        f"{group}: {sum(codes.values())} tried, {wrong} wrong, {temporaries} left a temporary file;"
        f" exit codes: {ended or 'none'}",
        flush=True,
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
