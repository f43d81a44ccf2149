"""`sfumato attack`: what attackers guess of a version, scored against the truth."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_format, with_settings
from sfumato.flows.cli.show import echo, one_line


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--truth",
    "spec",
    required=True,
    type=click.Path(path_type=Path),
    help="the spec from which the version was made",
)
@click.option(
    "--register",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "a table of all people whom the version could be about; the attack guesses who is "
        "in it, and which row is about whom"
    ),
)
@click.option(
    "--also",
    "others",
    nargs=2,
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="VERSION SPEC",
    help="another version about the same people, and its spec; attack both together",
)
@click.option(
    "--runs",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help=(
        "run the partition on N drawn worlds, if the worlds that lead to the same minimal "
        "groups are too many to list"
    ),
)
@with_settings
@with_format
def attack(
    directory: Path,
    spec: Path,
    register: Path | None,
    others: tuple[tuple[Path, Path], ...],
    runs: int,
    settings: tuple[str, ...],
    format_: str,
) -> None:
    """Attack a version, and compare the guesses with its source; the output is only for you.

    Each share is beside the share guessed without the attack. Exits with 3 if the version breaks a
    limit of the spec that refuses.
    """
    from sfumato.expectations.shared.errors import PromiseError
    from sfumato.flows.life.evaluation import attack_again
    from sfumato.tasks.private.failure import listening

    with listening(lambda message, _event, _counts: show.say(message)):
        scores, judged = attack_again(directory, spec, overrides(settings), register, others, runs)
    if format_ == "json":
        documents = {
            name: [score.document() for score in column_scores]
            for name, column_scores in scores.items()
        }
        bars = [bar.document() for bar in judged]
        show.document({"private": True, "scores": documents, "bars": bars}, "json")
    else:
        _tell(
            {
                name: [score.text for score in column_scores]
                for name, column_scores in scores.items()
            }
        )
        for bar in judged:
            echo(f"bar       {one_line(bar.words)}: {'kept' if bar.is_kept else 'not kept'}")
    broken = [bar.words for bar in judged if bar.refuses and not bar.is_kept]
    if broken:
        raise PromiseError(f"limits that are not kept: {'; '.join(broken)}")


def _tell(scores: Mapping[str, Sequence[str]]) -> None:
    """Print the shares of each sensitive column, each beside the share without the attack."""
    echo("PRIVATE   shares of people, compared with the truth", err=True)
    for name, lines in scores.items():
        echo(one_line(name))
        for line in lines:
            echo(line)
