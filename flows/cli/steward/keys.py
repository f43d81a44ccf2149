"""`sfumato keys`: signing keys of publishers, and the keys that a reader trusts."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import Printout, as_document, with_document, with_documents
from sfumato.flows.cli.show import echo, echo_json

if TYPE_CHECKING:
    from sfumato.tasks.verification.signing_keys import PublicKey, Signer
    from sfumato.tasks.verification.trust import Trust

_NAME = click.argument("name")
_FILE = click.argument("file", type=click.Path(path_type=Path))
_LINES = click.argument("lines", nargs=-1, required=True, type=click.Path(path_type=Path))


@click.group()
def keys() -> None:
    """Sign releases, and choose the keys that you trust.

    Secrets are kept in the work directory under the passphrase in $SFUMATO_SIGNING_PASSPHRASE, or
    in the Prefect Secret block that $SFUMATO_SIGNING_PASSPHRASE_BLOCK names. A key
    beside a line is only an offer: `trust` it only if its fingerprint is the one that the publisher
    gave you in another way.
    """


@keys.command()
@_NAME
@with_document
def generate(name: str) -> Printout:
    """Draw a signing key called NAME (in a spec, publish.signed-by)."""
    from sfumato.flows.inputs.passphrases import passphrases
    from sfumato.tasks.verification.signing_keys import generate as draw

    with passphrases(os.environ):
        key = draw(_work(), name)
    show.say(
        "keep a copy (sfumato keys backup FILE); without this key no one can sign, "
        "rotate or revoke in its name"
    )
    return {"key": str(key)}, str(key)


@keys.command()
@_FILE
@with_document
def backup(file: Path) -> Printout:
    """Write all signing keys to FILE, each encrypted with its passphrase."""
    from sfumato.flows.life.lines import back_up_keys

    back_up_keys(file)
    show.say(
        f"{file}: has the signing keys, each encrypted with its passphrase. The "
        "passphrases are not in the file"
    )
    return {"file": str(file)}, None


@keys.command()
@_FILE
@with_documents("own")
def restore(file: Path) -> Iterator[Printout]:
    """Restore from FILE the signing keys that are missing; existing keys do not change."""
    from sfumato.flows.life.lines import restore_signing_keys

    for key in restore_signing_keys(file):
        yield {"key": str(key)}, f"own: {key}"


@keys.command()
@_NAME
@click.option(
    "--json", is_flag=True, expose_value=False, help="accepted; the output is always JSON"
)
def export(name: str) -> None:
    """Print the public key of NAME, for readers."""
    from sfumato.tasks.verification.signing_keys import public_key

    echo_json(public_key(_key(name)).model_dump())


@keys.command()
@click.argument("place", type=click.Path(path_type=Path))
@click.option("--line", "pattern", help="the line, or a pattern such as hospital-*")
@click.option("--fingerprint", help="trust only the key with this fingerprint")
@with_documents("trusted")
def trust(place: Path, pattern: str | None, fingerprint: str | None) -> Iterator[Printout]:
    """Trust the keys of PLACE: a line's public directory, or a file that `export` printed.

    From then on releases of the line are refused unless one of these keys, or a key that replaced
    one, signed them.
    """
    from sfumato.tasks.verification.trust import trust_offered

    for line, key in trust_offered(place, pattern, fingerprint, os.environ):
        yield {"line": line, "key": str(key)}, f"{line}: {key}"


@keys.command("list")
@as_document
def list_(as_json: bool) -> None:
    """List own signing keys, and those trusted of others."""
    from sfumato.tasks.verification.signing_keys import own_keys
    from sfumato.tasks.verification.trust import read_trust

    trust = read_trust(os.environ)
    if as_json:
        echo_json({"own": [*map(str, own_keys(_work()))], "trusted": _trusted_keys(trust)})
        return
    for key in own_keys(_work()):
        echo(f"own: {key}")
    for pattern, trusted in trust.lines.items():
        for key in trusted:
            revoked = ", revoked" if key.public in trust.revoked else ""
            echo(f"{pattern}: {key}{revoked}")


def _trusted_keys(trust: "Trust") -> dict[str, list[dict[str, object]]]:
    return {
        pattern: [{"key": str(key), "revoked": key.public in trust.revoked} for key in trusted]
        for pattern, trusted in trust.lines.items()
    }


@keys.command()
@_NAME
@click.argument("releases", nargs=-1, required=True, type=click.Path(path_type=Path))
@with_documents("releases")
def sign(name: str, releases: tuple[Path, ...]) -> Iterator[Printout]:
    """Sign published RELEASES with NAME: unsigned ones, or signed by a key that NAME replaced."""
    from sfumato.flows.life.lines import sign_version

    for release in releases:
        key, version = sign_version(release, name)
        message = f"{release}: {'was signed already' if version.existed else 'is signed'} by {key}"
        yield {"release": str(release), "key": str(key), "signed": not version.existed}, message
        for notice in version.notices:
            show.say(notice)
        _deliver(release.resolve().parent)


@keys.command()
@click.argument("old")
@click.argument("new")
@_LINES
@with_documents("lines")
def rotate(old: str, new: str, lines: tuple[Path, ...]) -> Iterator[Printout]:
    """Replace OLD by NEW beside LINES: readers who trust OLD then trust NEW."""
    from sfumato.tasks.verification.key_changes import rotate as publish_rotation

    signer, successor = _signer(old), _public(new)
    for line in lines:
        publish_rotation(line, signer, successor)
        document = {"line": str(line), "key": str(successor), "in_place_of": str(signer.key)}
        yield document, f"{line}: {successor} replaces {signer.key}"
        _deliver(line)


@keys.command()
@_NAME
@_LINES
@click.option("--by", help="a key that replaced it, if its own secret is lost")
@with_documents("lines")
def revoke(name: str, lines: tuple[Path, ...], by: str | None) -> Iterator[Printout]:
    """Revoke NAME beside LINES; nothing that it signed is trusted any more."""
    from sfumato.tasks.verification.key_changes import revoke as publish_revocation

    signer = _signer(by or name)
    for line in lines:
        key = _read_offered_key(line, name) if by else signer.key
        publish_revocation(line, key, signer)
        yield {"line": str(line), "revoked": str(key)}, f"{line}: {key} is revoked"
        _deliver(line)


def _deliver(line: Path) -> None:
    """Bring the keys that readers find in other places up to date."""
    from sfumato.flows.life.delivery import deliver_beside

    for message in deliver_beside(line):
        show.say(message)


def _signer(name: str) -> "Signer":
    from sfumato.flows.inputs.passphrases import passphrases
    from sfumato.tasks.verification.signing_keys import open_signer

    with passphrases(os.environ):
        return open_signer(_key(name))


def _read_offered_key(line: Path, name: str) -> "PublicKey":
    """Return the key that a line offers under a name; the key's own file may be lost."""
    from sfumato.tasks.verification.offered_keys import offered_key

    return offered_key(line, name)


def _public(name: str) -> "PublicKey":
    from sfumato.tasks.verification.signing_keys import public_key

    return public_key(_key(name))


def _key(name: str) -> Path:
    from sfumato.tasks.verification.signing_keys import signing_key

    return signing_key(_work(), name)


def _work() -> Path:
    from sfumato.tasks.private.workdir import private_work_directory

    return private_work_directory(os.environ)
