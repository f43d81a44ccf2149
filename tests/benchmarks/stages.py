"""Time and peak memory of each stage, each in a process of its own, without Prefect."""

import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.csv
import yaml

from sfumato.flows.inputs.overrides import read_overrides
from sfumato.flows.inputs.resolved import resolve_run
from tests.adult import DIALECT, HEADER, text_source
from tests.synthetic.adult_like import write_census_like

SPEC = Path(__file__).parents[2] / "deployments" / "releases" / "adult-capital-loss.yaml"


def main() -> None:
    """Print a line per stage for UCI Adult and for a million rows, all with a loss."""
    with tempfile.TemporaryDirectory() as folder:
        adult = Path(text_source(Path(folder)).uri)
        measure("UCI Adult", adult, Path(folder) / "adult")
        generated = Path(folder) / "generated.data"
        write_census_like(generated, 1_000_000, seed=1, share_with_loss=1.0)
        measure("1,000,000 generated rows", generated, Path(folder) / "generated")


def measure(title: str, data: Path, folder: Path) -> None:
    """Run the stages one after another on one source."""
    shutil.copytree(SPEC.parent, folder)
    spec = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    spec["source"] |= {"format": "csv", "csv": DIALECT.model_dump(mode="json"), "sha256": None}
    (folder / SPEC.name).write_text(yaml.safe_dump(spec), encoding="utf-8")
    os.environ["SFUMATO_WORK"] = str(folder / "work")
    settings = {
        "source.uri": str(data.absolute()),
        "publish.uri": str(folder / "releases"),
    }
    baseline = read_baseline(data)
    print(f"{title} (pyarrow reads the file in {baseline:.2f} s CPU)")
    for stage in (ingest, deidentify, verify, anonymize, validate, attack, publish, evaluate):
        wall, cpu, peak = apart(stage, settings, folder)
        print(f"  {stage.__name__:<12} {wall:7.2f} s   {cpu:7.2f} s CPU   {peak:7.0f} MB peak")


def apart(stage: Callable[..., Any], settings: dict[str, str], folder: Path) -> Any:
    """Wall and CPU seconds of a stage in a fresh process, and the process's peak memory."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(time_stage, (stage, settings, folder))


def time_stage(stage: Callable[..., Any], settings: dict[str, str], folder: Path) -> Any:
    """Run a stage here."""
    resolved = resolve_run(folder / SPEC.name, read_overrides(settings))
    wall, cpu = time.perf_counter(), time.process_time()
    stage(resolved, folder)
    return time.perf_counter() - wall, time.process_time() - cpu, peak_megabytes()


def peak_megabytes() -> float:
    """The most memory this process held; what it was forked from does not count."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024


def read_baseline(data: Path) -> float:
    """CPU seconds in which PyArrow alone reads the file."""
    start = time.process_time()
    pyarrow.csv.read_csv(data, read_options=pyarrow.csv.ReadOptions(column_names=HEADER))
    return time.process_time() - start


def ingest(resolved: Any, run: Path) -> None:
    from sfumato.tasks.stages.ingest import write_ingested, write_source

    spec = resolved.spec
    whole = write_source(spec.source, spec.columns, resolved.base, run)
    write_ingested(whole, spec.source, spec.columns, spec.nulls, resolved.base, run)


def deidentify(resolved: Any, run: Path) -> None:
    from sfumato.tasks.stages.deidentify import write_deidentified

    write_deidentified(
        run / "ingested", resolved.terms, resolved.identifiers, resolved.line.private, run
    )


def verify(resolved: Any, run: Path) -> None:
    from sfumato.tasks.stages.verify import measure_feasibility, measure_risks

    measure_feasibility(run / "deidentified", resolved.terms)
    measure_risks(run / "deidentified", resolved.terms)


def anonymize(resolved: Any, run: Path) -> None:
    from sfumato.tasks.microdata.table import operating_system
    from sfumato.tasks.stages.anonymize import write_candidate

    write_candidate(run / "deidentified", resolved.terms, run, operating_system)


def validate(resolved: Any, run: Path) -> None:
    from sfumato.expectations.suites.gate import judge
    from sfumato.tasks.stages.validate import assess_candidate, seal_candidate

    judged = partial(judge, resolved.line.name, documents=run / "great-expectations")
    candidate = run / "candidate"
    seal_candidate(candidate, assess_candidate(candidate, resolved.withheld, judged))


def attack(resolved: Any, run: Path) -> None:
    from sfumato.tasks.microdata.table import load
    from sfumato.tasks.stages.attack import attack_candidate, can_be_attacked
    from sfumato.tasks.stages.deidentify import identity

    if can_be_attacked(resolved.terms):
        deidentified, bars = (
            run / "deidentified",
            resolved.spec.attacks.with_local_registers(resolved.base),
        )
        whose, line = identity(deidentified), resolved.line
        attack_candidate(run / "candidate", load(deidentified), bars, whose, line, lambda _: ())


def publish(resolved: Any, run: Path) -> None:
    from sfumato.tasks.publication.publish import publish as publish_version
    from sfumato.tasks.stages.deidentify import identity
    from sfumato.tasks.stages.validate import sealed_candidate

    identification = identity(run / "deidentified")
    publish_version(resolved.line, sealed_candidate(run / "candidate"), identification, "now")


def evaluate(resolved: Any, run: Path) -> None:
    from sfumato.tasks.microdata.table import load, operating_system
    from sfumato.tasks.stages.evaluate import evaluate_release

    original = load(run / "deidentified")
    version = sorted(resolved.line.public.glob("[0-9]*"))[-1]
    workloads = resolved.spec.evaluate
    evaluate_release(version, original, workloads, resolved.line, operating_system, lambda *_: None)
