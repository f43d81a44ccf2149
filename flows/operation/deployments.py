"""The deployments of release lines, one for each spec, as a `prefect.yaml` writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.spec import ReleaseSpec, read_spec

HEARTBEAT = 30  # seconds between a run's signs of life
_ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT),
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "SFUMATO_WORK": "{{ $SFUMATO_WORK }}",
}
_HEAD = """\
# The deployments of release lines, made by `sfumato deploy` from their specs: change those.
# The worker must find the same specs at the same place ($SFUMATO_ROOT).
"""


@dataclass(frozen=True)
class DeployedFlow:
    """A flow of which every line has a deployment, and the pool whose workers run it."""

    flow: str
    pool: str

    @property
    def entrypoint(self) -> str:
        """The path by which workers import the flow."""
        return f"sfumato.flows.{self.flow}:{self.flow}"


RELEASE = DeployedFlow("release", "sfumato")
PUBLISH = DeployedFlow("publish", "sfumato-publication")
"""Publication has its own pool: only its workers' user needs to write the public place."""
FLOWS = (RELEASE, PUBLISH)
LINE_TAG = "line:"
"""The prefix of a run's tag, before the name of its line."""


@dataclass(frozen=True)
class DeployedLine:
    """A line to be deployed.

    Attributes:
        spec: what is released.
        path: where the spec is, below the root of the deployments.
    """

    spec: ReleaseSpec
    path: Path

    @property
    def flows(self) -> tuple[DeployedFlow, ...]:
        """The flows that are deployed; publication is one of its own if the line is reviewed."""
        return FLOWS if self.spec.approval_wish else (RELEASE,)


def read_lines(paths: Sequence[Path], root: Path) -> list[DeployedLine]:
    """Return the lines of specs below a directory, and of all specs in directories of specs.

    Raises:
        SpecError: where a spec is wrong or elsewhere, there is none, or two are of one line.
    """
    files = [file for path in paths for file in _specs_at(path)]
    if not files:
        raise SpecError(
            f"{paths[0]}: has no spec (*.yaml). Name a directory with specs"
            if paths
            else "no spec is named. Write sfumato deploy SPEC"
        )
    lines = [DeployedLine(read_spec(file), _relative_path(file, root)) for file in files]
    names: dict[str, Path] = {}
    for line in lines:
        if names.setdefault(line.spec.name, line.path) != line.path:
            other = names[line.spec.name]
            raise SpecError(
                f"{line.path}: name: {line.spec.name} is also the line of {other}. Each "
                "spec needs its own name"
            )
    once = {line.path: line for line in lines}
    return sorted(once.values(), key=lambda line: line.spec.name)


def prefect_yaml(lines: Sequence[DeployedLine]) -> str:
    """Return the content of a `prefect.yaml` that deploys lines, as a text."""
    return _HEAD + yaml.safe_dump(document(lines), sort_keys=False, allow_unicode=True, width=100)


def document(lines: Sequence[DeployedLine]) -> dict[str, Any]:
    """Return the content of a `prefect.yaml` for lines, as a mapping.

    `SFUMATO_ROOT` and `SFUMATO_WORK` are filled in on the machine.
    """
    pull = {"prefect.deployments.steps.set_working_directory": {"directory": "{{ $SFUMATO_ROOT }}"}}
    return {
        "name": "sfumato",
        "pull": [pull],
        "deployments": [_deployment(line, flow) for line in lines for flow in line.flows],
    }


def tags_of(spec: ReleaseSpec, flow: DeployedFlow = RELEASE) -> list[str]:
    """Return the tags of a line's deployment and of its runs."""
    return [flow.flow, f"{LINE_TAG}{spec.name}", f"form:{spec.form.method}"]


def _deployment(line: DeployedLine, flow: DeployedFlow) -> dict[str, Any]:
    spec = line.spec
    schedule = spec.schedule if flow is RELEASE else None
    times = [] if schedule is None else [{**schedule.model_dump(), "active": True}]
    return {
        "name": spec.name,
        "description": spec.title,
        "tags": tags_of(spec, flow),
        "entrypoint": flow.entrypoint,
        "parameters": {"spec": line.path.as_posix()},
        "schedules": times,
        "concurrency_limit": {"limit": 1, "collision_strategy": "ENQUEUE"},
        "work_pool": {
            "name": flow.pool,
            "work_queue_name": "default",
            "job_variables": {"env": dict(_ENVIRONMENT)},
        },
    }


def _specs_at(path: Path) -> list[Path]:
    return sorted(path.glob("*.yaml")) if path.is_dir() else [path]


def _relative_path(file: Path, root: Path) -> Path:
    try:
        return file.resolve().relative_to(root.resolve())
    except ValueError:
        raise SpecError(
            f"{file}: is not below {root}. Name a directory above both (--root)"
        ) from None
