"""The machine of the guide's test: two lines with sources, a reviewer, and a shell."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate

from sfumato.flows.life.lines import back_up
from sfumato.tasks.approval.reviewers import trust_reviewer
from sfumato.tasks.verification.signing_keys import PASSPHRASE, generate
from tests.fork_server import ROOT, ForkServer
from tests.guide.page import Told
from tests.guide.shell import PageShell, Ran
from tests.release.small import Small, people

POOLS = ("sfumato", "sfumato-publication")
ERASED = "IDENT-10"
LOST = "The machine is lost"


@dataclass
class GuideMachine:
    """The folder, users and files that the page's variables name."""

    folder: Path
    shell: PageShell | None = None

    @property
    def places(self) -> dict[str, Path]:
        names = {"SFUMATO_WORK": "work", "SPECS": "specs", "PUBLIC": "public", "SAFE": "safe"}
        return {name: self.folder / place for name, place in (names | {"ANN": "ann"}).items()}

    @property
    def work(self) -> Path:
        return self.places["SFUMATO_WORK"]

    @property
    def variables(self) -> dict[str, str]:
        """Those of the page, and homes apart."""
        homes = {f"XDG_{name}_HOME": str(self.folder / name) for name in ("CONFIG", "CACHE")}
        own = {PASSPHRASE: "only a test's", "HOME": str(self.folder / "home"), **homes}
        return {name: str(place) for name, place in self.places.items()} | own

    def prepare(self, forks: ForkServer, api: str) -> "GuideMachine":
        """Write lines and sources, publish a version of one, and register a reviewer and workers.

        Every place but that of the reviewer is made; the pools are those of `sfumato deploy`.
        """
        for place in self.places.values():
            place.mkdir(mode=0o700)
        variables = self.variables | {"PREFECT_API_URL": api}
        self.shell = PageShell.prepare(self.folder, forks, variables)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.variables.items():
                patch.setenv(name, value)
            self._prepare_lines()
        with get_client(sync_client=True) as client:
            for pool in POOLS:
                client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
                client.send_worker_heartbeat(pool, "guide", heartbeat_interval_seconds=600)
        return self

    def _prepare_lines(self) -> None:
        specs, public = self.places["SPECS"], str(self.places["PUBLIC"])
        first, newcomers = people(), people(first=100, rows=9, seed=3)
        second = first[5:] + newcomers
        last = [row for row in second[:-3] if row["person"] != ERASED]
        generate(self.work, "publisher-2026")
        composed = {"versions": "composed", "people": "town", "evaluate": {}}
        line = Small(specs).write(
            first, **composed, publish={"uri": public, "signed-by": "publisher-2026"}
        )
        line.publish("one")
        back_up(line.spec, self.places["SAFE"] / "wages-2026-05.backup")
        months = {"2026-05": first, "2026-06": second, "2026-06-corrected": second[:-3]}
        for month, rows in (months | {"2026-07": last}).items():
            Small(specs).write(rows, **composed)
            (specs / "people.csv").rename(specs / f"{month}.csv")
        line.write(first, **composed, publish={"uri": public, "signed-by": "publisher-2026"})
        other = people(first=5000)
        claims = {
            "name": "claims",
            "people": "insured",
            "approval": {"reviewers": 1},
            "evaluate": {},
        }
        content = line.spec.read_bytes()
        source = {"uri": "claims.csv", "where": "age > 18"}
        line.write(other, **claims, source=source, publish={"uri": public})
        (specs / "people.csv").rename(specs / "claims.csv")
        line.spec.rename(specs / "claims.yaml")
        line.spec.write_bytes(content)
        (specs / "2026-05.csv").rename(specs / "people.csv")
        (specs / "2026-05.csv").symlink_to(specs / "people.csv")
        trust_reviewer(generate(self.places["ANN"], "ann"), "claims", os.environ)

    def run(self, page: Mapping[str, list[Told]]) -> dict[str, list[Ran]]:
        """Run the commands of sections in one shell: each finds what those before it left."""
        assert self.shell is not None, "prepare comes first"
        before = {page[LOST][0]: f"mv {self.work} {self.folder / 'lost'}"}
        return self.shell.run(page, ROOT, before)
