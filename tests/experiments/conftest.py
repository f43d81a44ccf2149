"""The flow of experiments as a function, without Prefect."""

import pytest

from sfumato.flows.runs.experimenting import EXPERIMENTS


@pytest.fixture
def plain_flow():
    """The flow as a plain function, without Prefect."""
    return EXPERIMENTS.body
