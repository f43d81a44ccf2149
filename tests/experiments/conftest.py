"""The flow of experiments as a function, without Prefect."""

from importlib import import_module
from inspect import unwrap

import pytest


@pytest.fixture
def plain_flow():
    """The flow as a plain function, without Prefect."""
    return unwrap(import_module("sfumato.flows.experiments").experiments.fn)
