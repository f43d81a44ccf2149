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

    The state says whom each version was about. Without it no version can follow.
    """


@line.command()
@_SPEC
@_FILE
@with_document
def backup(spec: Path, file: Path) -> Printout:
    """Write the state to FILE, as secret as the state itself."""
    from sfumato.flows.life.lines import back_up

    back_up(spec, file)
    show.say(f"{file}: has the line's key and versions; keep it where nobody else reads")
    return {"file": str(file)}, None


@line.command()
@_SPEC
@_FILE
@with_document
def restore(spec: Path, file: Path) -> Printout:
    """Put the state back from FILE; an older one than the public record is refused."""
    from sfumato.flows.life.lines import restore as put_back

    put_back(spec, file)
    return {"restored": str(file)}, None


@line.command()
@_SPEC
@click.option("--remove", is_flag=True, help="leave the key unwrapped")
@click.option(
    "--people", is_flag=True, help="the key of people's names, which all lines have in common"
)
@with_document
def passphrase(spec: Path, remove: bool, people: bool) -> Printout:
    """Wrap the line's key with another passphrase.

    The present one is in $SFUMATO_KEY_PASSPHRASE, the new one in $SFUMATO_NEW_KEY_PASSPHRASE. With
    --people it is the key of people's names, and the present one is in $SFUMATO_PEOPLE_PASSPHRASE.
    """
    from sfumato.flows.life.lines import change_passphrase

    change_passphrase(spec, os.environ, unwrap=remove, people=people)
    show.say("backups made before have the key under the passphrase of then: back up again")
    return {"key": "people" if people else "line", "wrapped": not remove}, None


@line.command()
@_SPEC
@click.option(
    "--unit-file",
    "file",
    required=True,
    type=click.Path(path_type=Path),
    help="the units of people to forget, one a line",
)
@with_document
def forget(spec: Path, file: Path) -> Printout:
    """Delete which slots people have: the values stay in their groups, beside nobody.

    Whoever is forgotten stays out of later versions. A backup made before still has the link.
    """
    from sfumato.flows.life.lines import forget as forget_people

    number = forget_people(spec, file)
    show.say(f"{number} forgotten; backups made before still know them: delete these, too")
    return {"forgotten": number}, None


@line.command()
@_SPEC
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NUMBER=URI",
    help="the source of a version; refused=URI, refused-2=URI: of candidates that bars refused",
)
@click.option(
    "--spec", "specs", multiple=True, metavar="NUMBER=SPEC", help="its spec, where it was another"
)
@click.option(
    "--units",
    type=click.Path(path_type=Path),
    help="no other key: other units of people, `old,new` on each line",
)
@with_document
def rekey(
    spec: Path, sources: tuple[str, ...], specs: tuple[str, ...], units: Path | None
) -> Printout:
    """Draw another key, where the present one may be known to others.

    Hashes are one-way: every version's source is read again.
    """
    if units is not None:
        if sources or specs:
            raise click.UsageError("--units goes without --source and --spec")
        from sfumato.flows.life.lines import rename

        number = rename(spec, units)
        show.say(f"{number} known by other units from now on")
        return {"renamed": number}, None
    from sfumato.flows.life.lines import rekey as draw_another

    other = {number: Path(place) for number, place in pairs("--spec", specs).items()}
    stays = draw_another(spec, pairs("--source", sources), other)
    if stays is not None:
        show.say(
            f"{stays}: the key of people's names is another one, and stays: if others may know it, "
            "they can tell who is in a map that they have, and no command changes that"
        )
    return {"people_key_stays": stays}, None
