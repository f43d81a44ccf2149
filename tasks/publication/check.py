"""Checks that a published release keeps its promises, using only its files.

Everything in a release except its tables and its declaration is a function of those two. So a check
reads both back strictly, measures every promise again, makes all other files again elsewhere, and
compares them byte by byte. If other software made the release, it compares the contents of files.
A promise that cannot be verified counts as broken.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import InputError, PromiseError, SfumatoError
from sfumato.tasks.attacks.declared import JUDGED
from sfumato.tasks.forms.codes import with_published_codes, with_published_leaves
from sfumato.tasks.forms.composed import VACANCIES
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.optional import fakes
from sfumato.tasks.private.references import (
    KEYED_DIGEST,
    NO_REFERENCES,
    References,
    given_references,
)
from sfumato.tasks.publication.files import page_beside, write_release
from sfumato.tasks.publication.made_again import Checked, compare_made_again
from sfumato.tasks.publication.manifest import (
    manifest,
    require_counts,
    require_declaration,
    require_related,
)
from sfumato.tasks.publication.parts import findings_of, observations_of, rule_findings_of_whole
from sfumato.tasks.query.intervals.shapes import fault_of_stated
from sfumato.tasks.schema.codings import fault_of_codings
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.files import UnfitFileError, is_there, read_canonical
from sfumato.tasks.schema.formats import other_software, require_readable
from sfumato.tasks.schema.hierarchy import Hierarchy
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes, column_of
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.terms.assessment import Assessment, assess
from sfumato.tasks.terms.opened import (
    MANIFEST,
    SIGNATURE,
    Release,
    open_release,
    require_release,
)
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.stated_promises import with_statements
from sfumato.tasks.terms.tables import form_of, read_tables, require_usual_values
from sfumato.tasks.terms.terms import Declared, LineName, Terms, Title, Word
from sfumato.tasks.verification.integrity import digest, require_listed, require_regular_files
from sfumato.tasks.verification.limits import ReadLimits, extent_within

_TYPES_OF_RULES: Mapping[type, ColumnType] = {
    Intervals: "integer",
    Dates: "date",
    Prefixes: "string",
}
"""The types of columns that can have hierarchies by rules."""
_REFERENCE = TypeAdapter(Annotated[str, Field(pattern=KEYED_DIGEST)])


def require_agreement(declared: Declared, tables: Tables) -> None:
    """Compare a declaration with the tables that it describes.

    Raises:
        PromiseError: where row counts contradict each other, columns are mentioned that do not
            exist, groups are in another order, or leaves of hierarchies or labelled codes are not
            published.
    """
    _counts_agree(declared, tables)
    _in_order(declared, tables)
    require_hierarchies(declared)
    _leaves_are_published(declared, tables)
    if with_published_codes(declared.words, declared.columns, tables) != declared.words:
        raise PromiseError(f"{MANIFEST}: has labels of codes that are not published")


def _counts_agree(declared: Declared, tables: Tables) -> None:
    rows = declared.rows
    if fakes(form_of(declared), tables) != rows.fakes:
        raise PromiseError(f"{MANIFEST}: does not state how many values are invented")
    require_counts(rows)
    exposed = [] if declared.exposure is None else [c.column for c in declared.exposure.columns]
    if len(set(exposed)) < len(exposed) or not set(exposed) <= set(
        declared.names_with_roles("sensitive")
    ):
        raise PromiseError(f"{MANIFEST}: describes other columns than its sensitive ones")
    _words_are_of_columns(declared)
    bars = () if declared.bars is None else declared.bars.bars
    if len(set(bars)) < len(bars) or not {bar.attack for bar in bars} <= set(JUDGED):
        raise PromiseError(f"{MANIFEST}: states limits on attacks twice, or on unknown attacks")
    if fault := fault_of_stated(declared, declared.intervals):
        raise PromiseError(f"{MANIFEST}: {fault}")


def _in_order(declared: Declared, tables: Tables) -> None:
    if len(tables) == 1:
        return  # a rule of the table
    for name, table in form_of(declared).canonical(tables).items():
        if not table.equals(tables[name]):
            raise PromiseError(f"{name}: groups are not in canonical order across all tables")


def require_hierarchies(declared: Declared) -> None:
    """Make sure that hierarchies nest, and are rules for values of their columns' types.

    Raises:
        PromiseError: naming the first column of which the hierarchy is none.
    """
    for name, rows in declared.hierarchies.items():
        try:
            if isinstance(rows, tuple):
                Hierarchy(f"hierarchy of {name!r}", rows)
        except InputError as error:
            raise PromiseError(f"{MANIFEST}: {error}") from None
        needed = _TYPES_OF_RULES.get(type(rows))
        if needed not in (None, declared.columns[name].type):
            raise PromiseError(f"{MANIFEST}: hierarchy of {name!r} needs type {needed}")


def _names_are_columns(declared: Declared) -> None:
    """Refuse names of columns that the release does not have.

    Raises:
        PromiseError: naming the key.
    """
    linked = [name for names in getattr(declared.form, "linked", ()) for name in names]
    for key, names in (
        ("strata", map(column_of, declared.strata)),
        ("form.linked", linked),
        ("rounds", declared.rounds),
    ):
        if not set(names) <= declared.columns.keys():
            raise PromiseError(f"{MANIFEST}: {key} names columns that it does not have")


def _words_are_of_columns(declared: Declared) -> None:
    if not {*declared.words.columns, *declared.words.labels} <= declared.columns.keys():
        raise PromiseError(f"{MANIFEST}: describes columns that it does not have")


def _leaves_are_published(declared: Declared, tables: Tables) -> None:
    if with_published_leaves(declared.columns, tables) != declared.columns:
        raise PromiseError(f"{MANIFEST}: a hierarchy has leaves under no published label")


def open_sealed(directory: Path, announced: str | None = None) -> Release:
    """Open a release that is as it was sealed.

    Args:
        directory: the release, as published.
        announced: the digest that the publisher announced, where there is one to compare with.

    Raises:
        InputError: where there is no release, or it was made by newer software.
        PromiseError: where the manifest is not canonical, or its digest is another.
    """
    require_release(directory)
    require_regular_files(directory)
    try:
        document = read_canonical(directory / MANIFEST)
        stated, sealed = document["sfumato"]["digest"], digest(document)
    except (UnfitFileError, ValueError, KeyError, TypeError, RecursionError):
        raise PromiseError(f"{MANIFEST}: not the canonical manifest of a release") from None
    require_readable(directory / MANIFEST, document["sfumato"])
    try:
        release = open_release(directory)
        for words, kind in _texts_and_types(release.declared):
            kind.validate_python(words)
    except (InputError, ValueError):
        raise PromiseError(f"{MANIFEST}: not the canonical manifest of a release") from None
    if stated != sealed:
        raise PromiseError(f"{MANIFEST}: its digest does not match its content")
    require_declaration(release.declared, document["sfumato"])
    if announced is not None and announced != sealed:
        raise PromiseError(f"{MANIFEST}: its digest differs from the announced one")
    for fault in _faults_of_declaration(release.declared):
        raise PromiseError(f"{MANIFEST}: {fault}")
    return release


def _texts_and_types(declared: Declared) -> list[tuple[Any, TypeAdapter[Any]]]:
    """Return the texts that a forged manifest could put on a terminal, with types to check them."""
    references = [p.reference_uri for p in declared.promises if p.reference_uri is not None]
    return [
        *((name, _REFERENCE) for name in references),
        (declared.name, TypeAdapter(LineName)),
        (declared.title, TypeAdapter(Title)),
        (declared.software, TypeAdapter(dict[Word, Word])),
    ]


def check(
    directory: Path,
    announced: str | None = None,
    limits: ReadLimits | None = None,
    reference_paths: Sequence[Path] = (),
    *,
    made_again: Mapping[str, str] | None = None,
) -> Checked:
    """Verify a release directory.

    Args:
        directory: the release, as published.
        announced: the digest that the publisher announced, where there is one to compare with.
        limits: the sizes of tables that the reader takes; a publisher takes its own of any size.
        reference_paths: the references that promises name, in their order; without any, these
            promises are taken as they are stated.
        made_again: the SHA-256 of its files, by their paths, if they are known to follow from the
            tables as they are read back: then the files are only compared with these hashes, and
            not made again, unless other software made them. None makes them again.

    Raises:
        InputError: where there is no release, it was made by newer software, or is larger than
            the limits; where references are not those that promises speak of.
        PromiseError: where anything is not as it must be.
    """
    release = open_sealed(directory, announced)
    try:
        if limits is not None:
            extent_within(directory, limits)
        references = given_references(release.declared.promises, reference_paths)
        return _verify_content(
            release, references, vouched=announced is not None, made_again=made_again
        )
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - what cannot be verified is not kept
        require_machine(error)
        raise PromiseError(f"{directory}: cannot be verified ({type(error).__name__})") from None


def _verify_content(
    release: Release,
    references: References,
    *,
    vouched: bool,
    made_again: Mapping[str, str] | None,
) -> Checked:
    """Verify the content of a release; only references can be wrong input here."""
    try:
        if release.declared.parts is not None or release.declared.made_of:
            _words_are_of_columns(release.declared)
            return _verify_parts(release, vouched=vouched, made_again=made_again)
        return _verify(release, references, vouched=vouched, made_again=made_again)[0]
    except InputError as error:
        if references != NO_REFERENCES:
            raise
        raise PromiseError(str(error)) from None


def _verify(
    release: Release,
    references: References = NO_REFERENCES,
    *,
    vouched: bool,
    made_again: Mapping[str, str] | None,
) -> tuple[Checked, Assessment]:
    declared = release.declared
    for fault in _faults_of_scopes(declared):
        raise PromiseError(f"{MANIFEST}: {fault}")
    require_hierarchies(declared)
    _names_are_columns(declared)
    tables = read_tables(declared, release.directory / "data")
    require_usual_values(tables)
    require_related(declared, tables)
    assessed = assess(declared, tables, references=references)
    assessment, stated = with_statements(assessed, release.manifest, references)
    require(assessment.findings)
    if made_again is None:
        require_agreement(declared, tables)
    checked = replace(
        _compare_derived(release, assessment, vouched=vouched, made_again=made_again),
        stated=stated,
        over_people=assessment.over_people,
        over=declared.kept_over,
        has_related_rows=declared.has_related_rows,
        shows_numbers_of_rows=declared.shows_numbers_of_rows,
        rule_findings=assessment.rule_findings,
    )
    return checked, assessment


def _compare_derived(
    release: Release, assessment: Assessment, *, vouched: bool, made_again: Mapping[str, str] | None
) -> Checked:
    """Compare everything except the tables with what these give, unless it is known to be equal."""
    declared, directory = release.declared, release.directory
    if made_again is not None and not other_software(declared.software):
        require_listed(release, made_again)
        return Checked(assessment.verdicts, "equal")
    derived = compare_made_again(
        release,
        assessment.verdicts,
        partial(write_release, assessment=assessment),
        partial(page_beside, assessment=assessment),
        vouched=vouched,
    )
    if manifest(directory, declared, assessment.verdict_documents()) != release.manifest:
        raise PromiseError(f"{MANIFEST}: differs from the published files")
    return derived


def _hashes_of_part(files: Mapping[str, str] | None, name: str) -> Mapping[str, str] | None:
    """Return the hashes of the files of a part, by their paths in the part's directory.

    Returns None if no hashes are known.
    """
    below = f"{PARTS}/{name}/"
    if files is None:
        return None
    return {path[len(below) :]: sha256 for path, sha256 in files.items() if path.startswith(below)}


def _verify_parts(
    release: Release, *, vouched: bool, made_again: Mapping[str, str] | None
) -> Checked:
    """Verify every part as a release of its own, and then the statements about all of them."""
    from sfumato.tasks.publication.parts_files import page_of_whole, write_beside
    from sfumato.tasks.publication.parts_read import read_whole

    seen, made = read_whole(
        release,
        lambda part: _verify(
            open_sealed(part, None),
            vouched=vouched,
            made_again=_hashes_of_part(made_again, part.name),
        ),
    )
    declared, verdicts = release.declared, seen.all_verdicts()
    for part in declared.made_of:
        if is_there(signature := release.directory / PARTS / part.name / SIGNATURE):
            name = signature.relative_to(release.directory).as_posix()
            raise PromiseError(f"{name}: does not belong to the release. Only the whole is signed")
    rule_findings = rule_findings_of_whole(declared, verdicts)
    require((*findings_of(verdicts), *rule_findings))
    whole = compare_made_again(
        release,
        verdicts,
        lambda again: write_beside(again, release.directory, declared, seen),
        lambda directory: page_of_whole(directory, declared, seen),
        vouched=vouched,
    )
    if manifest(release.directory, declared, observations_of(verdicts)) != release.manifest:
        raise PromiseError(f"{MANIFEST}: differs from the published files")
    of_parts = [part for part in made if part.derived != "equal"]
    unlike = [name for part in of_parts for name in part.unlike]
    if not of_parts:
        return replace(whole, rule_findings=rule_findings)
    made_with = (*whole.made_with, *(name for part in of_parts for name in part.made_with))
    return Checked(
        verdicts,
        "equivalent",
        tuple(dict.fromkeys(made_with)),
        (*whole.unlike, *unlike),
        rule_findings=rule_findings,
    )


def _faults_of_declaration(declared: Declared) -> Iterator[str]:
    """Yield what a declaration says that has no meaning, or two meanings, in its release.

    Vacant values and predecessors are of composed versions only; columns whose files would have
    one name are not told apart; a coding must fit its column.
    """
    shows_vacant = declared.is_composed and VACANCIES[declared.form.method].tells
    if declared.rows.vacant and not shows_vacant:
        yield "counts vacant values, which its tables do not show"
    if not declared.is_composed and declared.predecessor is not None:
        yield "continues a version, but its versions are not composed"
    times = Counter(map(safe_name, declared.columns))
    for name in declared.columns:
        if times[safe_name(name)] > 1:
            yield f"the files of column {name!r} have the names of those of another column"
    for name, column in declared.columns.items():
        if fault := fault_of_codings(column, column.type):
            yield f"column {name!r}: {fault}"
    yield from _faults_of_marginals(declared)
    if declared.policy is not None:
        from sfumato.tasks.policies.term import faults_of_edition  # few releases have one

        yield from faults_of_edition(declared.policy)


def _faults_of_marginals(declared: Declared) -> Iterator[str]:
    """Yield why marginals cannot be judged: they are only with the groups of one whole version."""
    names = declared.form.counted_columns
    if not set(names) <= set(declared.names_with_roles("quasi-identifier")):
        yield "form.marginals names columns that are not quasi-identifiers"
    alone = declared.versions == "disjoint" and declared.exposure is None
    if names and not (alone and declared.parts is None and not declared.made_of):
        yield "publishes marginals beside other versions, lines or parts"


def _faults_of_scopes(terms: Terms) -> Iterator[str]:
    """Yield the promises and columns with a wrong scope, with the reasons.

    A promise that its form cannot show, or that is about fewer columns than readers think, can be
    measured and kept, and protects nobody: k-anonymity about no quasi-identifier always holds.
    """
    for promise in terms.promises:
        for fault in _faults_of_promise(terms, promise):
            yield f"{promise.name} {fault}"
    yield from _uncovered_columns(terms)


def _faults_of_promise(terms: Terms, promise: PrivacyModel) -> Iterator[str]:
    columns, beside = promise.quasi_identifiers or (), promise.known_columns
    others = set(terms.names_with_roles("sensitive")) - {promise.sensitive}
    if any(len(set(names)) < len(names) for names in (columns, beside)):
        yield "names a column twice"
    if not terms.form.admits(promise):
        yield f"means nothing in form {terms.form.method}"
    if promise.of_related and terms.is_composed:
        yield "is about the people of one version"
    if promise.needs_labels and (terms.is_composed or terms.parts is not None):
        yield "is about the labels of a whole table of one version"
    if not columns or not set(columns) <= set(terms.names_with_roles("quasi-identifier")):
        yield "does not name the quasi-identifiers that it is about"
    if promise.counts_values() and promise.sensitive not in _counted_columns(terms, promise):
        yield f"does not name the {promise.column_key} column that it is about"
    if not set(beside) <= others or (beside and not terms.form.together):
        yield "names columns as known that are not shown together with the protected one"


def _counted_columns(terms: Terms, promise: PrivacyModel) -> list[str]:
    if promise.weighs:
        return [name for name, column in terms.columns.items() if column.weight]
    return terms.names_with_roles("sensitive")


def _uncovered_columns(terms: Terms) -> Iterator[str]:
    """Yield the quasi-identifiers and sensitive columns that no promise is about."""
    covered = {name for promise in terms.promises for name in promise.quasi_identifiers or ()}
    for name in terms.names_with_roles("quasi-identifier"):
        if name not in covered:
            yield f"no promise is about the quasi-identifier {name!r}"
    protected = {promise.sensitive for promise in terms.promises if promise.protects}
    for name in terms.names_with_roles("sensitive"):
        if name not in protected and terms.columns[name].unprotected is None:
            yield f"no promise protects the sensitive column {name!r}"
