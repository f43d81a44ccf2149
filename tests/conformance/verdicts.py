"""Answers of verifiers: of our own check, by its messages, and of another program, by its JSON."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.shared.errors import InputError, SfumatoError
from sfumato.tasks.publication.check import check
from sfumato.tasks.verification.log_check import check_log_beside
from sfumato.tasks.verification.way_in import WayIn
from tests.conformance.rulebook import Expected, Verdict

_VERDICTS: Mapping[int, Verdict] = {0: "valid", 3: "refused", 2: "not judged"}
_MOST_AT_ONCE = 200
_MESSAGES: Sequence[tuple[str, str]] = (
    (r"not a regular file", "file-kind"),
    (r"is missing", "file-missing"),
    (r"does not belong to the release", "file-unexpected"),
    (r"was withdrawn", "withdrawn"),
    (r"not the canonical manifest", "manifest-not-canonical manifest-schema format-wrong"),
    (r"its digest does not match", "digest-wrong"),
    (r"its digest is not that of its content", "digest-wrong"),
    (r"lists a path|does not list the files", "resources-wrong manifest-schema"),
    (r"format \d+ is newer", "format-newer"),
    (r"format must be a whole number", "format-wrong manifest-schema"),
    (r"is not a release", "not-a-release"),
    (r"row counts differ from those of its parts", "parts-wrong"),
    (r"names columns that it does not have|as a manifest states it", "manifest-schema"),
    (r"is not the lowest", "format-wrong"),
    (r"row counts contradict|how many values are invented", "counts-contradict"),
    (r"policy: its \w+ differ from those", "statement-wrong"),
    (r"policy: .* is not kept", "policy-broken"),
    (r"describes (other )?columns|states limits|states factors|families of", "statement-wrong"),
    (r"hierarchy of", "hierarchy-wrong"),
    (r"leaves under no published|codes that are not published", "leaves-unpublished"),
    (r"means nothing in form|does not name the|no promise (is about|protects)", "promise-scope"),
    (r"names columns as known", "promise-scope"),
    (r"cannot be read as a signature", "signature-unreadable"),
    (r"signature does not match", "signature-wrong"),
    (r"was revoked", "key-revoked"),
    (r"its head is not that of|does not fit those before|log of another line", "log-wrong"),
    (r"contradicts the files beside it", "log-differs"),
    (r"as the log of a line", "record-unreadable"),
    (r"may contain a (withdrawal|revocation)|as the keys of a line", "record-unreadable"),
    (r"cannot be read as (the declared table|a Parquet)|contradicts itself", "table-unreadable"),
    (r"footer|pages", "table-unreadable"),
    (r"contains schema metadata", "table-metadata"),
    (r"has other columns or types", "table-schema"),
    (r"has missing values", "null-unexpected"),
    (r"is not one of its labels|labels? admits missing|readable_labels", "label-unreadable"),
    (r"row_count_to_equal is broken", "row-count-wrong"),
    (r"row_count_to_be_between is broken", "table-empty"),
    (r"total_count is broken", "count-wrong"),
    (r"canonical", "order-wrong"),
    (r"coded_values is broken", "value-uncoded"),
    (r"positive_values is broken", "weight-not-positive"),
    (r"no_row_number is broken", "row-number"),
    (r"is broken in \d+ of|holds? in|is broken: required", "promise-broken promise-unmeasurable"),
    (r"finite|cannot be counted exactly|too large for exact", "value-not-finite"),
    (r"parts?\b.*(whole|another|differs|cut|outside|other)|same rows|of a part", "parts-wrong"),
    (r"declares other|continues a version|its place or its groups", "parts-wrong"),
    (r"does not list the parts|parts\.by|not cut first|number of rows differs", "parts-wrong"),
    (r"does not state that the groups keep|contradicts|observed", "observed-wrong statement-wrong"),
    (r"csv: differs from the published", "csv-differs hierarchy-differs bytes-differ"),
    (r"validation\.json: differs", "validation-wrong"),
    (r"sql/.*parquet: differs", "help-table-differs bytes-differ"),
    (r"data/.*parquet: differs", "bytes-differ table-schema table-metadata value-hidden"),
    (r"(html|sql): differs from the published", "bytes-differ"),
    (
        r"datapackage\.json: differs from the published files",
        "resources-wrong hash-differs observed-wrong manifest-schema counts-contradict",
    ),
    (r"lineage: its rows and vacant", "tables-disagree order-wrong"),
    (r"target|subdomain|counts of a group|admits no value|every group|lineage", "tables-disagree"),
    (r"different labels|rows in|differ in the counts|\bst\b|row of a group", "tables-disagree"),
)
"""Patterns of our messages, with the reasons that each may stand for."""


_WITHOUT_PAGE = {
    *("file-kind", "not-a-release", "manifest-not-canonical", "digest-wrong", "format-newer"),
    *("withdrawn", "record-unreadable", "key-revoked", "signature-wrong", "signature-unreadable"),
    *("log-wrong", "log-differs"),
}
"""Reasons that nothing on the page shows; of all others its sizes of files, and its figures, do."""


_AT_FULL = {"help-table-differs"}
"""Reasons that level core skips and level full does not (V2)."""


@dataclass(frozen=True)
class Answer:
    """The answer of a verifier.

    Attributes:
        verdict: what it says.
        reasons: why it refuses; one that it names more broadly may stand for several.
        words: its own words, for a person.
    """

    verdict: Verdict | str
    reasons: frozenset[str] = frozenset()
    words: str = ""


def agrees(answer: Answer, expected: Expected, level: str) -> bool:
    """Decide whether an answer is the one that is expected, at a level of conformance."""
    below = "same" if level == "byte" else expected.core
    if level == "full" and expected.reasons & _AT_FULL:
        below = "same"
    if below != "same" and answer.verdict == "valid":
        return True
    if below == "valid":
        return False
    if expected.reasons == {"not-a-release"} and "not-a-release" in answer.reasons:
        return True
    if answer.verdict != expected.verdict:
        return False
    reasons = expected.reasons
    if level == "byte" and not reasons & _WITHOUT_PAGE:
        reasons = reasons | {"bytes-differ"}
    return not reasons or not answer.reasons or bool(answer.reasons & reasons)


def check_here(release: Path, environ: Mapping[str, str]) -> Answer:
    """Return the answer of our own check: of the files, and of what lies beside them."""
    try:
        way_in = WayIn(environ, check=lambda place, digest, _limits: check(place, digest))
        check_log_beside(way_in.open(release), (), environ)
    except SfumatoError as error:
        words = str(error)
        reasons = reasons_in(words.replace(str(release), "release"))
        return Answer("not judged" if isinstance(error, InputError) else "refused", reasons, words)
    except Exception as error:  # noqa: BLE001 - a verifier that falls over is a finding, too
        return Answer("failed", words=repr(error))
    return Answer("valid")


def reasons_in(message: str) -> frozenset[str]:
    """Return the reasons of the closed list that a message of ours may stand for."""
    texts = (reasons for pattern, reasons in _MESSAGES if re.search(pattern, message))
    return frozenset(reason for text in texts for reason in text.split())


def answers_of(command: str, releases: Sequence[Path]) -> Iterator[Answer]:
    """Return the answers of another verifier about releases, in their order.

    Args:
        command: has `{}` for one directory, or `{*}` for up to 200 of them. It prints one JSON
            object for each, in a line of its own: `verdict`, and `reasons` where it refuses.
        releases: the directories.
    """
    several = "{*}" in command
    size = _MOST_AT_ONCE if several else 1
    for start in range(0, len(releases), size):
        batch = [str(release) for release in releases[start : start + size]]
        words = [
            word for part in shlex.split(command) for word in (batch if part in _PLACES else [part])
        ]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
        if len(lines) != len(batch):
            code = None if several else _VERDICTS.get(ran.returncode)
            yield from [Answer(code or "failed", words=ran.stderr[-300:])] * len(batch)
            continue
        yield from (_answer(json.loads(line), ran.returncode, several) for line in lines)


_PLACES = ("{}", "{*}")


def _answer(document: Mapping[str, object], code: int, several: bool) -> Answer:
    """Return the answer that a document says; the exit code of one release must agree."""
    stated = str(document.get("verdict")).replace("-", " ").replace("_", " ")
    reasons = document.get("reasons") or []
    named = frozenset(map(str, reasons)) if isinstance(reasons, list) else frozenset()
    if not several and "not-a-release" not in named and _VERDICTS.get(code) != stated:
        return Answer("failed", named, f"says {stated}, and exits with {code}")
    return Answer(stated, named, json.dumps(document)[:300])
