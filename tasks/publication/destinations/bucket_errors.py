"""What a store refuses, in a line of ours: its own words may quote keys and signatures."""

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.expectations.errors import Fault, InputError, SfumatoError, TransientFault
from sfumato.tasks.publication.destinations.declared import StoreDestination

CONDITIONS = (
    "the store does not know conditional writes (If-None-Match, If-Match), without which two "
    "writers could mix their versions: use a store that does"
)
_RULES = {
    "AccessDenied": "the keys may not do this there ({right})",
    "AllAccessDisabled": "the keys may not do this there ({right})",
    "InvalidAccessKeyId": "the store does not know the access key ({keys}_ACCESS_KEY_ID)",
    "SignatureDoesNotMatch": "the store refuses the secret key ({keys}_SECRET_ACCESS_KEY)",
    "ExpiredToken": "the session has ended ({keys}_SESSION_TOKEN)",
    "InvalidToken": "the store refuses the session ({keys}_SESSION_TOKEN)",
    "RequestTimeTooSkewed": "the clock of this machine is wrong",
    "NoSuchBucket": "there is no such bucket: make it first",
    "PermanentRedirect": "the bucket is in another region ({keys}_REGION)",
    "AuthorizationHeaderMalformed": "the bucket is in another region ({keys}_REGION)",
    "IllegalLocationConstraintException": "the bucket is in another region ({keys}_REGION)",
    "QuotaExceeded": "the store has no room left",
    "EntityTooLarge": "a file is larger than the store takes",
    "NotImplemented": CONDITIONS,
    "301": "the bucket is in another region ({keys}_REGION)",
    "403": "the keys may not do this there ({right})",
    "501": CONDITIONS,
}
_LONGEST = 64  # letters of a code that is shown
_BUSY = {"SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "500", "503"}


@contextmanager
def translate_errors(declared: StoreDestination, right: str) -> Iterator[None]:
    """Say what failed in a rule of ours.

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
        raise _ours(error, declared, right) from None


def code_of(error: BaseException) -> str | None:
    """The code of what a store answered, None where it did not."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return None
    return str(response.get("Error", {}).get("Code", "")) or None


def _ours(error: Exception, declared: StoreDestination, right: str) -> SfumatoError:
    code = code_of(error) or code_of(error.__context__ or error)  # of a transfer that failed
    if code is None or code in _BUSY:
        return TransientFault(
            f"{declared.uri}: the store cannot be reached, or broke off "
            f"({code or type(error).__name__}): the way to it is its endpoint, and HTTPS_PROXY"
        )
    rule = _RULES.get(code)
    if rule is None:
        known = code if code.isalnum() and len(code) < _LONGEST else "an unknown code"
        return Fault(f"{declared.uri}: the store refuses ({known})")
    return InputError(f"{declared.uri}: {rule.format(right=right, keys=declared.prefix)}")
