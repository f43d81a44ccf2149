"""A spec resolved against the places and the environment of this machine, ready to be run."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.spec import ReleaseSpec, read_spec
from sfumato.tasks.candidates.continued import LineContinuation
from sfumato.tasks.candidates.wished import frozen_terms
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.notation.address import local_path
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.backup import finish_restoring
from sfumato.tasks.private.references import NO_REFERENCES, References, refer
from sfumato.tasks.private.workdir import line_directory, require_apart, work_directory
from sfumato.tasks.terms.opened import PAGE
from sfumato.tasks.terms.people import Identifiers
from sfumato.tasks.terms.terms import Terms
from sfumato.tasks.verification.signing_keys import signing_key

_SEVERAL, _HOUSEHOLDS = ("repeat: all", "people"), ("household", "households")


@dataclass(frozen=True)
class ResolvedRun:
    """A run as its spec resolves it: the spec, its declaration and its places."""

    spec: ReleaseSpec
    terms: Terms
    base: Path
    line: Line
    others: bool = False
    references: References = NO_REFERENCES

    @property
    def continuing(self) -> LineContinuation | None:
        """The line and its rule of continuation, or None if its versions are not composed."""
        wish = self.spec.versions
        if not isinstance(wish, ContinuedVersions):
            return None
        return LineContinuation(self.line.private, wish.with_others() if self.others else wish)

    @property
    def unit(self) -> str | None:
        """The identifier of the person whom a row is about, or None if rows are people."""
        return next((name for name, column in self.spec.columns.items() if column.unit), None)

    @property
    def identifiers(self) -> Identifiers:
        """The identifiers that say whose the rows are."""
        return Identifiers(self.unit, self.spec.household)

    @property
    def wants_dossier(self) -> bool:
        """True if each version has a dossier: the spec asks for one, or has a policy."""
        return self.spec.dossier is not None or self.spec.policy is not None

    @property
    def withheld(self) -> tuple[str, ...]:
        """The columns that no published file may have."""
        unlisted = set(self.spec.source.seen) - set(self.spec.columns)
        return (*self.spec.names_with_roles("identifier", "drop"), *sorted(unlisted))

    def page_of(self, release: Path) -> str:
        """Return the address of a version's page: on the web if the spec gives one, or here."""
        served = self.spec.publish.page_url
        if served is None:
            return (release / PAGE).resolve().as_uri()
        return f"{served.rstrip('/')}/{quote(self.line.name)}/{release.name}/{PAGE}"

    @property
    def notices(self) -> tuple[str, ...]:
        """Limits of the line under its present spec, reported at every run."""
        messages = []
        if self.spec.unit == "row" and self.spec.versions == "disjoint":
            messages.append(
                "unit: row with versions: disjoint: nobody can be known again, so a changed source "
                "can never be released; where a column tells people apart, name it under columns: "
                "<column>: {role: identifier, unit: true}, in the place of unit: row"
            )
        if self.terms.has_related_rows:
            messages.append(
                "tables: who is in which group is not kept, so that each version must be about "
                "other people"
            )
        elif self.terms.over_people:
            key, whom = _HOUSEHOLDS if self.terms.households else _SEVERAL
            messages.append(
                f"{key}: promises are kept over rows, which anyone can verify, and "
                f"over {whom}, which only you can verify. Who is in which group is not "
                "kept, so the line can never use `versions: composed`"
            )
        elif self.spec.remember == "units":
            otherwise = ". To keep it, write `remember: map`" if self.spec.parts is None else ""
            messages.append(
                "remember: `units` does not keep who is in which group, so the line "
                f"can never use `versions: composed`{otherwise}"
            )
        return tuple(messages)


def resolve_run(path: Path, overrides: Overrides | None = None) -> ResolvedRun:
    """Read a spec and find the places it speaks of.

    Raises:
        SpecError: where the spec is wrong, or publishes into the private work directory.
        InputError: where a hierarchy of it cannot be read, or the work directory is not private.
    """
    spec = read_spec(path, overrides)
    base = path.absolute().parent
    place, work = local_path(spec.publish.uri, base, os.environ), work_directory(os.environ)
    require_apart(place, work)
    private = line_directory(work, spec.name)
    finish_restoring(private)
    key_name = spec.publish.signed_by
    key = None if key_name is None else signing_key(work, key_name)
    accepts = spec.across_lines == "accepted-risk"
    run = overrides or Overrides()
    line = Line(
        spec.name,
        place / spec.name,
        private,
        signing_key=key,
        people=spec.people,
        accepts_lines=accepts,
        as_of=run.as_of,
        groups=spec.groups,
        same_as=_same_as(spec),
        pinned=_pinned_file(spec),
        reviewers=spec.approval_wish.reviewers if spec.approval_wish else 0,
        bars=spec.attacks.kept_bars,
        window=spec.attacks.window,
        words=spec.words,
        rows_apart=spec.rows_apart,
        others=run.others,
        policy=_stated_policy(spec),
        two_tables=spec.related is not None,
    )
    terms = frozen_terms(spec.terms(base), private)
    return ResolvedRun(spec, terms, base, line, run.others)


def with_references(resolved: ResolvedRun, secret: bytes | None = None) -> ResolvedRun:
    """Return the run with keyed digests for the references of its promises, if it has any.

    Args:
        resolved: the run; one that has been through here stays as it is.
        secret: what digests are keyed by, in place of the line's key; that needs its passphrase.

    Raises:
        InputError: where a reference cannot be read.
    """
    if resolved.references.files:
        return resolved
    line, terms = resolved.line.private, resolved.terms
    promises, references = refer(terms.promises, resolved.base, lambda: secret or line_key(line))
    terms = terms.model_copy(update={"promises": promises}) if references.files else terms
    return replace(resolved, terms=terms, references=references)


def require_in_memory(resolved: ResolvedRun) -> ResolvedRun:
    """Return the run if it is about one table, which is held in memory as a whole.

    Raises:
        SpecError: where it is released in parts, or is about two related tables.
    """
    if resolved.spec.related is not None:
        raise SpecError(
            "tables: this command reads one table, and the spec has two related ones. Use release, "
            "plan, compare, attack, check or query, which read both"
        )
    return require_whole(resolved)


def require_whole(resolved: ResolvedRun) -> ResolvedRun:
    """Return the run if its table, or both of its tables, are held in memory as a whole.

    Raises:
        SpecError: where it is released in parts.
    """
    if resolved.terms.parts is not None:
        raise SpecError(
            "parts: this command reads the whole table into memory, and the spec makes "
            "a release in parts. Use release, plan (without --sweep), evaluate, "
            "attack, check, query or load, which work part by part"
        )
    return resolved


def _stated_policy(spec: ReleaseSpec) -> dict[str, Any] | None:
    """Return the questions of the spec's policy with people's answers, None without a policy."""
    if spec.policy is None:
        return None
    from sfumato.tasks.policies.policy import statements_of  # few specs have a policy

    return statements_of(spec.policy)


def _pinned_file(spec: ReleaseSpec) -> str | None:
    """Return the SHA-256 of the file whose row numbers are units, or None if there is none."""
    generated = any(column.generated is not None for column in spec.columns.values())
    return spec.source.sha256 if generated else None


def _same_as(spec: ReleaseSpec) -> dict[str, str]:
    """Return the columns that have another name in another line, with that name."""
    called = {name: column.same_as for name, column in spec.columns.items()}
    return {name: other for name, other in called.items() if other not in (None, name)}
