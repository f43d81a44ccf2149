"""`sfumato line`: a release line's private state, which nothing else can replace."""

import os
from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import Printout, pairs, with_document

_SPEC = click.argument("spec", type=click.Path(path_type=Path))
_FILE = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def line() -> None:
    """Keep, restore and rekey a line's private state.

    The state records whom each version was about. Without it no further version can be made.
    """


@line.command()
@_SPEC
@_FILE
@with_document
def backup(spec: Path, file: Path) -> Printout:
    """Write the state to FILE; keep FILE as secret as the state itself."""
    from sfumato.flows.life.lines import back_up

    back_up(spec, file)
    show.say(f"{file}: has the line's key and versions. Keep it where only you can read it")
    return {"file": str(file)}, None


@line.command()
@_SPEC
@_FILE
@with_document
def restore(spec: Path, file: Path) -> Printout:
    """Restore the state from FILE; a state older than the public record is refused."""
    from sfumato.flows.life.lines import restore as put_back

    put_back(spec, file)
    return {"restored": str(file)}, None


@line.command()
@_SPEC
@click.option("--remove", is_flag=True, help="remove the passphrase, and keep the key unencrypted")
@click.option(
    "--people", is_flag=True, help="change the key of people's names, which all lines share"
)
@with_document
def passphrase(spec: Path, remove: bool, people: bool) -> Printout:
    """Encrypt the line's key with another passphrase.

    The present one is in $SFUMATO_KEY_PASSPHRASE, the new one in $SFUMATO_NEW_KEY_PASSPHRASE. With
    --people it is the key of people's names, and the present one is in $SFUMATO_PEOPLE_PASSPHRASE.
    """
    from sfumato.flows.life.lines import change_passphrase

    change_passphrase(spec, os.environ, unwrap=remove, people=people)
    show.say("older backups have the key under the old passphrase. Back up again")
    return {"key": "people" if people else "line", "wrapped": not remove}, None


@line.command()
@_SPEC
@click.option(
    "--unit-file",
    "file",
    required=True,
    type=click.Path(path_type=Path),
    help="the units of the people to forget, one on each line",
)
@with_document
def forget(spec: Path, file: Path) -> Printout:
    """Delete the link between people and their places in groups; the values stay in the groups.

    Forgotten people stay out of later versions. A backup made before still has the link.
    """
    from sfumato.flows.life.lines import forget as forget_people

    number = forget_people(spec, file)
    show.say(f"{number} forgotten; older backups still contain them. Delete these backups also")
    return {"forgotten": number}, None


@line.command()
@_SPEC
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NUMBER=URI",
    help=(
        "the source of a version; refused=URI, refused-2=URI for candidates that an "
        "attack's limit refused"
    ),
)
@click.option(
    "--spec",
    "specs",
    multiple=True,
    metavar="NUMBER=SPEC",
    help="the spec of a version, if it was another one",
)
@click.option(
    "--units",
    type=click.Path(path_type=Path),
    help="change no key, but the units of people; the file has `old,new` on each line",
)
@with_document
def rekey(
    spec: Path, sources: tuple[str, ...], specs: tuple[str, ...], units: Path | None
) -> Printout:
    """Draw another key, if others may know the present one.

    Hashes are one-way, so the source of every version is read again.
    """
    if units is not None:
        if sources or specs:
            raise click.UsageError(
                "--units cannot be combined with --source or --spec. Leave these out"
            )
        from sfumato.flows.life.lines import rename

        number = rename(spec, units)
        show.say(f"{number} have new units from now on")
        return {"renamed": number}, None
    from sfumato.flows.life.lines import rekey as draw_another

    other = {number: Path(place) for number, place in pairs("--spec", specs).items()}
    stays = draw_another(spec, pairs("--source", sources), other)
    if stays is not None:
        show.say(
            f"{stays}: the key of people's names is another key, and did not change. "
            "Someone who has that key and a map can find out who is in the map, and no "
            "command changes that"
        )
    return {"people_key_stays": stays}, None
