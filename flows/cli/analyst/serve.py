"""`sfumato query --serve`: a line of JSON in, a line of JSON out, until the lines end."""

import sys
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, get_args

import click

from sfumato.expectations.machine.fault import failure_of
from sfumato.expectations.shared.errors import QueryError, SfumatoError
from sfumato.flows.cli.show import INTERRUPTED, echo_json, one_line
from sfumato.tasks.query.ask import Conversation
from sfumato.tasks.query.inquiries.answer import Answer, with_headers
from sfumato.tasks.query.inquiries.answer import document as as_document
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.schema.files import NestingError, parse_json
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.verification.record import Standing, require_unchanged

LONGEST = 1 << 20  # bytes of a line
_KEYS = ("query", "id", "estimator")


class Served:
    """A release whose files are those that were verified, asked line by line."""

    def __init__(
        self, directory: Path, standing: Standing, conversation: Conversation, estimator: Estimator
    ) -> None:
        """Take what was opened, and the estimator of queries that name none."""
        self._directory, self._standing = directory, standing
        self._conversation, self._estimator = conversation, estimator

    def replies(self, stream: BinaryIO) -> Iterator[dict[str, Any]]:
        """Yield a document for each line of a stream: an answer, or an error."""
        while line := stream.readline(LONGEST + 1):
            if len(line) > LONGEST and not line.endswith(b"\n"):
                _pass_by_line(stream)
                yield _refusal(
                    None, QueryError(f"the line is longer than {LONGEST} bytes. Send a shorter one")
                )
            else:
                yield self._reply(line)

    def _reply(self, line: bytes) -> dict[str, Any]:
        label = None
        try:
            request = _request(line)
            label = request.get("id")
            return {"id": label, **as_document(with_headers(self._answer(request)))}
        except SfumatoError as error:
            return _refusal(label, error)
        except Exception as error:  # noqa: BLE001 - messages of others may quote the data
            return _refusal(label, failure_of(error))

    def _answer(self, request: Mapping[str, Any]) -> Answer:
        """Return the answer, if the files are as they were when it was found."""
        if unknown := sorted(request.keys() - set(_KEYS)):
            raise QueryError(f"no key {quote_name(unknown[0])}; the keys are {', '.join(_KEYS)}")
        sql, estimator = request.get("query"), request.get("estimator", self._estimator)
        if not isinstance(sql, str):
            raise QueryError('query: is missing or not a text. Write {"query": "SELECT …"}')
        if estimator not in get_args(Estimator):
            raise QueryError(f"estimator: unknown; choose from {', '.join(get_args(Estimator))}")
        try:
            return self._conversation.answer(sql, estimator)
        finally:
            require_unchanged(self._directory, self._standing)


def serve(served: Served) -> None:
    """Reply to the lines of stdin on stdout, each at once.

    Raises:
        Exit: with 130, where it is interrupted.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        for reply in served.replies(sys.stdin.buffer):
            echo_json(reply)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None


def _request(line: bytes) -> dict[str, Any]:
    """Return the mapping that a line holds."""
    try:
        document = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise QueryError("not UTF-8 text") from None
    except NestingError as error:
        raise QueryError(str(error)) from None
    except ValueError:
        raise QueryError("not JSON") from None
    if not isinstance(document, dict):
        raise QueryError('not a mapping such as {"query": "SELECT ...", "id": 1}')
    if not _finite(document.get("id")):
        raise QueryError("id: has a number that JSON cannot write, such as NaN")
    return document


def _finite(part: Any) -> bool:
    """Decide whether all numbers of a document can be written as JSON."""
    if isinstance(part, dict):
        return all(map(_finite, part.values()))
    if isinstance(part, list):
        return all(map(_finite, part))
    return not isinstance(part, float) or isfinite(part)


def _refusal(label: Any, error: SfumatoError) -> dict[str, Any]:
    return {"id": label, "error": one_line(str(error)), "exit": error.exit_code}


def _pass_by_line(stream: BinaryIO) -> None:
    """Read on to the end of a line, and keep nothing of it."""
    while (part := stream.readline(LONGEST)) and not part.endswith(b"\n"):
        continue
