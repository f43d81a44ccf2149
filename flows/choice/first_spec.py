"""The first draft of a spec, from a source that nobody has declared."""

import csv
import io
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.expectations.shared.wording import readable
from sfumato.flows.inputs.documents import parse_yaml
from sfumato.flows.inputs.passphrases import source_secrets
from sfumato.flows.inputs.policies import find_policy, policy_names
from sfumato.flows.inputs.spec import json_schema, spec_of
from sfumato.tasks.microdata.notation.address import scheme_of
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.other_tools.registry import read_setup
from sfumato.tasks.other_tools.setup import ForeignSetup
from sfumato.tasks.policies.rule import NO_ADVICE
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.keys import PEOPLE
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.workdir import line_directory, require_apart, work_directory
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.profile.dialect import DraftOptions, is_guess
from sfumato.tasks.profile.draft import (
    PUBLISHED,
    SpecDraft,
    hierarchy_files,
    skeletons_of,
    spec_text,
)
from sfumato.tasks.profile.facts import facts_of
from sfumato.tasks.profile.foreign import (
    facts_of_setup,
    fit_setup,
    method_of_setup,
    options_of_setup,
    skeletons_of_setup,
    table_of_setup,
    unit_of_setup,
    with_roles,
    words_on_setup,
)
from sfumato.tasks.profile.page import write_profile
from sfumato.tasks.profile.policy import DraftPolicy
from sfumato.tasks.profile.roles import propose_roles
from sfumato.tasks.profile.skeletons import Rows
from sfumato.tasks.profile.table import FoundTable, find_table, read_source
from sfumato.tasks.profile.units import FoundUnit, chosen_unit, find_gaps, find_unit
from sfumato.tasks.stages.ingest import FETCHED
from sfumato.tasks.verification.signing_keys import KEYS

_LONGEST = 63
SPEC_MODE = 0o644
_PRIVATE_MODE = 0o600


@dataclass(frozen=True)
class WrittenSpec:
    """Files written for a steward.

    Attributes:
        spec: the draft.
        hierarchies: skeletons beside it.
        profile: the private page; None without data.
        undecided: the fault of the draft with confirmed roles, None if it has none.
        guess: the encoding of the source, where it is only likely.
        unnumbered: how many rows lack the number of a person, and what becomes of them; None for
            none.
        notes: what the steward should know of the way the source was read, in words.
        changes: what was taken over from another tool, in words.
        omissions: what was not taken over, and why.
        question: the command that asks a first question of a release; None if nobody needs it.
    """

    spec: Path
    hierarchies: tuple[Path, ...]
    profile: Path | None
    undecided: str | None
    guess: str | None
    unnumbered: str | None
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    omissions: tuple[str, ...] = ()
    question: str | None = None


def write_first_spec(
    address: str | None,
    place: Path | None,
    options: DraftOptions,
    environ: Mapping[str, str],
    *,
    policy: str | None = None,
    project: Path | None = None,
) -> WrittenSpec:
    """Read a source, and write the draft of a spec, its hierarchies, and the private profile.

    Args:
        address: of the source: a path, folder, pattern, store or database; None for a draft that
            comes from another tool's project alone.
        place: of the draft; `<name of the source>.yaml` here, without it.
        options: what is known of the source.
        environ: the environment.
        policy: a policy that the draft has to keep, by its name or a path; None for none.
        project: a file of another tool that the draft takes over; None for none.

    Raises:
        SpecError: where an address or a name is none, a file is there already, or the policy is
            wrong, or allows nothing that is proposed.
        InputError: where the source cannot be read, or its format cannot be inferred.
        TransientFault: where a database or a store cannot be reached.
    """
    name = stem_of(address or str(project))
    line = line_name(place.stem) if place is not None else line_of_source(name)
    spec = place or Path(f"{line}.yaml")
    require_new(spec)
    drafted_under = None if policy is None else policy_of_draft(policy, spec.absolute().parent)
    work = work_directory(environ)
    require_apart(spec.absolute().parent / PUBLISHED, work)
    setup = None if project is None else read_setup(project)
    if setup is not None:
        options = options_of_setup(setup, options)
    table = _find_columns(address, spec.absolute().parent, options, setup, environ)
    draft, setup = _draft(table, options, setup)
    draft = replace(draft, policy=drafted_under)
    title = line.replace("-", " ").capitalize()
    text = spec_text(draft, line, title)
    undecided = open_question(text, spec.absolute().parent)
    files = {spec.parent / name: rows for name, rows in hierarchy_files(draft, line).items()}
    for path in files:
        require_new(path)
    profile = None
    if draft.rows:
        profile = write_profile(draft, line_directory(work, line), title, str(spec))
    for path, rows in files.items():
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, _csv(rows), _PRIVATE_MODE)
    write_atomically(spec, text.encode(), SPEC_MODE)
    dialect = draft.table.source.csv
    return WrittenSpec(
        spec,
        tuple(files),
        profile,
        undecided,
        guess=dialect.encoding if is_guess(dialect, options) else None,
        unnumbered=_missing_numbers(draft),
        notes=(*table.notes, *notes_on_unfit(draft.table), *_notes_on_people(draft)),
        changes=() if setup is None else setup.changes,
        omissions=() if setup is None else tuple(map(str, setup.omissions)),
    )


def policy_of_draft(written: str, base: Path) -> DraftPolicy:
    """Return the policy of a draft, named as the spec in `base` has to name it."""
    file = find_policy(written)
    if file.policy.refused is not None:
        raise SpecError(f"--policy {written}: {file.policy.refused} {NO_ADVICE}")
    if written in policy_names():
        return DraftPolicy(written, file.policy)
    relative = os.path.relpath(written, base)
    return DraftPolicy(relative if "/" in relative else f"./{relative}", file.policy)


def _find_columns(
    address: str | None,
    base: Path,
    options: DraftOptions,
    setup: ForeignSetup | None,
    environ: Mapping[str, str],
) -> FoundTable:
    """Return the table at an address, or a table without rows that has a set-up's columns.

    Raises:
        SpecError: where there is neither.
    """
    if address is None:
        if setup is None:
            raise SpecError("there is neither a source nor a project. Name one of them")
        return table_of_setup(setup, options)
    source = read_source(relative_address(address, base), options)
    with source_secrets(source, environ), scratch_directory(environ) as scratch:
        return find_table(source, options, base, with_secrets(environ), scratch / FETCHED)


def _draft(
    table: FoundTable, options: DraftOptions, setup: ForeignSetup | None
) -> tuple[SpecDraft, ForeignSetup | None]:
    """Return the draft for a table, and the set-up as far as it fits the table."""
    if setup is None:
        return _draft_of_table(table, options), None
    has_rows = bool(table.microdata.rows)
    whole = facts_of(table.microdata, dict(table.types)) if has_rows else facts_of_setup(table)
    fitting = fit_setup(setup, whole, options)
    draft = _draft_of_table(table, with_roles(options, fitting))
    unit, fitting = unit_of_setup(fitting, draft.unit, draft.roles)
    draft = replace(
        draft,
        unit=unit,
        skeletons=skeletons_of_setup(fitting, draft.skeletons),
        beginning=words_on_setup(fitting),
        method=method_of_setup(fitting, draft.of_role("sensitive"), draft.rows),
        strata=fitting.strata,
        further_keys={name: column.keys for name, column in fitting.columns.items()},
    )
    return draft, fitting


def _draft_of_table(table: FoundTable, options: DraftOptions) -> SpecDraft:
    types = dict(table.types)
    has_rows = bool(table.microdata.rows)
    facts = whole = facts_of(table.microdata, types) if has_rows else facts_of_setup(table)
    unit = find_unit(facts) if options.unit is None else chosen_unit(options.unit, facts)
    if unit is not None and options.roles.get(unit.name, "identifier") != "identifier":
        unit = None
    rows = table.microdata.rows
    if unit is not None and (unit.repeats or unit.missing):
        microdata = _rows_of_people(table.microdata, unit)
        facts, rows = facts_of(microdata, types), microdata.rows
    roles = propose_roles(facts, unit, options)
    gaps = find_gaps(facts) if unit is None else None
    # Exact rows need no hierarchies.
    without = options.hide == "values" or not has_rows
    skeletons = {} if without else skeletons_of(facts, whole, roles)
    return SpecDraft(table, facts, rows, unit, gaps, roles, skeletons, options.hide, options.about)


def _rows_of_people(microdata: Microdata, unit: FoundUnit) -> Microdata:
    """Return the rows of people: all of them, or the first row of each who has several."""
    codes = microdata[unit.name].codes
    _, first = np.unique(codes, return_index=True)
    rows = np.sort(first) if unit.repeats else np.arange(len(codes))
    return microdata.take(rows[codes[rows] >= 0])


def _missing_numbers(draft: SpecDraft) -> str | None:
    """Return how many rows lack the number of a person, and what becomes of them."""
    if draft.unit is not None and draft.unit.missing:
        rows, name = _number_of_rows(draft.unit.missing), draft.unit.name
        return f"{rows} no {name!r}, and will be left out (nulls: drop-row)"
    if draft.gaps is not None:
        rows, name = _number_of_rows(draft.gaps.missing), draft.gaps.name
        return (
            f"{rows} no {name!r}, which is too many to identify people by it. So each "
            "row counts as a person (unit: row)"
        )
    return None


def notes_on_unfit(table: FoundTable) -> list[str]:
    """Return which column no release can show, with the reason, and the number of others."""
    unfit = table.unfit
    if not unfit:
        return []
    more = f", and {len(unfit) - 1} more" if len(unfit) > 1 else ""
    return [f"column {unfit[0].name!r} is dropped: {unfit[0].reason}{more}"]


def _notes_on_people(draft: SpecDraft) -> list[str]:
    """Return what a steward should know where rows seem to be no people."""
    name = draft.shared_identifier
    if name is None:
        return []
    return [
        (
            f"several rows have the same {name!r}. If it identifies people, draft again with "
            f"--unit {name}"
        )
    ]


def _number_of_rows(number: int) -> str:
    return "1 row has" if number == 1 else f"{number:,} rows have"


def open_question(text: str, base: Path) -> str | None:
    """Return why a draft would be refused even with confirmed roles, or None."""
    document = parse_yaml(text) | {"roles": "confirmed"}
    try:
        spec_of(document, base)
    except SpecError as error:
        return str(error)
    except ValidationError as error:
        return readable(error, document, json_schema())
    return None


def line_of_source(stem: str) -> str:
    """Return the name of a line for a source, which may be called like a directory beside lines."""
    return line_name(f"{stem}-data" if stem.lower() in (KEYS, PEOPLE) else stem)


def line_name(stem: str) -> str:
    """Return a text as the name of a line.

    Raises:
        SpecError: where it has no letter or digit, or names a directory beside lines.
    """
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST].strip("-")
    if not name or name in (KEYS, PEOPLE):
        why = ", because a directory beside lines has this name" if name else ""
        raise SpecError(
            f"{stem!r}: cannot be the name of a line{why}. Name the draft (--out NAME.yaml)"
        )
    return name


def stem_of(address: str) -> str:
    """Return the last part of an address, without endings and patterns."""
    last = re.sub(r"[?*\[\]].*$", "", address.rstrip("/").rpartition("/")[2])
    return last.split(".")[0] or "".join(address.rstrip("/").split("/")[-2:-1])


def relative_address(address: str, base: Path) -> str:
    """Return the address as a spec in `base` writes it; relative paths stay relative."""
    if scheme_of(address) is not None or Path(address).is_absolute() or address.startswith("${"):
        return address
    return os.path.relpath(address, base)


def require_new(path: Path) -> None:
    """Refuse a path at which there is something already, or in a directory that is missing."""
    if path.exists() or path.is_symlink():
        raise SpecError(
            f"{path}: exists already, and init overwrites no file. Choose another name "
            "(--out NAME.yaml)"
        )
    if path.parent != Path() and path.suffix == ".yaml" and not path.parent.is_dir():
        raise InputError(f"{path.parent}: the directory does not exist. Make it first")


def _csv(rows: Rows) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
