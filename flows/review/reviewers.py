"""Whose approval counts: said by the publishing user, of keys that reviewers exported."""

from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.errors import InputError
from sfumato.tasks.approval.reviewers import trust_reviewer
from sfumato.tasks.private.workdir import private_work_directory
from sfumato.tasks.verification.signing_keys import PublicKey, own_keys
from sfumato.tasks.verification.trust import read_exported, read_pattern


def let_review(file: Path, pattern: str, environ: Mapping[str, str]) -> PublicKey:
    """Let the approval of a key count for the lines of a pattern.

    Raises:
        SpecError: where the pattern is none.
        InputError: where the file is no public key, the key is one of the user's own work
            directory, or the reviewers' file cannot be written.
    """
    key = read_exported(file)
    if key.public in {own.public for own in own_keys(private_work_directory(environ))}:
        raise InputError(
            f"{file}: is a key of this work directory, which publishes: nobody approves their own "
            "releases; reviewers make keys in work directories of their own"
        )
    trust_reviewer(key, read_pattern(pattern), environ)
    return key
