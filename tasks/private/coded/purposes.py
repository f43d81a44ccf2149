"""A key of its own for every purpose, each made of the work directory's secret.

Whoever has one of them learns no other. The same purpose means the same key in every line of a work
directory, and another one elsewhere.
"""

import hmac
from pathlib import Path

from sfumato.tasks.private.people.keys import people_key

_PURPOSE = b"\0purpose "  # no name of a person is made so: texts of units have no such byte


def purpose_key(work: Path, purpose: str) -> bytes:
    """The key of a purpose (32 bytes).

    Raises:
        InputError: where the secret is wrapped, and the environment lacks its passphrase.
        PromiseError: where it is lost.
    """
    return hmac.digest(people_key(work), _PURPOSE + purpose.encode(), "sha256")


def shift_key(line: Path) -> bytes:
    """The key of the days by which a line's dates are moved.

    It is not made of the line's own key, which `sfumato line rekey` replaces: a person's days stay
    the same in all versions.
    """
    return purpose_key(line.parent, f"shift {line.name}")


def pseudonym_key(work: Path, purpose: str) -> bytes:
    """The key of the pseudonyms that are handed over for a purpose."""
    return purpose_key(work, f"pseudonym {purpose}")
