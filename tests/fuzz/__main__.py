"""`make fuzz`: thousands of damaged inputs of each kind, run by the command; goes on where it was.

    python -m tests.fuzz --inputs 10000            # all kinds, in turn
    python -m tests.fuzz --begin 5868              # as above, where another machine ran the first
    python -m tests.fuzz csv --only 17             # one input again, and what became of it

How far each kind is, and every input that found a fault, stand in `build/fuzz/<seed>`.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.forked import Ran, import_everything
from tests.fuzz import runner
from tests.fuzz.kinds import KINDS

KEPT = Path(__file__).parents[2] / "build" / "fuzz"


def main() -> int:
    """Run inputs; 1 where one found a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--inputs", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=int, default=0, help="with this number: what is before ran")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--only", type=int, help="the one input of this number, told in full")
    parser.add_argument("--tell", action="store_true", help="the last line that each input said")
    parser.add_argument("--fresh", action="store_true", help="keep nothing, begin with the first")
    options = parser.parse_args()
    import_everything()
    with tempfile.TemporaryDirectory() as scratch:
        made = runner.releases(Path(scratch) / "releases")
        if options.only is not None:
            return _tell(options.kinds[0], options.seed, options.only, Path(scratch), made)
        return _go_on(options, Path(scratch), made)


def _go_on(options: argparse.Namespace, scratch: Path, made: Path) -> int:
    place = KEPT / str(options.seed)
    state = place / "progress.json"
    progress = json.loads(state.read_text()) if state.exists() and not options.fresh else {}
    end = time.monotonic() + 60 * options.minutes
    wrong, kinds = 0, options.kinds or list(KINDS)
    codes = {kind: Counter(progress.get(kind, {}).get("codes", {})) for kind in kinds}
    numbers = {kind: progress.get(kind, {}).get("next", options.begin) for kind in kinds}
    while time.monotonic() < end and min(numbers.values()) < options.inputs:
        kind = min(kinds, key=numbers.__getitem__)
        number, folder = numbers[kind], scratch / "input"
        ran, problems = runner.faults(kind, options.seed, number, folder, made)
        codes[kind][str(ran.code)] += 1
        numbers[kind] += 1
        if options.tell:
            print(f"{kind} {number}: {ran.code}: {(ran.err.splitlines() or [''])[-1][:160]}")
        if problems:
            wrong += 1
            print(f"{kind} {number}: {'; '.join(problems)}: {ran.err.strip()[-300:]}", flush=True)
            if not options.fresh:
                _keep(place / f"{kind}-{number}", folder, ran, problems)
        shutil.rmtree(folder, ignore_errors=True)
        if not options.fresh:
            place.mkdir(parents=True, exist_ok=True)
            progress |= {kind: {"next": numbers[kind], "codes": codes[kind]}}
            state.write_text(json.dumps(progress))
    for kind in kinds:
        print(f"{kind}: {numbers[kind]} inputs, exit codes {dict(codes[kind])}")
    print(f"{wrong} inputs found a fault")
    return int(wrong > 0)


def _keep(place: Path, folder: Path, ran: Ran, problems: list[str]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, ignore=shutil.ignore_patterns("work", "public"), symlinks=True)
    (place / ".said").write_text("\n".join([*problems, ran.out, ran.err]))


def _tell(kind: str, seed: int, number: int, scratch: Path, made: Path) -> int:
    folder = scratch / "input"
    ran, problems = runner.faults(kind, seed, number, folder, made)
    print((folder / ".case").read_text())
    print(f"code {ran.code}, {ran.seconds:.2f} CPU s, {ran.megabytes:.0f} MB")
    print(ran.out + ran.err)
    print("\n".join(problems) or "no fault")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
