"""Prefect's flow of a release: from a source that nobody may see to a version for everybody."""

from sfumato.flows.runs.prefect_flow import prefect_flow
from sfumato.flows.runs.releasing import RELEASE

release = prefect_flow(RELEASE)
