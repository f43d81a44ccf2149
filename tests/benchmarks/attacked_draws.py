"""A shipped spec published once from a seeded draw, and attacked with what stands beside it.

The register of linkage has the quasi-identifiers of everybody in the source, whether a spec
releases them or not. For composition the same people are drawn a second time, as a version that
nobody should publish, and who looks for them knows everybody's group in both.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.resolved import ResolvedRun
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.arrays.at_rest import read_stage_table
from sfumato.tasks.attacks.linking.composition import compose
from sfumato.tasks.attacks.linking.linkage import link
from sfumato.tasks.attacks.linking.register import read_register
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.candidates.remember import map_in
from sfumato.tasks.microdata.table import Microdata, load, seeded_keys
from sfumato.tasks.private.people.identity import represented_part
from sfumato.tasks.private.people.slots import from_table
from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.terms.people import WhoseRows
from sfumato.tasks.terms.tables import read_tables
from tests.lines import prepare, publish_prepared

REGISTER, TOGETHER = "register", "{} (drawn twice)"
"""What scores of linkage, and of two draws, stand under."""


def attack_spec(spec: Path, folder: Path) -> tuple[str, dict[str, list[Score]]]:
    """The form of a spec's release, and what attackers guess of it."""
    release, people = publish_spec(spec, folder)
    targets = targets_of_release(release, people)
    register = read_register(release.declared, _register(spec, release, folder))
    return release.declared.form.method, {
        **attack_release(targets),
        REGISTER: list(link(replace(targets[0], sensitive=""), register)),
        **_drawn_twice(spec, folder, targets),
    }


def publish_spec(spec: Path, folder: Path) -> tuple[Release, Microdata]:
    """A spec's release, from a seeded draw, and the rows that it represents."""
    if (other := read_spec(spec).groups) is not None:
        publish_prepared(*_prepare_run(spec.with_stem(other), folder, folder / other, 1))
    run = folder / spec.stem
    resolved, _ = _prepare_run(spec, folder, run, 1)
    release = open_release(publish_prepared(resolved, run).directory)
    original = load(run / "deidentified")
    return release, represented_part(resolved.line.private, release.directory.name, original)


def _prepare_run(spec: Path, folder: Path, run: Path, seed: int) -> tuple[ResolvedRun, Path]:
    """A judged candidate of a spec, ready to be published below a folder."""
    changes = Overrides.model_validate({"publish": {"uri": str(folder / "public")}})
    return prepare(spec, run, seeded_keys(seed), changes), run


def _register(spec: Path, release: Release, folder: Path) -> Path:
    """A file of the quasi-identifiers of everybody in the source who has all of them."""
    names, source = release.declared.names_with_roles("quasi-identifier"), read_spec(spec).source
    everybody = pq.read_table(spec.parent / source.uri, columns=names)
    pq.write_table(everybody.drop_null(), folder / "register.parquet")
    return folder / "register.parquet"


def _drawn_twice(
    spec: Path, folder: Path, targets: Sequence[AttackedRelease]
) -> dict[str, list[Score]]:
    """Return what a second draw from the same people tells, of groups that show values."""
    form = targets[0].declared.form
    if form.shows == "columns" or form.declares:
        return {}
    _, again = _prepare_run(spec, folder, folder / "again", 2)
    both = [_whose(run / "candidate") for run in (folder / spec.stem, again)]
    return {
        TOGETHER.format(target.sensitive): list(
            compose([replace(target, whose=whose) for whose in both])
        )
        for target in targets
    }


def _whose(candidate: Path) -> WhoseRows:
    """The group of each person of a candidate, by its private map."""
    slots = map_in(candidate)
    assert slots is not None, "a line with a unit remembers who stands where"
    slots_map = from_table(read_stage_table(slots), candidate)
    person = slots_map.key.view(np.int64).reshape(len(slots_map), -1)[:, 0]
    return WhoseRows(slots_map.group, replace(slots_map.rows, person=person))


def guess_values(release: Release, people: Microdata) -> dict[str, list[Score]]:
    """Return what attackers guess of a release, by sensitive column."""
    return attack_release(targets_of_release(release, people))


def targets_of_release(release: Release, people: Microdata) -> tuple[AttackedRelease, ...]:
    """A release as a target, once for each of its sensitive columns."""
    tables = read_tables(release.declared, release.directory / "data")
    digest = release.manifest["sfumato"]["digest"]
    return targets_of(release.declared, tables, people, digest=digest)
