"""Laws of a line after any fault: its versions are whole, and the next run ends well."""

import hashlib
from collections.abc import Iterator
from pathlib import Path


def versions(public: Path) -> dict[str, str]:
    """The digest of every file of every version that readers can see."""
    digests = {}
    for version in sorted(public.glob("[0-9]*")):
        digest = hashlib.sha256()
        for path in sorted(path for path in version.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(version)}\n".encode() + path.read_bytes())
        digests[version.name] = digest.hexdigest()
    return digests


def broken(public: Path, before: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong with what readers see; `before` are the versions that were there."""
    now = versions(public)
    yield from (f"version {n} changed" for n, digest in before.items() if now.get(n) != digest)
    if len(now) > len(before) + 1:
        yield f"{len(now) - len(before)} versions appeared at once"
    yield from _find_unverified(public, now)
    yield from _wrongly_recorded(public, now, before)


def _find_unverified(public: Path, now: dict[str, str]) -> Iterator[str]:
    from sfumato.expectations.shared.errors import SfumatoError
    from sfumato.tasks.publication.check import check

    for number in now:
        try:
            check(public / number)
        except SfumatoError as error:
            yield f"version {number}: {error}"


def _wrongly_recorded(public: Path, now: dict[str, str], before: dict[str, str]) -> Iterator[str]:
    from sfumato.expectations.shared.errors import SfumatoError
    from sfumato.tasks.lines.versions import read_record

    try:
        record = read_record(public)
    except SfumatoError as error:
        yield f"record: {error}"
        return
    if record.current is not None and record.current not in now:
        yield "the current version is not there"
    if not set(before) <= set(record.versions) <= set(now):
        yield "the record lists other versions"


def left_behind(folder: Path) -> Iterator[str]:
    """Yield the files that a killed run left and the next one has not swept."""
    for path in sorted(folder.rglob("*")):
        if path.name.startswith(".staging-") or (path.parent.name == "runs" and path.is_dir()):
            yield f"left: {path.name}"


def temporaries(folder: Path) -> list[str]:
    """Files that were being written when the process was killed."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".*.tmp")]


def find_problems(public: Path) -> Iterator[str]:
    """Yield what is wrong after a run that succeeded."""
    from sfumato.tasks.lines.left_over import find_left_over
    from sfumato.tasks.lines.versions import read_record

    yield from (f"left over: {trace}" for trace in find_left_over(public))
    record = read_record(public)
    if sorted(record.versions) != sorted(versions(public)):
        yield "the record and the directories disagree"
    if record.current is None or not (public / record.current).is_dir():
        yield "no version is current"
    elif not record.versions[record.current].accuracy:
        yield "the current version was not evaluated"
