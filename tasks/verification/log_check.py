"""The check of a line's log: by itself, with the files beside it, and with earlier heads.

In this order: its head is the root of its entries; the head's key is one that the reader may trust;
`releases.json` and `keys.json` list what the log lists; the log begins with everything that each
earlier head stands for; it has the release that is checked.

What no earlier head stands for cannot be seen: a log by itself may have been written today.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import WAY_OUT, InputError, PromiseError
from sfumato.expectations.shared.merkle import consistency_path, is_consistent
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.verification.heads import (
    EarlierHead,
    ExchangedHead,
    Inclusion,
    find_release,
    remember_head,
    remembered_heads,
)
from sfumato.tasks.verification.line_log import LOG, Head, LineLog, listing_beside, read_log
from sfumato.tasks.verification.signing import is_trusted
from sfumato.tasks.verification.trust import read_trust, trust_file

_ATTEMPTS, _PAUSE = 5, 0.1  # a publisher replaces several files, one after another
_EXCHANGE = "sfumato check LINE --write-head FILE, and --head FILE with theirs"
_UNCHECKED = "whether versions were left out, put back or rewritten"


@dataclass(frozen=True)
class LogFindings:
    """The findings about a line's log.

    Attributes:
        line: the directory of the line.
        log: the log, None if there is none.
        author: who signed its head, in words.
        inclusion: the proof for the release that was checked, None if the log has no entry of it.
        earlier: the heads that it was compared with.
    """

    line: Path
    log: LineLog | None = None
    author: str = ""
    inclusion: Inclusion | None = None
    earlier: tuple[EarlierHead, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the findings in words."""
        if self.log is None and not self.earlier:
            yield (
                f"no {LOG} beside it, and no earlier head: {_UNCHECKED} before now was not checked"
            )
            return
        if self.log is not None:
            yield f"its line's log has {_entries(self.log.head.size)}; {self.author}"
        if self.inclusion is None:
            yield "the log has no entry for this release"
        for earlier in self.earlier:
            yield self._comparison(earlier)
        if not self.earlier:
            yield (
                f"no earlier head of this line was at hand: {_UNCHECKED} before now was not "
                "checked (sfumato check LINE --head FILE)"
            )

    def _comparison(self, earlier: EarlierHead) -> str:
        size = _entries(earlier.head.size)
        if self.log is None:
            return (
                f"no {LOG} beside it, but the head of {size} {earlier.origin} includes this "
                f"release ({self.author})"
            )
        if earlier.head.size > self.log.head.size:
            return (
                f"this copy is older than the line: the head {earlier.origin} has {size}. Later "
                "versions and withdrawals are not in it"
            )
        return f"the log continues the head of {size} {earlier.origin}"

    def document(self) -> dict[str, Any]:
        """Return the findings for JSON; `earlier` is empty if nothing was compared."""
        head = None if self.log is None else self.log.head
        return {
            "size": None if head is None else head.size,
            "root": None if head is None else head.root,
            "author": self.author or None,
            "entry": None if self.inclusion is None else self.inclusion.index,
            "earlier": [
                {"size": earlier.head.size, "origin": earlier.origin} for earlier in self.earlier
            ],
        }

    def remember(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Remember the head for the next check; return a warning if that failed."""
        failure = None if self.log is None else remember_head(self.line, self.log, environ)
        return () if failure is None else (f"warning: {failure}",)


def check_log(
    directory: Path,
    name: str,
    digest: str,
    heads: Sequence[EarlierHead],
    environ: Mapping[str, str],
) -> LogFindings:
    """Check the log of a release's line.

    Args:
        directory: of the release.
        name: of its line.
        digest: of its manifest.
        heads: heads that the reader has from elsewhere.
        environ: the reader's, which says where trusted keys and remembered heads are.

    Raises:
        InputError: where a head is another line's, or a remembered one cannot be read.
        PromiseError: where the log cannot be read, contradicts the files beside it or an earlier
            head, or is not signed as the reader's trust file demands.
    """
    line = directory.resolve().parent
    for earlier in heads:
        _require_fit(earlier, name)
    log = _read_agreeing_log(line)
    earlier_heads = (*heads, *remembered_heads(name, line, log, environ))
    if log is None:
        return _without_log(line, name, digest, earlier_heads, environ)
    if log.head.line != name:
        raise PromiseError(f"{line / LOG}: is the log of another line, {log.head.line}")
    author = _author(line, log.head, name, environ)
    for earlier in earlier_heads:
        _require_continued(line, log, earlier)
    inclusion = find_release(log, digest)
    if inclusion is not None and not ExchangedHead(**dict(log.head), inclusion=inclusion).includes(
        digest
    ):
        raise PromiseError(f"{line / LOG}: its head does not include this release")
    return LogFindings(line, log, author, inclusion, earlier_heads)


def check_log_beside(
    release: Release, heads: Sequence[EarlierHead], environ: Mapping[str, str]
) -> LogFindings:
    """Check the log beside a release that was verified; see `check_log`."""
    digest = str(release.manifest["sfumato"]["digest"])
    return check_log(release.directory, release.declared.name, digest, heads, environ)


def _require_fit(earlier: EarlierHead, name: str) -> None:
    """Refuse a head of another line, or one that was changed.

    Raises:
        InputError, PromiseError: with the file.
    """
    if earlier.head.line != name:
        raise InputError(
            f"--head {earlier.file}: belongs to the line {earlier.head.line}, and this release "
            f"belongs to {name}. Name a head of {name}"
        )
    earlier.head.signer()


def _read_agreeing_log(line: Path) -> LineLog | None:
    """Return a line's log that agrees with the files beside it, or None if there is none.

    A publisher who is at work replaces the files one after another, so they are read again.

    Raises:
        PromiseError: where they contradict each other.
    """
    for attempt in range(_ATTEMPTS):
        log = read_log(line)
        contradiction = None if log is None else next(_contradictions(line, log), None)
        if contradiction is None:
            return log
        if attempt + 1 < _ATTEMPTS:
            time.sleep(_PAUSE)
    raise PromiseError(
        f"{line / LOG}: contradicts the files beside it: {contradiction}. A version may have been "
        "left out or put back, or a command of the publisher was stopped. Do not use the line"
        f"{WAY_OUT}check again in a minute{WAY_OUT}if it remains so, ask the publisher, who can "
        "finish a stopped command (sfumato sweep)"
    )


def _contradictions(line: Path, log: LineLog) -> Iterator[str]:
    yield from log.listing.contradictions(listing_beside(line))


def _author(line: Path, head: Head, name: str, environ: Mapping[str, str]) -> str:
    """Return who signed a head, in words.

    Raises:
        PromiseError: where the signature is wrong, its key was revoked, or the reader trusts other
            keys for the line; where the reader trusts keys for it and there is no signature.
    """
    trust = read_trust(environ)
    listed = trust.of_line(name)
    key = head.signer()
    if key is None:
        if listed:
            raise PromiseError(
                f"{line / LOG}: its head is not signed, but {trust_file(environ)} lists trusted "
                f"keys for {name}. Ask the publisher to sign it (sfumato keys sign)"
            )
        return "its head is not signed, so anyone who can write there can begin another log"
    trusted = is_trusted(line, key, trust, listed, LOG)
    if listed and not trusted:
        raise PromiseError(
            f"{line / LOG}: its head was signed with key {key}, but {trust_file(environ)} lists "
            f"other keys for {name}. Ask the publisher which key is right"
        )
    unknown = "" if trusted else ", a key that you do not trust yet (sfumato keys trust)"
    return f"its head is signed by {listed.get(key.public, key)}{unknown}"


def _require_continued(line: Path, log: LineLog, earlier: EarlierHead) -> None:
    """Refuse a log that does not begin with everything that an earlier head stands for.

    A copy elsewhere may be an old one, which the findings say.

    Raises:
        PromiseError: with what happened, as far as it can be known, and what to do.
    """
    size = earlier.head.size
    if size > log.head.size:
        if earlier.elsewhere:
            return
        raise PromiseError(
            f"{line / LOG}: was rolled back: it has {_entries(log.head.size)}, and the head "
            f"{earlier.origin} has {size}. Entries were taken back, or this copy is out of date. "
            f"Do not use the line{_ways_out(earlier)}"
        )
    path = consistency_path(log.leaves, size)
    if not is_consistent(earlier.head.tree, log.head.tree, path):
        raise PromiseError(
            f"{line / LOG}: does not continue the head of {_entries(size)} {earlier.origin}. "
            "Entries were rewritten, or readers are shown different logs. Do not use the line"
            f"{_ways_out(earlier)}"
        )


def _ways_out(earlier: EarlierHead) -> str:
    ways = (
        "ask the publisher, and compare with other readers (sfumato check LINE --write-head FILE)"
    )
    if earlier.by_reader:
        return f"{WAY_OUT}{ways}"
    return (
        f"{WAY_OUT}{ways}{WAY_OUT}if you know why the line was begun again, forget the head: "
        f"delete {earlier.file}"
    )


def _without_log(
    line: Path,
    name: str,
    digest: str,
    earlier_heads: tuple[EarlierHead, ...],
    environ: Mapping[str, str],
) -> LogFindings:
    """Return the findings about a line without a log: only a head's own proof can vouch for it.

    Raises:
        PromiseError: where a head stands for a log, and none is there.
    """
    author, inclusion = "", None
    for earlier in earlier_heads:
        head = earlier.head
        if not (isinstance(head, ExchangedHead) and head.includes(digest)):
            raise PromiseError(
                f"{line / LOG}: is missing, and the head {earlier.origin} belongs to a log with "
                f"{_entries(head.size)}. Do not use the line{_ways_out(earlier)}"
            )
        author, inclusion = _author(line, head, name, environ), head.inclusion
    return LogFindings(line, None, author, inclusion, earlier_heads)


def _entries(size: int) -> str:
    return "1 entry" if size == 1 else f"{size:,} entries"
