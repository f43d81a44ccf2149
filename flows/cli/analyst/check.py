"""`sfumato check`: verify a release from its files alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.flows.cli.analyst.way_in import way_in_by, with_digest, with_limits
from sfumato.flows.cli.terminal import echo

if TYPE_CHECKING:
    from sfumato.tasks.publication.check import Checked


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@with_digest
@with_limits
def check(directory: Path, digest: str | None, limits: tuple[str, ...]) -> None:
    """Verify a published release from its files alone."""
    from sfumato.tasks.publication.check import Checked
    from sfumato.tasks.publication.check import check as check_release

    found: list[Checked] = []

    def checking(*arguments: Any) -> None:
        found.append(check_release(*arguments))

    release = way_in_by(digest, limits, checking).open(directory)
    _tell(directory, found[0])
    echo(f"{directory}: {release.author}")


def _tell(directory: Path, checked: "Checked") -> None:
    from sfumato.tasks.declaration.assessment import numbers

    for promise, verdict in checked.verdicts:
        together = " together" if promise.judged_jointly else ""
        echo(
            f"{promise.name} holds in all {verdict.groups} groups{together}: "
            f"required {numbers(verdict.required)}, observed {numbers(verdict.observed)}"
        )
    if checked.derived == "equal":
        echo(f"{directory}: every file is what the published tables give")
        return
    made_with = ", ".join(checked.made_with)
    echo(
        f"{directory}: made with {made_with}; every file says what the published tables give: "
        "tables, SQL and numbers were compared, layout and words of the page were not"
    )
    for name in checked.unlike:
        echo(f"{name}: says something else; it is the file of the announced digest")
