"""Values of a group that fall to nobody are drawn: a leaver's own are no likelier than any."""

import numpy as np
import pytest

from sfumato.tasks.forms.composed import composed_form
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.partition import Continued, Partition
from sfumato.tasks.private.people.slots import LIVE, VACANT
from tests.randomness.test_uniform import DRAWS, require_uniform, table

SIZE = 4


@pytest.mark.parametrize("leaver", range(SIZE))
def test_every_value_of_a_group_is_vacant_equally_often(leaver):
    rows = np.arange(DRAWS * SIZE)
    kind = np.where(rows % SIZE == leaver, VACANT, LIVE).astype(np.int8)
    partition = Partition(rows // SIZE, continued=Continued(kind, np.full(DRAWS, -1)))
    form, parameters = composed_form("permuted", DRAWS), PermutedParameters(method="permuted")
    tables = form.publish(table(person=rows, wage=rows), partition, parameters, seeded_keys(leaver))
    vacant = tables["vacant"]["wage"].to_numpy()
    assert len(np.unique(vacant // SIZE)) == DRAWS
    require_uniform((vacant % SIZE).tolist(), range(SIZE))


def test_every_pair_of_values_is_vacant_equally_often():
    rows = np.arange(DRAWS * SIZE)
    kind = np.where(rows % SIZE < 2, VACANT, LIVE).astype(np.int8)
    partition = Partition(rows // SIZE, continued=Continued(kind, np.full(DRAWS, -1)))
    form, parameters = composed_form("permuted", DRAWS), PermutedParameters(method="permuted")
    tables = form.publish(table(person=rows, wage=rows), partition, parameters, seeded_keys(9))
    values = np.sort(tables["vacant"]["wage"].to_numpy()).reshape(DRAWS, 2) % SIZE
    pairs = [(a, b) for a in range(SIZE) for b in range(a + 1, SIZE)]
    require_uniform([tuple(pair) for pair in values.tolist()], pairs)
