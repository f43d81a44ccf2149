"""A shell in which the commands of a page are run, each finding what those before it left."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fork_server import ROOT, ForkServer
from tests.guide.page import Told


@dataclass(frozen=True)
class Ran:
    """The end of a command, and what it printed."""

    told: Told
    code: int
    printed: str


@dataclass(frozen=True)
class PageShell:
    """A folder of its own, and the environment of commands there."""

    folder: Path
    environ: Mapping[str, str]

    @classmethod
    def prepare(cls, folder: Path, forks: ForkServer, variables: Mapping[str, str]) -> "PageShell":
        """Make `sfumato` a command of the folder's, which the fork server runs."""
        for name in ("bin", "home"):
            (folder / name).mkdir(mode=0o700)
        script = folder / "bin" / "sfumato"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.guide.sfumato "$@"\n')
        script.chmod(0o700)
        environment = {name: v for name, v in os.environ.items() if not name.startswith("PREFECT_")}
        homes = {f"XDG_{name}_HOME": str(folder / name) for name in ("CONFIG", "CACHE")}
        own = {"HOME": str(folder / "home"), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        own |= {"PYTHONPATH": str(ROOT), "GUIDE_FORKS": str(forks.address)}
        return cls(folder, environment | homes | own | dict(variables))

    def run(
        self, page: Mapping[str, list[Told]], place: Path, before: Mapping[Told, str]
    ) -> dict[str, list[Ran]]:
        """Run the commands of sections in one shell that starts in a place."""
        script, ended, printed = [], self.folder / "ended", self.folder / "printed"
        printed.mkdir()
        commands_of_page = [command for section in page.values() for command in section]
        for number, command in enumerate(commands_of_page):
            script += [
                before.get(command, ":"),
                "{",
                command.command,
                f"}} > {printed / str(number)} 2>&1",
            ]
            script.append(f"echo $? >> {ended}")
        subprocess.run(["bash", "-c", "\n".join(script)], env=self.environ, cwd=place, timeout=600)
        codes = map(int, ended.read_text().split())
        texts = ((printed / str(number)).read_text() for number in range(len(commands_of_page)))
        ran = iter([Ran(*parts) for parts in zip(commands_of_page, codes, texts, strict=True)])
        return {heading: [next(ran) for _ in section] for heading, section in page.items()}


def assert_ended_as_told(ran: list[Ran]) -> None:
    """Each command ended with the code that the page says, and printed what it says.

    How wide columns are may depend on figures that chance has drawn.
    """
    for result in ran:
        assert result.code == result.told.code, f"{result.told.command}\n{result.printed}"
        printed = _without_widths(result.printed)
        for part in result.told.prints:
            assert _without_widths(part) in printed, f"{result.told.command}\n{result.printed}"


def _without_widths(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines())
