"""Secrets in Prefect Secret blocks, where a variable of the environment names the block.

    SFUMATO_KEY_PASSPHRASE_BLOCK=<name>      in place of SFUMATO_KEY_PASSPHRASE, and so on
    DB_PASSWORD_BLOCK=<name>                 in place of DB_PASSWORD, if an address has it

A deployment names them in its job variables. A secret is read once, stays in this process, and
is no parameter of a flow or task: Prefect stores these.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.private.keys import PASSPHRASE as KEY_PASSPHRASE
from sfumato.tasks.private.people.keys import FORMER_PASSPHRASE
from sfumato.tasks.private.people.keys import PASSPHRASE as PEOPLE_PASSPHRASE
from sfumato.tasks.private.wrapping import hand_over
from sfumato.tasks.verification.signing_keys import PASSPHRASE as SIGNING_PASSPHRASE

NEW_PASSPHRASE = "SFUMATO_NEW_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable
_VARIABLES = (
    *(KEY_PASSPHRASE, NEW_PASSPHRASE, SIGNING_PASSPHRASE),
    *(PEOPLE_PASSPHRASE, FORMER_PASSPHRASE),
)


@contextmanager
def passphrases(environ: Mapping[str, str]) -> Iterator[None]:
    """Provide the passphrases whose blocks the environment names.

    Raises:
        InputError: where a passphrase is given in both ways, or its block is missing or none.
        Fault: where the block cannot be read.
    """
    with _hand_over_blocks(_VARIABLES, environ):
        yield


@contextmanager
def source_secrets(source: Source, environ: Mapping[str, str]) -> Iterator[None]:
    """Provide the secrets of a source's address and store whose blocks the environment names.

    Raises:
        InputError: where a variable is given in both ways, or its block is missing or none.
        Fault: where the block cannot be read.
    """
    with _hand_over_blocks(source.variables, environ):
        yield


@contextmanager
def destination_secrets(variables: Sequence[str]) -> Iterator[None]:
    """Provide the secrets of a destination whose blocks the environment names.

    Raises:
        InputError: where a variable is given in both ways, or its block is missing or none.
        Fault: where the block cannot be read.
    """
    with _hand_over_blocks(variables, os.environ):
        yield


@contextmanager
def _hand_over_blocks(variables: Sequence[str], environ: Mapping[str, str]) -> Iterator[None]:
    named = {
        variable: environ[f"{variable}_BLOCK"]
        for variable in variables
        if environ.get(f"{variable}_BLOCK")
    }
    for variable in named:
        if environ.get(variable):
            raise InputError(
                f"{variable}: is set, and {variable}_BLOCK is set also. Keep one of them"
            )
    with hand_over(
        {variable: _in_block(f"{variable}_BLOCK", name) for variable, name in named.items()}
    ):
        yield


def _in_block(variable: str, name: str) -> str:
    from prefect.blocks.system import Secret

    try:
        block: Any = Secret.load(name, _sync=True)  # type: ignore[call-arg]
        value = block.get()
    except ValueError:
        raise InputError(
            f"{variable}: Prefect has no Secret block of that name. Make the block, or "
            "correct the name"
        ) from None
    except Exception as error:  # noqa: BLE001 - messages of others may quote the block
        raise Fault(f"{variable}: cannot be read ({type(error).__name__})") from None
    if not (isinstance(value, str) and value):
        raise InputError(
            f"{variable}: its Secret block contains no text. Write the passphrase into the "
            "block as text"
        )
    return value
