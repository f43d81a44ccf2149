"""Policies as files, by name or by path, and the statements that they ask of people."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.wording import readable
from sfumato.flows.inputs.documents import read_yaml
from sfumato.tasks.policies.policy import (
    ChosenPolicy,
    Policy,
    PolicyFile,
    PolicyQuestion,
    PolicyWish,
)
from sfumato.tasks.policies.rule import NO_ADVICE
from sfumato.tasks.schema.files import sha256_of

POLICIES = Path(__file__).parents[2] / "deployments" / "policies"
"""The folder of Sfumato's own policies."""
_ENDING = ".yaml"
_KEY = "policy"


@cache
def policy_names() -> tuple[str, ...]:
    """Return the names of Sfumato's own policies, in order."""
    return tuple(sorted(path.stem for path in POLICIES.glob(f"*{_ENDING}")))


def all_policies() -> Iterator[PolicyFile]:
    """Yield Sfumato's own policies, in the order of their names."""
    yield from map(find_policy, policy_names())


def find_policy(written: str, base: Path | None = None) -> PolicyFile:
    """Return a policy by its name, or by the path of a file.

    Args:
        written: a name such as `ema-0070`, or a path with an ending or a slash.
        base: the directory that paths are relative to; the current one by default.

    Raises:
        SpecError: where there is no such policy, or its file is wrong.
    """
    if _is_path(written):
        return _own_policy(written, base or Path())
    if written not in policy_names():
        near = get_close_matches(written, policy_names(), 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise SpecError(
            f"policy: there is no policy {written!r}{hint} Write one of "
            f"{', '.join(policy_names())}, or the path of a file of yours (./house.yaml)"
        )
    return _shipped_policy(written)


def read_chosen(document: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Return a spec with the file of its policy, if it names one; otherwise the spec itself.

    A policy that is wrong by itself stays as it is, for the spec's own rules to refuse.

    Args:
        document: the spec as it is written.
        base: the directory of the spec.

    Raises:
        SpecError: where there is no such policy, its file is wrong, or it is known and refused.
    """
    written = document.get(_KEY)
    if written is None:
        return dict(document)
    keys = {"name": written} if isinstance(written, str) else written
    try:
        wish = PolicyWish.model_validate(keys)
    except ValidationError:
        return {**document, _KEY: keys}
    file = find_policy(wish.name, base)
    if file.policy.refused is not None:
        raise SpecError(
            f"policy: {file.policy.policy} is known, and no release can be made under it. "
            f"{file.policy.refused} {NO_ADVICE}"
        )
    own = {name: getattr(wish, name) for name in PolicyWish.model_fields}
    return {**document, _KEY: ChosenPolicy(**own, file=file)}


def _is_path(written: str) -> bool:
    return "/" in written or written.endswith((_ENDING, ".yml"))


@cache
def _shipped_policy(name: str) -> PolicyFile:
    path = POLICIES / f"{name}{_ENDING}"
    return _read(path, name)


def _own_policy(written: str, base: Path) -> PolicyFile:
    """Read a steward's own policy, whose name may not be one of Sfumato's.

    Raises:
        SpecError: where it cannot be read, is wrong, or takes the name of another policy.
    """
    path = base / Path(written).expanduser()
    file = _read(path, written)
    name = file.policy.policy
    if name in policy_names() and file.sha256 != _shipped_policy(name).sha256:
        raise SpecError(
            f"{path}: policy: {name} is the name of a policy of Sfumato's, and this file is "
            f"another one. Give it a name of its own, such as `policy: {name}-house`"
        )
    return file


def _read(path: Path, place: str) -> PolicyFile:
    document = read_yaml(path)
    try:
        policy = Policy.model_validate(document)
    except ValidationError as error:
        raise SpecError(f"{path}: {readable(error, document, _schema())}") from None
    return PolicyFile(policy=policy, sha256=sha256_of(path), place=place)


@cache
def _schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy's file."""
    return TypeAdapter(Policy).json_schema(by_alias=True)


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy's file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_schema()}


def missing_statements(wish: PolicyWish | None) -> list[PolicyQuestion]:
    """Return what the policy of a spec asks, and nobody has answered; none without a policy."""
    return wish.missing_statements() if isinstance(wish, ChosenPolicy) else []


def require_statements(wish: PolicyWish | None, spec: Path) -> None:
    """Make sure that people answered everything that the policy of a spec asks.

    Args:
        wish: the policy of the spec, None without one.
        spec: the file of the spec, for the message.

    Raises:
        SpecError: with what is missing, and how to write it.
    """
    missing = missing_statements(wish)
    if not missing or not isinstance(wish, ChosenPolicy):
        return
    names = [statement.name for statement in missing]
    things = "1 thing" if len(missing) == 1 else f"{len(missing)} things"
    raise SpecError(
        f"{spec}: policy: {wish.policy.policy} asks a person {things} that no machine can decide. "
        f"The spec has no answer to {', '.join(names)}. Read the questions (sfumato policies "
        f"explain {spec}), and write the answers: `{to_write(wish, missing)}`. They stay in "
        f"private. {NO_ADVICE}"
    )


def to_write(wish: ChosenPolicy, missing: Sequence[PolicyQuestion]) -> str:
    """Return the line of a spec in which the answers are written."""
    answers = ", ".join(f"{statement.name}: ANSWER" for statement in missing)
    return f"policy: {{name: {wish.name}, states: {{{answers}}}}}"
