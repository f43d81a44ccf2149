"""Write the corpus, and run verifiers on it.

python -m tests.conformance --seed 1 --mutants 10000 --out DIRECTORY [--verify]
python -m tests.conformance --seed 1 --out DIRECTORY --command 'node verify.mjs --json {}'
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.members import Member, make_members
from tests.conformance.mutants import Mutant, make_mutants
from tests.conformance.rulebook import VALID, Expected
from tests.conformance.table import tally
from tests.conformance.verdicts import Answer, answers_of, check_here

EXPECTED = "expected.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if a verifier disagrees."""
    options = _options(arguments)
    os.fsync = os.fstat  # nothing here must outlive the machine
    out = Path(options.out)
    members = make_members(options.seed, options.members, out / "members")
    mutants = list(make_mutants(options.seed, options.mutants, members, out / "mutants"))
    _write_expected(out, members, mutants)
    print(f"{len(members)} members and {len(mutants)} mutants below {out}")
    if not (options.verify or options.command):
        return 0
    releases = [member.release for member in members] + [mutant.release for mutant in mutants]
    answers = _answers(options.command, releases)
    level = options.level if options.command else "byte"
    of_members = list(zip(members, answers, strict=False))
    counted = tally(level, of_members, list(zip(mutants, answers[len(members) :], strict=True)))
    print("\n".join(counted.lines()))
    return 1 if counted.disagreements else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--members", type=int, default=200)
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--out", required=True, help="a directory that is not there yet")
    parser.add_argument("--verify", action="store_true", help="run our own check")
    parser.add_argument("--command", help="run another verifier; {} or {*} for the directories")
    parser.add_argument("--level", choices=["core", "full", "byte"], default="core")
    return parser.parse_args(arguments)


def _answers(command: str | None, releases: Sequence[Path]) -> list[Answer]:
    if command:
        return list(answers_of(command, releases))
    with tempfile.TemporaryDirectory() as scratch:
        environ = {"XDG_CACHE_HOME": f"{scratch}/cache", "XDG_CONFIG_HOME": f"{scratch}/config"}
        return [check_here(release, environ) for release in releases]


def _write_expected(out: Path, members: Sequence[Member], mutants: Sequence[Mutant]) -> None:
    """Write the answers that are expected, by directory."""
    document = {
        member.release.relative_to(out).as_posix(): _document(VALID) for member in members
    } | {
        mutant.release.relative_to(out).as_posix(): {
            "rule": mutant.rule,
            "member": mutant.member,
            **_document(mutant.expected),
        }
        for mutant in mutants
    }
    (out / EXPECTED).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _document(expected: Expected) -> dict[str, object]:
    document: dict[str, object] = {"verdict": expected.verdict}
    if expected.reasons:
        document["reasons"] = sorted(expected.reasons)
    if expected.core != "same":
        document["core"] = expected.core
    return document


if __name__ == "__main__":
    sys.exit(main())
