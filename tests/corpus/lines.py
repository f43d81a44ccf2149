"""The frozen lines: where they are, and one run of any of them."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
import yaml

from sfumato.flows.inputs.overrides import Overrides, PublishOverrides, SourceOverrides
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.publication.publish import Published
from tests.corpus.archives import unpack_archives
from tests.lines import anonymize, deidentify, evaluate_prepared, publish_prepared, standing
from tests.parts.divided import publish_in_parts

CORPUS = unpack_archives()
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
        """Return the place of the sources, from the specs: evolving lines have their own."""
        return "sources" if (self.folder / "sources").exists() else "../sources"

    @property
    def spec(self) -> Path:
        return self.folder / f"{self.form}.yaml"

    @property
    def _document(self) -> dict[str, Any]:
        return yaml.safe_load(self.spec.read_text(encoding="utf-8"))

    @property
    def in_parts(self) -> bool:
        return "parts" in self._document

    @property
    def references(self) -> tuple[Path, ...]:
        """The tables that promises about a population speak of, in their order."""
        named = (promise.get("reference") for promise in self._document["promises"])
        return tuple(self.folder / name for name in named if name)

    def directories(self, number: str) -> list[Path]:
        """Return the places of a version's tables: in it, or in each of its parts."""
        version = self.public / number
        return sorted((version / "parts").iterdir()) if self.in_parts else [version]

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

    def run(
        self, source: str, place: Path, draw: Randomness, as_of: date | None = None
    ) -> Published:
        """Publish a source, or find the version that stands; `$SFUMATO_WORK` is `private`."""
        tables = self._document.get("tables") or {"": self._document}
        file = Path(next(iter(tables.values()))["source"]["uri"]).with_stem(source).name
        overrides = Overrides(
            source=SourceOverrides(uri=f"{self.sources}/{file}"),
            publish=PublishOverrides(uri="public"),
            as_of=as_of,
        )
        if self.in_parts:
            place.mkdir(parents=True, mode=0o700)
            return publish_in_parts(resolve_run(self.spec, overrides), place, draw)
        plan, deidentified = deidentify(self.spec, place, overrides)
        if (version := standing(plan, deidentified)) is not None:
            return version
        plan = anonymize(plan, deidentified, place, draw)
        published = publish_prepared(plan, place)
        evaluate_prepared(plan, place, published.directory, draw)
        return published


def frozen_lines() -> list[FrozenLine]:
    """Every line of every format."""
    return [
        FrozenLine(CORPUS / name, spec.stem)
        for name in FORMATS
        for spec in sorted((CORPUS / name).glob("*.yaml"))
    ]


def each_frozen_line():
    """Mark a module whose tests are each about a `line`: every one of them."""
    lines = frozen_lines()
    names = [f"{line.folder.name}-{line.form}" for line in lines]
    return pytest.mark.parametrize("line", lines, ids=names)


def under_names(answer: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """An answer of then under the names that its columns have today: as they were typed."""
    rows = [dict(zip(columns, row.values(), strict=True)) for row in answer["rows"]]
    return {**answer, "columns": list(columns), "rows": rows}


def as_told(value: Any, *, changed: bool = False) -> Any:
    """An answer of then: bounds to the last bit, and estimates, which are sums of floats.

    Where none was told, as of extremes, one may be told today. Of two related tables, estimates of
    counts of people passed over the most rows of one person before they followed from all worlds:
    today's are anywhere within the bounds.
    """
    if isinstance(value, list):
        return [as_told(item, changed=changed) for item in value]
    if not isinstance(value, dict):
        return value
    of_two = value.get("form") == "apart"
    fields = {
        name: as_told(
            item, changed=of_two or (changed and not name.casefold().startswith(("sum", "avg")))
        )
        for name, item in value.items()
    }
    if isinstance(fields.get("estimate"), float):
        low, high = (float(fields[end]) for end in ("lower", "upper"))
        within = pytest.approx((low + high) / 2, abs=(high - low) / 2)
        fields["estimate"] = within if changed else pytest.approx(fields["estimate"], rel=1e-12)
    elif fields.get("estimate", 0) is None:
        fields["estimate"] = ANY
    return fields
