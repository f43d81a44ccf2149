"""Every example in a docstring is true."""

import doctest
import importlib
import pkgutil

import pytest

import sfumato.expectations
import sfumato.flows
import sfumato.tasks

ROOTS = (sfumato.expectations, sfumato.flows, sfumato.tasks)
MODULES = [
    module.name
    for root in ROOTS
    for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    examples = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES]
    assert sum(bool(test.examples) for tests in examples for test in tests) > 30
