"""Laws of every partition, whatever it promises: one suite for every entry of the registry.

A partition is known to the suite by a `PartitionCase`: its parameters, promises that it can keep,
and a table on which it does.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, key, seeded_keys
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from tests.laws.tables import table_of_people


@dataclass(frozen=True, eq=False)
class PartitionCase:
    """A partition as the laws try it; `beside` are promises of which it reads nothing."""

    parameters: PartitionParameters
    promises: Sequence[PrivacyModel]
    beside: Sequence[PrivacyModel]
    strata: Sequence[str] = ("born",)

    def make(self, microdata: Microdata, strata: Sequence[str], seed: int = 1) -> Partition:
        """The partition of a table."""
        make = PARTITIONS[self.parameters.method]
        return make(
            microdata, list(strata), list(self.promises), self.parameters, seeded_keys(seed)
        )


def people(number: int) -> Microdata:
    """People of a few towns."""
    return table_of_people(np.random.default_rng(number), 48)


@cache
def partition_of_people(case: PartitionCase, number: int) -> Partition:
    """Their partition without strata, made once for all laws that only look at it."""
    return case.make(people(number), [])


class LawsOfPeople:
    """Three tables of people, of which laws are tried."""

    @pytest.fixture(params=range(3))
    def number(self, request: Any) -> int:
        """Of the people."""
        people_number: int = request.param
        return people_number

    @pytest.fixture
    def microdata(self, number: int) -> Microdata:
        """People of a few towns."""
        return people(number)


class PartitionLaws(LawsOfPeople):
    """Subclasses give the `case`."""

    @pytest.fixture
    def partition(self, case: PartitionCase, number: int) -> Partition:
        """Their partition."""
        return partition_of_people(case, number)

    def test_its_parameters_are_registered_under_its_name(self, case):
        kind = PARTITION_PARAMETERS[case.parameters.method]
        assert isinstance(case.parameters, kind)
        assert kind.model_validate(case.parameters.model_dump(by_alias=True)) == case.parameters

    def test_every_row_has_a_dense_group_or_may_be_suppressed(self, case, microdata, partition):
        group = partition.group
        assert (group.shape, group.dtype) == ((microdata.rows,), np.int64)
        assert set(group.tolist()) - {-1} == set(range(int(group.max()) + 1))
        assert case.parameters.may_suppress or not partition.suppressed
        assert partition.suppressed == np.count_nonzero(group == -1)

    def test_groups_keep_to_their_stratum(self, case, microdata):
        group = case.make(microdata, case.strata).group
        stratum, _ = key([microdata[name] for name in case.strata], microdata.rows)
        for number in range(int(group.max()) + 1):
            assert len(set(stratum[group == number].tolist())) == 1

    def test_the_table_is_left_as_it_is(self, case, microdata):
        before = pickle.dumps(microdata)
        case.make(microdata, [])
        assert pickle.dumps(microdata) == before

    def test_the_same_keys_give_the_same_groups(self, case, microdata, partition):
        first, again = partition, case.make(microdata, [])
        assert np.array_equal(first.group, again.group)
        assert first.facts == again.facts
        assert list(first.recoding) == list(again.recoding)

    def test_recoding_says_a_level_of_each_group(self, microdata, partition):
        groups = int(partition.group.max()) + 1
        for name, level in partition.recoding.items():
            assert len(level) == groups
            assert set(level.tolist()) <= set(range(len(microdata[name].levels())))

    def test_targets_are_given_where_they_are_declared(self, case, partition):
        targets = partition.target_distributions
        assert (targets is not None) == case.parameters.gives_targets

    def test_it_refuses_what_it_cannot_read(self, case, microdata):
        needs = case.parameters.needs
        if needs is None:
            return
        assert any(isinstance(promise, needs.models) for promise in case.promises)
        with pytest.raises(PromiseError, match=r"needs an? .* to read"):
            replace(case, promises=case.beside).make(microdata, [])
