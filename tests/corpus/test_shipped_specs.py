"""The shipped specs give, of a seeded draw, the very files that they always gave.

A line in the groups of another one gives them beside a seeded draw of that one. Those that are
shipped for one work directory can all be published into it.
"""

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.stages.anonymize import declaration
from sfumato.tasks.terms.tables import read_tables, write_tables
from tests.corpus.lines import CORPUS
from tests.lines import prepare, publish_prepared
from tests.report.html import Read

DEPLOYMENTS = Path(__file__).parents[2] / "deployments"
BESIDE = sorted((DEPLOYMENTS / "releases").glob("*.yaml"), key=lambda spec: spec.stem)
ALONE = sorted((DEPLOYMENTS / "examples").glob("*.yaml"))
FACTORS = DEPLOYMENTS / "examples" / "adult-suppressed-factors.yaml"
SPECS = [spec for spec in (*BESIDE, *ALONE) if spec != FACTORS]  # a solver may break ties otherwise
DIGESTS = Path(__file__).with_name("shipped.json")
FIRST = [
    path
    for path in sorted((CORPUS / "version-1").glob("*/*.yaml"))
    if path.stem in json.loads((CORPUS / "version-1" / "shipped.json").read_text())
]
WITH_INTERVALS = {"adult-capital-loss", "adult-capital-loss-aimed", "adult-occupation-anatomy"}
SEED = 20260101
WITH_A_LOSS = '"capital-loss" > 0'


@pytest.fixture(autouse=True)
def work(few_queries, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def publish_spec(spec: Path, folder: Path, **source: str):
    """A seeded version of a line in a folder of tests."""
    changes = {"publish": {"uri": str(folder / "public")}, "source": source}
    run = folder / spec.stem
    plan = prepare(spec, run, seeded_keys(SEED), Overrides.model_validate(changes))
    return publish_prepared(plan, run)


def drawn_digests(spec: Path, folder: Path) -> dict[str, str]:
    """The SHA-256 of every data file of a seeded candidate, as it is read back and made again."""
    if (other := read_spec(spec).groups) is not None:
        publish_spec(spec.with_stem(other), folder)
    prepare(spec, folder / "run", seeded_keys(SEED))
    candidate, again = folder / "run" / "candidate", folder / "again"
    declared, data = declaration(candidate), candidate / "release" / "data"
    write_tables(read_tables(declared, data), declared, again)
    files = sorted(again.iterdir())
    assert all((again / file.name).read_bytes() == file.read_bytes() for file in data.iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize("spec", SPECS, ids=[spec.stem for spec in SPECS])
def test_a_seeded_draw_has_not_changed(spec, tmp_path):
    assert drawn_digests(spec, tmp_path) == json.loads(DIGESTS.read_text())[spec.stem]
    declared = json.loads((tmp_path / "run" / "candidate" / "declared.json").read_text())
    stated = (declared.get("intervals") or {}).get("families", ())
    assert (len(stated) > 1) == (spec.stem in WITH_INTERVALS)


@pytest.mark.parametrize("spec", FIRST, ids=[spec.stem for spec in FIRST])
def test_a_spec_of_the_first_version_gives_what_it_gave(spec, tmp_path):
    """Those of which the second version makes something else; the others declare the same."""
    for name in ("data", "releases/hierarchies"):
        place = tmp_path / "specs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(DEPLOYMENTS / name)
    for file in FIRST:
        copy = tmp_path / "specs" / "releases" / file.name
        copy.write_bytes(file.read_bytes())
    digests = json.loads((CORPUS / "version-1" / "shipped.json").read_text())
    assert (
        drawn_digests(tmp_path / "specs" / "releases" / spec.name, tmp_path) == digests[spec.stem]
    )


def test_factors_suppress_few_cells_of_shipped_data(tmp_path):
    prepare(FACTORS, tmp_path / "run", seeded_keys(SEED))
    candidate = tmp_path / "run" / "candidate"
    facts = json.loads((candidate / "facts.json").read_text())
    assert facts["stars"] <= 1.25 * facts["lower_bound"]
    data = pq.read_table(candidate / "release" / "data" / "microdata.parquet")
    qi = read_spec(FACTORS).names_with_roles("quasi-identifier")
    counts = data.group_by(qi).aggregate([([], "count_all")])["count_all"]
    assert min(counts.to_pylist()) == 2


def test_every_entry_is_of_a_spec():
    assert json.loads(DIGESTS.read_text()).keys() == {spec.stem for spec in SPECS}


def test_all_that_share_a_work_directory_are_published_into_it(tmp_path):
    pages = {}
    for spec in BESIDE:
        published = publish_spec(spec, tmp_path, where=WITH_A_LOSS)
        assert published.together is not None
        pages[spec.stem] = Read(
            (published.directory / "index.html").read_text(encoding="utf-8")
        ).text
        accepted = read_spec(spec).across_lines == "accepted-risk"
        assert ("was counted" in pages[spec.stem]) == accepted
        assert published.together.composition.exposed.tells or not accepted
    sharing = {spec.stem for spec in BESIDE if read_spec(spec).groups}
    assert sharing == {"adult-capital-loss-tables", "adult-occupation-permuted"}
    with pytest.raises(PromiseError, match="1427 units are in line adult-capital-loss"):
        publish_spec(
            DEPLOYMENTS / "examples" / "adult-suppressed-5.yaml", tmp_path, where=WITH_A_LOSS
        )
