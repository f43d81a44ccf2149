"""Objects of a bucket: read, listed, written on conditions, deleted for good."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from sfumato.expectations.shared.errors import Fault, InputError, SfumatoError, TransientFault
from sfumato.tasks.destinations.declared import StoreDestination
from sfumato.tasks.publication.manifest import MEDIA

CONDITIONS = (
    "the store does not support conditional writes (`If-None-Match`, `If-Match`), so "
    "two writers could mix their versions. Use a store that supports them"
)
_RULES = {
    "AccessDenied": "the keys may not do this there ({right})",
    "AllAccessDisabled": "the keys may not do this there ({right})",
    "InvalidAccessKeyId": "the store does not know the access key ({keys}_ACCESS_KEY_ID)",
    "SignatureDoesNotMatch": "the store refuses the secret key ({keys}_SECRET_ACCESS_KEY)",
    "ExpiredToken": "the session has ended ({keys}_SESSION_TOKEN)",
    "InvalidToken": "the store refuses the session ({keys}_SESSION_TOKEN)",
    "RequestTimeTooSkewed": "the clock of this machine is wrong",
    "NoSuchBucket": "the bucket does not exist. Make it first",
    "PermanentRedirect": "the bucket is in another region ({keys}_REGION)",
    "AuthorizationHeaderMalformed": "the bucket is in another region ({keys}_REGION)",
    "IllegalLocationConstraintException": "the bucket is in another region ({keys}_REGION)",
    "QuotaExceeded": "the store has no room left",
    "EntityTooLarge": "a file is larger than the store accepts",
    "NotImplemented": CONDITIONS,
    "301": "the bucket is in another region ({keys}_REGION)",
    "403": "the keys may not do this there ({right})",
    "501": CONDITIONS,
}
_LONGEST = 64  # letters of a code that is shown
_BUSY = {"SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "500", "503"}
_PART = 64 << 20  # bytes of a large file that are sent at once
_SHA256 = "sfumato-sha256"
"""The name under which an object of ours has the SHA-256 of its content."""
_TYPES = {
    **MEDIA,
    ".atom": "application/atom+xml",
    ".cff": "application/yaml",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".jsonld": "application/ld+json",
    ".mjs": "text/javascript; charset=utf-8",
    ".sig": "application/json",
}
_MISSING = {"NoSuchKey", "404", "NotFound"}
_TAKEN = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}


@contextmanager
def translate_errors(declared: StoreDestination, right: str) -> Iterator[None]:
    """Translate the store's errors into ours, which name a rule.

    Args:
        declared: the destination, which has the address.
        right: the one that keys need for what is done.

    Raises:
        InputError: where the store refuses.
        TransientFault: where it cannot be reached, or breaks off.
        Fault: where it refuses for a reason that has no rule.
    """
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (ClientError, BotoCoreError, Boto3Error) as error:
        raise _translate_error(error, declared, right) from None


def code_of(error: BaseException) -> str | None:
    """Return the code of a store's answer, or None if it did not answer."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return None
    return str(response.get("Error", {}).get("Code", "")) or None


def _translate_error(error: Exception, declared: StoreDestination, right: str) -> SfumatoError:
    code = code_of(error) or code_of(error.__context__ or error)  # of a transfer that failed
    if code is None or code in _BUSY:
        return TransientFault(
            f"{declared.uri}: the store cannot be reached, or broke the connection off "
            f"({code or type(error).__name__}). Check its endpoint, and HTTPS_PROXY"
        )
    rule = _RULES.get(code)
    if rule is None:
        shown_code = code if code.isalnum() and len(code) < _LONGEST else "an unknown code"
        return Fault(f"{declared.uri}: the store refuses ({shown_code})")
    return InputError(f"{declared.uri}: {rule.format(right=right, keys=declared.prefix)}")


T = TypeVar("T")


@dataclass(frozen=True)
class StoredObject:
    """An object's content, and the tag by which the store knows it."""

    content: bytes
    tag: str


class Bucket:
    """A bucket, and the way to it."""

    def __init__(self, declared: StoreDestination, name: str, client: Any) -> None:
        self._declared, self._name, self._client = declared, name, client

    def read(self, key: str) -> StoredObject | None:
        """Read an object, or return None."""

        def get() -> StoredObject:
            response = self._client.get_object(Bucket=self._name, Key=key)
            with response["Body"] as body:
                return StoredObject(body.read(), response["ETag"])

        return self._unless(_MISSING, "s3:GetObject", get)

    def sha256(self, key: str) -> str | None:
        """Return the SHA-256 that an object of ours states, "" for others', None for none."""

        def ask() -> str:
            response = self._client.head_object(Bucket=self._name, Key=key)
            return str(response["Metadata"].get(_SHA256, ""))

        return self._unless(_MISSING, "s3:GetObject", ask)

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the size of every object whose key has the prefix."""
        with self._translating_errors("s3:ListBucket"):
            pages = self._client.get_paginator("list_objects_v2")
            listing = pages.paginate(Bucket=self._name, Prefix=prefix)
            return {
                entry["Key"]: entry["Size"]
                for page in listing
                for entry in page.get("Contents", ())
            }

    def folders(self, prefix: str) -> list[str]:
        """Return the names below a prefix, each up to the next slash."""
        with self._translating_errors("s3:ListBucket"):
            pages = self._client.get_paginator("list_objects_v2")
            listing = pages.paginate(Bucket=self._name, Prefix=prefix, Delimiter="/")
            common = [
                entry["Prefix"] for page in listing for entry in page.get("CommonPrefixes", ())
            ]
            return [key.removeprefix(prefix).rstrip("/") for key in common]

    def send(self, key: str, file: Path, sha256: str) -> None:
        """Write a file of any size; the store compares what arrives with a checksum."""
        from boto3.s3.transfer import TransferConfig

        arguments = {**_headers(key), "Metadata": {_SHA256: sha256}, "ChecksumAlgorithm": "SHA256"}
        config = TransferConfig(multipart_threshold=_PART, multipart_chunksize=_PART)
        with self._translating_errors("s3:PutObject"):
            self._client.upload_file(str(file), self._name, key, ExtraArgs=arguments, Config=config)

    def write(self, key: str, content: bytes) -> None:
        """Write a small object, whatever is there."""
        with self._translating_errors("s3:PutObject"):
            self._put(key, content)

    def create(self, key: str, content: bytes) -> bool:
        """Write an object where there is none; False where there is one."""
        put = partial(self._put, key, content, IfNoneMatch="*")
        return self._unless(_TAKEN, "s3:PutObject", put) is not None

    def replace(self, key: str, content: bytes, tag: str) -> bool:
        """Write an object in the place of the one with this tag; False where another is there."""
        put = partial(self._put, key, content, IfMatch=tag)
        return self._unless(_TAKEN | _MISSING, "s3:PutObject", put) is not None

    def delete(self, keys: list[str]) -> None:
        """Delete objects one by one, in order: not every store knows how to delete several."""
        with self._translating_errors("s3:DeleteObject"):
            for key in keys:
                self._client.delete_object(Bucket=self._name, Key=key)

    def keeps_old_versions(self) -> bool | None:
        """Return True if the bucket keeps deleted objects; None if it does not say."""
        try:
            with self._translating_errors("s3:GetBucketVersioning"):
                answer = self._client.get_bucket_versioning(Bucket=self._name)
        except InputError:
            return None
        return "Status" in answer

    def delete_old_versions(self, prefix: str, keep: set[str]) -> None:
        """Delete for good what was deleted or overwritten below a prefix.

        Args:
            prefix: of the keys.
            keep: those of which the latest version stays.
        """
        with self._translating_errors("s3:ListBucketVersions, s3:DeleteObjectVersion"):
            pages = self._client.get_paginator("list_object_versions")
            for page in pages.paginate(Bucket=self._name, Prefix=prefix):
                for entry in [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]:
                    if not (entry["IsLatest"] and entry["Key"] in keep):
                        address = {"Key": entry["Key"], "VersionId": entry["VersionId"]}
                        self._client.delete_object(Bucket=self._name, **address)

    def refusal(self, rule: str) -> InputError:
        """Return an error about this place."""
        return InputError(f"{self._declared.uri}: {rule}")

    def unconditional(self) -> InputError:
        """Return the error of a store that ignores conditions of writes."""
        return self.refusal(CONDITIONS)

    def _put(self, key: str, content: bytes, **condition: str) -> bool:
        self._client.put_object(
            Bucket=self._name,
            Key=key,
            Body=content,
            Metadata={_SHA256: hashlib.sha256(content).hexdigest()},
            ChecksumAlgorithm="SHA256",
            **_headers(key),
            **condition,
        )
        return True

    def _unless(self, codes: set[str], right: str, do: Callable[[], T]) -> T | None:
        """Return the result of a call to the store, or None if it answers one of these codes."""
        from botocore.exceptions import ClientError

        with self._translating_errors(right):
            try:
                return do()
            except ClientError as error:
                if code_of(error) not in codes:
                    raise
                return None

    def _translating_errors(self, right: str) -> AbstractContextManager[None]:
        return translate_errors(self._declared, right)


def _headers(key: str) -> dict[str, str]:
    """Return an object's type and cache rule.

    It is fetched anew each time, for it may be withdrawn.
    """
    kind = _TYPES.get(PurePosixPath(key).suffix, "text/plain; charset=utf-8")
    return {"ContentType": kind, "CacheControl": "no-cache"}
