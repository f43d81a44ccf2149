"""`sfumato check`: verify a release from its files alone."""

from pathlib import Path

import click

from sfumato.flows.cli.terminal import echo


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--digest", help="the digest that the publisher announced")
def check(directory: Path, digest: str | None) -> None:
    """Verify a published release from its files alone."""
    from sfumato.tasks.declaration.assessment import numbers
    from sfumato.tasks.publication.check import check as check_release

    checked = check_release(directory, digest)
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
