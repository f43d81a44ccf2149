"""The client of a bucket; credentials come from variables only, not from files or roles."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from sfumato.expectations.machine.packages import import_extra
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.destinations.bucket import Bucket
from sfumato.tasks.destinations.declared import StoreDestination

_PATIENCE, _SLOW = 10, 60  # seconds until connected, and without an answer
_ATTEMPTS = 3


@contextmanager
def open_bucket(
    declared: StoreDestination, name: str, environ: Mapping[str, str]
) -> Iterator[Bucket]:
    """Open a bucket, with keys that are variables of the environment.

    Raises:
        InputError: where keys are missing, or the endpoint is none.
    """
    boto3 = import_extra("boto3", "s3", declared.uri)
    key, secret = (environ.get(name) for name in declared.variables[-3:-1])
    if not (key and secret):
        names = " and ".join(declared.variables[-3:-1])
        otherwise = "or set both names with _BLOCK to the name of a Prefect Secret block"
        raise InputError(f"{declared.uri}: set {names}, {otherwise}")
    session = boto3.Session(
        botocore_session=_session_without_files(),
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        aws_session_token=environ.get(declared.variables[-1]) or None,
        region_name=_first(environ, declared, "REGION", "DEFAULT_REGION") or "us-east-1",
    )
    endpoint = declared.endpoint or _first(environ, declared, "ENDPOINT_URL_S3", "ENDPOINT_URL")
    try:
        client = session.client("s3", endpoint_url=endpoint, config=_config(endpoint))
    except ValueError:
        rule = "the store's endpoint is not an address. Write https://host:port"
        raise InputError(f"{declared.uri}: {rule}") from None
    try:
        yield Bucket(declared, name, client)
    finally:
        client.close()


def _first(environ: Mapping[str, str], declared: StoreDestination, *names: str) -> str | None:
    """Return the first of the destination's variables that is set."""
    values = (environ.get(f"{declared.prefix}_{name}") for name in names)
    return next(filter(None, values), None)


def _session_without_files() -> Any:
    """Return a session that knows no profile and reads no file of credentials."""
    import botocore.session

    file = (None, None, os.devnull, None)
    unset = {"config_file": file, "credentials_file": file, "profile": (None, None, None, None)}
    session = botocore.session.Session(session_vars=unset)
    session.register_component("data_loader", _models(session.get_config_variable("data_path")))
    return session


@cache
def _models(path: str | None) -> Any:
    """Return the loader of services' descriptions; parsing these takes longest of all."""
    from botocore.loaders import create_loader

    return create_loader(path)


def _config(endpoint: str | None) -> Any:
    from botocore.config import Config

    return Config(
        connect_timeout=_PATIENCE,
        read_timeout=_SLOW,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        signature_version="s3v4",
        s3={"addressing_style": "path" if endpoint else "auto"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        ignore_configured_endpoint_urls=True,
    )
