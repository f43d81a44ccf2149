"""The run of experiments: the papers' figures and tables, measured again, and their claims decided.

Data are public or generated, and nothing is published: it needs no line, no keys and no approval.
"""

from collections import Counter
from os import environ
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from sfumato.flows.inputs.environment import quiet
from sfumato.tasks.experiments.registry import experiment_named
from sfumato.tasks.experiments.run import Plan, read_results, run_experiments
from sfumato.tasks.experiments.shared.experiment import Inputs, Size
from sfumato.tasks.experiments.shared.kept import Kept, origin_of
from sfumato.tasks.experiments.shared.pages import write_files
from sfumato.tasks.outcomes import RunOutcome
from sfumato.tasks.policy import PrivateFlow, say_in_run
from sfumato.tasks.private.scratch import scratch_directory

quiet()

SEEDS = {"full": 13, "quick": 2}
"""The number of seeds by size: with thirteen, a claim can be decided beside two hundred."""

_DEPLOYMENTS = Path(__file__).parents[2] / "deployments"


def _name_run(*_: Any, **__: Any) -> str:
    return "experiments"


def experiments(
    names: tuple[str, ...],
    out: str,
    quick: bool = False,
    seeds: Annotated[int | None, Field(ge=1, le=1000)] = None,
    processes: Annotated[int, Field(ge=1, le=64)] = 2,
    only_kept: bool = False,
) -> RunOutcome:
    """Run experiments and write a page for each paper, the ledger of claims, tables and plots.

    Each seed that is finished is kept in the directory. A run that was ended goes on there if code,
    data and settings are the same.

    Args:
        names: of the experiments.
        out: the directory to write into.
        quick: whether each runs for a second, as a smoke test, on data too small to decide much.
        seeds: how many, in place of thirteen, or two where it is quick.
        processes: how many processes measure.
        only_kept: write pages from the seeds that are kept, whichever code measured them.

    Returns:
        How the run ended; its result is the directory.
    """
    chosen = [experiment_named(name) for name in names]
    size: Size = "quick" if quick else "full"
    adult, releases = _DEPLOYMENTS / "data" / "adult.parquet", _DEPLOYMENTS / "releases"
    with scratch_directory(environ) as scratch:
        inputs = Inputs(adult, releases / "hierarchies", scratch)
        finished = Kept(Path(out), origin_of(inputs), any_code=only_kept)
        plan = Plan(chosen, size, seeds or SEEDS[size], inputs, finished, processes, say_in_run)
        measured = read_results(plan) if only_kept else run_experiments(plan)
    entries = write_files(Path(out), chosen, measured, finished.facts(chosen, size, plan.seeds))
    outcomes = Counter[str](entry.outcome for entry in entries)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    say_in_run(f"{len(entries)} claims: {counts}", dict(outcomes))
    for name, results in measured.items():
        for seed, reason in results.failed.items():
            say_in_run(
                f"{name}: seed {seed} failed ({reason}). Its claims are judged without this seed"
            )
    return RunOutcome("Completed", out, out)


EXPERIMENTS = PrivateFlow("experiments", experiments, _name_run, _name_run)
"""The run of `sfumato experiment`."""
