"""The frozen lines: where they are, and one run of any of them."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sfumato.flows.overrides import Overrides, PublishOverrides, SourceOverrides
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.publication.publish import Published
from tests.lines import evaluate_prepared, prepare, publish_prepared

CORPUS = Path(__file__).parent
FORMATS = sorted(path.name for path in CORPUS.glob("format-*"))
VERSIONS = {"0001": "first", "0002": "second"}
CONTINUED = "third"
PASSPHRASE = "corpus"


@dataclass(frozen=True)
class FrozenLine:
    """A line of the corpus, or a copy of it that may be written to."""

    folder: Path  # of its format
    form: str

    @property
    def name(self) -> str:
        return f"corpus-{self.form}"

    @property
    def public(self) -> Path:
        return self.folder / "public" / self.name

    @property
    def private(self) -> Path:
        return self.folder / "private" / self.name

    @property
    def sources(self) -> str:
        """Where the sources are, from the specs: a format of evolving lines has its own."""
        return "sources" if (self.folder / "sources").exists() else "../sources"

    @property
    def references(self) -> tuple[Path, ...]:
        """The tables that promises about a population speak of, in their order."""
        spec = (self.folder / f"{self.form}.yaml").read_text(encoding="utf-8")
        named = (promise.get("reference") for promise in yaml.safe_load(spec)["promises"])
        return tuple(self.folder / name for name in named if name)

    @property
    def queries(self) -> list[str]:
        """The queries whose answers are frozen."""
        return json.loads((self.folder / "queries.json").read_text(encoding="utf-8"))[self.form]

    @property
    def answers(self) -> Mapping[str, list[Any]]:
        """By version, what `sfumato query` answered when the line was made."""
        path = self.folder / "answers" / f"{self.form}.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def copy(self, place: Path) -> "FrozenLine":
        """The line with its specs and sources where it may be written to."""
        shutil.copytree(CORPUS / "sources", place / "sources")
        shutil.copytree(self.folder, place / self.folder.name)
        private = place / self.folder.name / "private"  # a repository keeps no modes
        for directory in (private, *private.rglob("*")):
            directory.chmod(0o700 if directory.is_dir() else 0o600)
        return FrozenLine(place / self.folder.name, self.form)

    def run(self, source: str, place: Path, draw: Randomness) -> Published:
        """Publish a source, or find the version that stands; `$SFUMATO_WORK` is `private`."""
        overrides = Overrides(
            source=SourceOverrides(uri=f"{self.sources}/{source}.csv"),
            publish=PublishOverrides(uri="public"),
        )
        plan = prepare(self.folder / f"{self.form}.yaml", place, draw, overrides)
        published = publish_prepared(plan, place)
        if not published.existed:
            evaluate_prepared(plan, place, published.directory, draw)
        return published


def frozen_lines() -> list[FrozenLine]:
    """Every line of every format."""
    return [
        FrozenLine(CORPUS / name, spec.stem)
        for name in FORMATS
        for spec in sorted((CORPUS / name).glob("*.yaml"))
    ]
