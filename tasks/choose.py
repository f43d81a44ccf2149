"""The task that chooses what a spec leaves to be chosen."""

from pathlib import Path

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.declaration.wished import Choosing
from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.publication.line import Line
from sfumato.tasks.stages.choose import choose_terms


@private_task()
def choose(deidentified: Path, terms: Terms, choosing: Choosing, line: Line) -> Terms:
    """The terms with the partition that has the least expected width, kept for the line."""
    chosen = choose_terms(deidentified, terms, choosing, line.private, operating_system)
    say_in_run(f"choose: partition {chosen.partition.method} in form {chosen.form.method}")
    return chosen
