"""After any sequence of what may happen, a delivery that ends well leaves a copy as the line is."""

import random

import pytest

from sfumato.tasks.destinations.bucket import Bucket
from sfumato.tasks.destinations.registry import DESTINATIONS
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.publication.amendments import describe
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.sql.target import TargetDatabase
from tests.destinations.dying import kill_delivery
from tests.destinations.places import bring
from tests.release.small import Small, people
from tests.sources.simulator import SECRET

KILLED_IN = {
    "store": (Bucket, ("send", "write", "create", "replace", "delete"), 25),
    "database": (TargetDatabase, ("execute", "end"), 60),
}
pytestmark = pytest.mark.filterwarnings("default")


class Sequence:
    """A line and its copy, to which things happen at random."""

    def __init__(self, line, place, seed):
        self.line, self.place, self.random = line, place, random.Random(seed)
        self.small, self.number = Small(line.public.parents[1]), 0

    def publish(self):
        self.number += 1
        first = 10_000 * self.number + self.random.randrange(1000)
        rows = people(first=first, rows=24, seed=self.random.randrange(10**6))
        self.small.write(rows).publish(f"sequence-{self.number}")

    def withdraw(self):
        versions = read_record(self.line.public).versions
        number = self.random.choice(sorted(versions))
        withdraw(self.line, number, "the wrong table")

    def describe(self):
        describe(self.line, {"description": f"for the {self.random.randrange(1000)}th time"})

    def deliver(self):
        assert bring(self.line, self.place).behind is None

    def fail(self):
        """Deliver where nobody answers."""
        environ_before, self.place.environ = self.place.environ, {}
        declared = self.place.declared
        if self.place.kind == "database":
            address = declared.uri.replace("host=", "host=%2Fnowhere")
            self.place.declared = declared.model_copy(update={"uri": address})
        delivery = bring(self.line, self.place)
        assert delivery.behind is not None
        assert SECRET not in delivery.behind
        self.place.environ, self.place.declared = environ_before, declared

    def die(self):
        owner, names, most = KILLED_IN[self.place.kind]
        kill_delivery(self.line, self.place, self.random.randrange(most), owner, names)

    def run(self, length):
        steps = [self.publish, self.withdraw, self.describe, self.deliver, self.fail, self.die]
        for step in self.random.choices(steps, weights=[3, 2, 1, 2, 1, 4], k=length):
            step()


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        pytest.param(kind, seed, marks=[pytest.mark.postgres] if kind == "database" else [])
        for kind in DESTINATIONS
        for seed in range(6)
    ],
)
def test_the_copy_is_as_the_line_is(with_versions, request, kind, seed):
    place = request.getfixturevalue(kind)
    line = with_versions(1)
    Sequence(line, place, seed).run(8)
    assert bring(line, place).behind is None
    place.require_as(line)
