"""The steps of the work in order."""

from sfumato.flows.workbench import (
    columns,
    hierarchies,
    lines,
    partition,
    preview,
    promise,
    questions,
    release,
    two_tables,
)
from sfumato.flows.workbench.pages import WorkStep

STEPS: tuple[WorkStep, ...] = (
    WorkStep("columns", "Columns", columns.show, columns.ACTIONS),
    WorkStep(
        "hierarchies",
        "Hierarchies",
        hierarchies.show,
        hierarchies.ACTIONS,
        two_tables.hierarchies_of_two,
    ),
    WorkStep("promise", "Promise", promise.show, promise.ACTIONS, two_tables.promises_of_two),
    WorkStep("partition", "Form and partition", partition.show, partition.ACTIONS),
    WorkStep("questions", "Questions", questions.show, questions.ACTIONS),
    WorkStep("preview", "Preview", preview.show, preview.ACTIONS),
    WorkStep("release", "Release", release.show, release.ACTIONS),
    WorkStep("lines", "Lines", lines.show, lines.ACTIONS),
)
"""Every step after the table, which is on the first page."""
