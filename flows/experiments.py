"""Prefect's flow of experiments: the papers' figures and tables, measured again."""

from sfumato.flows.runs.experimenting import EXPERIMENTS
from sfumato.flows.runs.prefect_flow import prefect_flow

experiments = prefect_flow(EXPERIMENTS)
