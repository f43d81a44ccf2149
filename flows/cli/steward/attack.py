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
    help="the spec whose source the version was made of",
)
@click.option(
    "--register",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="everybody whom the version could be about: who is there, and whose row is which",
)
@click.option(
    "--also",
    "others",
    nargs=2,
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="VERSION SPEC",
    help="another version about the same people, and its spec: what both tell together",
)
@click.option(
    "--runs",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="run the partition on N drawn worlds, where what its being minimal tells cannot be listed",
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
    """Let attackers guess at a version, and score them against its source; for your eyes alone.

    Each share stands beside what is guessed without the attack. Exits with 3 where the spec has a
    bar that refuses, and the version does not keep it.
    """
    from sfumato.expectations.shared.errors import PromiseError
    from sfumato.flows.life.evaluation import attack_again
    from sfumato.tasks.private.failure import listening

    with listening(lambda said, _event, _counts: show.say(said)):
        scores, judged = attack_again(directory, spec, overrides(settings), register, others, runs)
    if format_ == "json":
        told = {name: [one.document() for one in of] for name, of in scores.items()}
        bars = [one.document() for one in judged]
        show.document({"private": True, "scores": told, "bars": bars}, "json")
    else:
        _tell({name: [one.text for one in of] for name, of in scores.items()})
        for one in judged:
            echo(f"bar       {one_line(one.words)}: {'kept' if one.is_kept else 'not kept'}")
    broken = [one.words for one in judged if one.refuses and not one.is_kept]
    if broken:
        raise PromiseError(f"{'; '.join(broken)}: is not kept")


def _tell(scores: Mapping[str, Sequence[str]]) -> None:
    """The shares of each sensitive column, and beside each what it is without the attack."""
    echo("PRIVATE   shares of people, scored against the truth", err=True)
    for name, of in scores.items():
        echo(one_line(name))
        for one in of:
            echo(one)
