"""Marginals beside ambiguous groups: published, judged with them, asked, and refused when wrong."""

import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.terms.opened import open_release
from tests.release.test_ambiguous import ALPHA_BETA, COVER, changes, workers


@pytest.fixture
def publish(small):
    def publish_with(marginals, alpha=1, partition=COVER, **more):
        form = {"method": "ambiguous", **({"marginals": marginals} if marginals else {})}
        promises = [{**ALPHA_BETA, "alpha": alpha}]
        small.write(workers(), **changes(partition, promises, form=form, **more))
        return small.publish("one").directory

    return publish_with


def test_counts_with_no_one_and_two_marginals(publish):
    directory = publish(["town", "age"])
    check(directory)
    print(answer(open_release(directory), "SELECT town, COUNT(*) FROM microdata GROUP BY town"))
