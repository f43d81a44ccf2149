"""Withdrawal of a version: first a plan that shows what it means, then the withdrawal itself."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.expectations.machine.servers import without_login
from sfumato.expectations.shared.errors import InputError, SfumatoError, SpecError
from sfumato.flows.inputs.environment import quiet
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.flows.inputs.server_in_use import server_in_use
from sfumato.flows.life.delivery import deliver_known
from sfumato.flows.life.releases import own_line
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import Version, read_record
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.withdrawal import Withdrawn, require_reason, withdraw
from sfumato.tasks.terms.tombstone import Tombstone, has_replaced
from sfumato.tasks.verification.offered_keys import read_offers, require_next_signer
from sfumato.tasks.verification.signing import signer_of
from sfumato.tasks.verification.signing_keys import (
    PublicKey,
    Signer,
    open_signer,
    own_keys,
    signing_key,
)

_UNSIGNED = "--unsigned withdraws it without a signature"


@dataclass(frozen=True)
class WithdrawalPlan:
    """A withdrawal that nobody has confirmed yet.

    Attributes:
        line: the line.
        number: of the version.
        version: as the public record has it.
        reason: for everybody to read.
        signer: signs it, None where it is not signed.
        current: the version that will be current, None for none.
        composed: whether later versions will be compared with this one.
        done: whether a tombstone has replaced it already.
    """

    line: Line
    number: str
    version: Version
    reason: str
    signer: Signer | None
    current: str | None
    composed: bool
    done: bool

    def carry_out(self) -> Withdrawn:
        """Withdraw the version, here and then in the destinations of its line.

        Raises:
            PromiseError: where the line's private state does not know it.
        """
        with passphrases(os.environ), sanitise_errors("withdraw"):
            done = withdraw(self.line, self.number, self.reason, signer=self.signer)
        notices = [*done.notices, *_tell_dossier(self.line, self.number, done.tombstone)]
        if not done.existed and (server := server_in_use()):
            notices += _tell_server(done.tombstone, server)
        delivered = deliver_known(self.line)
        notices += [
            message for copy in delivered if copy.behind is None for message in copy.messages
        ]
        behind = tuple(copy.messages[-1] for copy in delivered if copy.behind is not None)
        return replace(done, notices=tuple(notices), behind=behind)


def _tell_dossier(line: Line, number: str, tombstone: Tombstone) -> Iterator[str]:
    """Write the withdrawal into the dossier, if there is one; yield a warning if that fails."""
    from sfumato.tasks.report.steward.dossier import dossier_of_withdrawn, write_dossier

    reports = line.reports(number)
    try:
        with sanitise_errors("dossier"):
            document = dossier_of_withdrawn(reports, tombstone)
            if document is not None:
                write_dossier(reports, document)
    except SfumatoError as error:
        yield f"warning: dossier: {error}"


def _tell_server(tombstone: Tombstone, server: str) -> Iterator[str]:
    """Emit the event of a withdrawal for a server's automations; yield a warning if it failed."""
    quiet()
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
    from sfumato.tasks.events import tell_at_once

    facts = {"version": tombstone.version, "digest": tombstone.digest, "reason": tombstone.reason}
    if not tell_at_once("withdrawn", tombstone.line, facts):
        yield f"{without_login(server)}: the server did not answer, so it sent no notification"


def plan_withdrawal(
    directory: Path, reason: str, signed_by: str | None = None, *, unsigned: bool = False
) -> WithdrawalPlan:
    """Return what withdrawing a version would mean; nothing is changed.

    Args:
        directory: of the version, also where that is gone.
        reason: for everybody to read.
        signed_by: the name of the key that signs it; else the one that signed the version, or one
            that took its place.
        unsigned: whether the withdrawal is not signed, even if the version was.

    Raises:
        SpecError: where the reason is no line of text, or it is not known who is to sign.
        InputError: where there is no such version, or its key cannot be opened.
        PromiseError: where no line of this work directory published it.
    """
    place = directory.resolve()
    line, number = own_line(place.parent), place.name
    record = read_record(line.public)
    if number not in record.versions:
        raise InputError(f"{directory}: is not a version of the line {line.name}")
    require_reason(reason)
    done, version = has_replaced(place), record.versions[number]
    with passphrases(os.environ):
        signer = None if done or unsigned else _signer(line, place, version.digest, signed_by)
    version_state = read_state(line.private).versions.get(number)
    return WithdrawalPlan(
        line,
        number,
        version,
        reason,
        signer,
        record.with_withdrawal(number).current,
        version_state is not None and version_state.composed,
        done,
    )


def _signer(line: Line, release: Path, digest: str, name: str | None) -> Signer | None:
    """Return the key that signs a withdrawal, or None if the version was not signed either."""
    try:
        before = signer_of(release, digest)
    except SfumatoError:  # whoever cannot be told signed nothing
        before = None
    if name is None and before is None:
        return None
    key = signing_key(line.work, name) if name else _own_successor(line, before)
    try:
        signer = open_signer(key)
        require_next_signer(line.public, line.name, signer.key, before)
    except InputError as error:
        raise InputError(f"{error} ({_UNSIGNED})") from None
    return signer


def _own_successor(line: Line, before: PublicKey | None) -> Path:
    """Return the own key that signed a version, or the last of its successors."""
    offered = read_offers(line.public)
    after = [] if before is None else [before.public]
    after += list(offered.successors(after[0])) if offered and after else []
    for public in reversed(after):
        for key in own_keys(line.work):
            if key.public == public:
                return signing_key(line.work, key.name)
    raise SpecError(
        f"--signed-by: the version was signed by {before}, and this work directory "
        f"does not have that key. Name another key; {_UNSIGNED}"
    )
