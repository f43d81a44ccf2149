"""The step of form and partition: alternatives side by side on the same questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.documents import read_yaml
from sfumato.flows.workbench.jobs import Job
from sfumato.flows.workbench.results import page_of_draft
from sfumato.flows.workbench.visit import Visit, read_mapping
from sfumato.flows.workbench.yaml_edits import flow_text
from sfumato.tasks.forms.parameters import OF_ONE_TABLE
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.report.numbers import half_width, percent
from sfumato.tasks.report.steward.comparison import ParetoPlot, plot_pareto

AUTO = "auto"
FORMS: Mapping[str, tuple[str, str]] = {
    "generalized": (
        "labels, such as ranges of age, replace exact values",
        "it does not hide a value that most of a group share, unless a promise forbids that",
    ),
    "suppressed": (
        "single cells are hidden, and all others are exact",
        "it does not hide the values that it leaves exact",
    ),
    "permuted": (
        "sensitive values are shuffled within groups, and all other values are exact",
        "it does not hide who is in the table",
    ),
    "split": (
        "two tables: people with their group, and groups with their sensitive values",
        "it does not hide who is in the table",
    ),
    "ambiguous": (
        "a table for each column, joined by group only",
        "it does not show which values of two columns belong together, so few questions have "
        "narrow answers",
    ),
    "redistributed": (
        "each group shows ranges of sensitive values with declared counts",
        "it does not hide who is in the table",
    ),
}
"""Each form in words: what is shown of a group, and what it does not protect or answer."""
_TAKEN = ("promises", "partition", "groups", "form", "strata")


@dataclass(frozen=True)
class ComparedAlternative:
    """An alternative as its row shows it; figures are texts."""

    number: int
    name: str
    accuracy: str
    width: str
    guessed: str
    groups: str
    suppressed: str
    remark: str
    is_recommended: bool


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: the present choice, and the latest comparison."""
    document, job = visit.spec.document, visit.latest("compare")
    partition = document.get("partition") or {}
    form = document.get("form") or {}
    return {
        "partition": flow_text(partition),
        "form": flow_text(form),
        "forms": FORMS,
        "partitions": [AUTO, *PARTITION_PARAMETERS],
        "chosen_form": form.get("method"),
        "chosen_partition": partition.get("method"),
        "job": job,
        "has_questions": has_questions(visit),
        "is_present": job is not None and visit.is_present(job),
        "differs": _differs(visit, job),
        "report": page_of_draft(visit.bench.place, job),
        "alternatives": [] if job is None else list(alternatives_of(job)),
        "recommended": None if job is None else job.document.get("recommended"),
        "plot": None if job is None else _plot(job),
        "of_two": bool(visit.spec.table_names),
        "not_admitted": {} if job is None else job.document.get("not-admitted", {}),
    }


def has_questions(visit: Visit) -> bool:
    """Return True if there are questions on which alternatives are compared."""
    workloads = (visit.spec.document.get("evaluate") or {}).get("workloads")
    return bool(workloads or visit.bench.desk.questions(visit.spec.name))


def alternatives_of(job: Job) -> Iterator[ComparedAlternative]:
    """Yield the alternatives of a comparison that is done, the best first."""
    chosen = job.document.get("recommended")
    for number, row in enumerate(job.document.get("alternatives", ()), start=1):
        yield ComparedAlternative(
            number,
            row["name"],
            half_width(row["accuracy"]),
            percent(row["width"]),
            "not attacked" if row["guessed"] is None else percent(row["guessed"]),
            f"{row['groups']:,}",
            f"{row['suppressed']:,}",
            _remark(row),
            row["name"] == chosen,
        )


def _remark(row: Mapping[str, Any]) -> str:
    hidden = [f"hides {name} in {percent(share)}" for name, share in row.get("hides", {}).items()]
    other = ["has another promise"] if row.get("promise") else []
    chose = [f"chose {row['chose']}"] if row.get("chose") else []
    return "; ".join([*hidden, *other, *chose])


def _plot(job: Job) -> ParetoPlot | None:
    """Return the chart of guesses by the width of answers, or None with fewer than two points."""
    points = [
        (str(number), float(row["width"]), float(row["guessed"]))
        for number, row in enumerate(job.document.get("alternatives", ()), start=1)
        if row["guessed"] is not None
    ]
    chosen = next((a.number for a in alternatives_of(job) if a.is_recommended), None)
    return plot_pareto(points, str(chosen) if chosen else None) if len(points) > 1 else None


def compare(visit: Visit) -> str:
    """Start to compare alternatives; what was tried before on the same rows is not tried again."""
    questions = visit.bench.desk.questions(visit.spec.name)
    own = [f"--queries={_queries(visit, questions)}"] if questions else []
    arguments = ["compare", "--json", *own, "--", str(visit.spec.path)]
    return visit.start(arguments, f"The comparison for {visit.spec.name}")


def _queries(visit: Visit, questions: Sequence[str]) -> Path:
    """Write the steward's own questions into a private file, and return its path."""
    path = visit.bench.desk.private / "queries.sql"
    text = "".join(f"{sql.rstrip(';')};\n" for sql in questions)
    write_atomically(path, text.encode(), mode=0o600)
    return path


def choose(visit: Visit) -> None:
    """Write the partition and the form that were chosen; a new method begins with its defaults.

    Raises:
        SpecError: where there is no such method.
    """
    changes: dict[tuple[str | int, ...], Any] = {}
    for key, methods in (
        ("partition", [AUTO, *PARTITION_PARAMETERS]),
        ("form", list(OF_ONE_TABLE)),
    ):
        method = visit.sent.get(key)
        if method not in methods:
            raise SpecError(f"{key}: there is no {method!r}. Choose from {', '.join(methods)}")
        if method != (visit.spec.document.get(key) or {}).get("method"):
            changes[(key,)] = {"method": method}
    if ("partition",) in changes:
        changes[("groups",)] = None
    visit.set(changes, "the form and partition")


def write_keys(visit: Visit) -> None:
    """Write the partition and the form as the steward typed them.

    Raises:
        SpecError: where the text is no mapping in YAML.
    """
    changes = {(key,): read_mapping(key, visit.sent.get(key)) for key in ("partition", "form")}
    visit.set(changes, "the form and partition")


def take(visit: Visit) -> None:
    """Write what the comparison recommends into the spec.

    Raises:
        SpecError: where nothing is recommended, or the spec has changed since.
    """
    job = visit.latest("compare")
    if job is None or not job.document.get("spec") or not visit.is_present(job):
        raise SpecError("there is no recommendation for the present spec. Compare again")
    visit.set(_recommended_changes(visit, job), "the recommendation")


def _recommended_changes(visit: Visit, job: Job) -> dict[tuple[str], Any]:
    """Return the keys in which the recommended spec differs from the present one.

    Raises:
        SpecError: where the recommended spec cannot be read any more.
    """
    recommended = read_yaml(visit.bench.desk.folder / Path(job.document["spec"]))
    return {
        (key,): recommended.get(key)
        for key in _TAKEN
        if recommended.get(key) != visit.spec.document.get(key)
    }


def _differs(visit: Visit, job: Job | None) -> bool:
    """Return True if there is a recommendation for the present spec, and it differs from that."""
    if job is None or not job.document.get("spec") or not visit.is_present(job):
        return False
    try:
        return bool(_recommended_changes(visit, job))
    except SpecError:
        return False


ACTIONS = {"compare": compare, "choose": choose, "keys": write_keys, "take": take}
"""What the forms of the page do."""
