"""Prefect's flow of a publication: an approved candidate becomes a version for everybody."""

from sfumato.flows.runs.prefect_flow import prefect_flow
from sfumato.flows.runs.publishing import PUBLISH

publish = prefect_flow(PUBLISH)
