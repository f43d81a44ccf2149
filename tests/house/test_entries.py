"""Registries import their entries when they are named: all lead somewhere, and none points back."""

import tomllib
from importlib import import_module

import pytest

from sfumato.expectations.shared.registered import Entries
from tests.house.survey import ROOT, entries, graph


def test_every_entry_is_there():
    for entry in entries():
        module = import_module(entry.module)
        assert not entry.attribute or hasattr(module, entry.attribute), entry


def test_there_are_registries_of_every_kind():
    assert len({entry.registry for entry in entries()}) >= 20


def test_no_entry_points_back():
    """The contract of layers inside `tasks`, with the arrows that the linter does not see."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [
        contract
        for contract in content["tool"]["importlinter"]["contracts"]
        if "containers" in contract
    ]
    layers = [set(line.split(" | ")) for line in contract["layers"]]
    dependencies = graph().find_illegal_dependencies_for_layers(
        layers=layers, containers=set(contract["containers"])
    )
    assert {(dependency.importer, dependency.imported) for dependency in dependencies} == set()


class TestEntries:
    """Entries of a registry, as it imports and lists them."""

    @pytest.fixture
    def numbers(self):
        """A registry of two, one of them a module."""
        return Entries("collections", {"mapping": "abc:Mapping", "all": "abc"})

    def test_an_entry_is_an_attribute_or_a_module(self, numbers):
        import collections.abc

        assert numbers["mapping"] is collections.abc.Mapping
        assert numbers["all"] is collections.abc

    def test_nothing_is_imported_before_an_entry_is_named(self):
        registry = Entries("tests.house", {"missing": "nowhere:Nothing"})
        assert list(registry) == ["missing"]
        assert "missing" in registry
        assert len(registry) == 1
        with pytest.raises(ModuleNotFoundError):
            registry["missing"]

    def test_an_unknown_name_is_in_none(self, numbers):
        assert "nobody" not in numbers
        assert numbers.get("nobody") is None
        with pytest.raises(KeyError):
            numbers["nobody"]

    def test_entries_are_added_replaced_and_taken_away(self, numbers):
        numbers["three"] = numbers["all"] = 3
        assert dict(numbers.items()) == {"mapping": numbers["mapping"], "all": 3, "three": 3}
        del numbers["three"]
        assert list(numbers) == ["mapping", "all"]
