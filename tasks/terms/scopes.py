"""The columns that the promises of a declaration are about, as `check` requires them.

A promise that its form cannot show, or that is about fewer columns than readers think, can be
measured and kept, and protects nobody: k-anonymity about no quasi-identifier holds of any table.
"""

from collections.abc import Iterator

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.terms.terms import Terms


def fault_of_scopes(terms: Terms) -> str | None:
    """Return the first promise or column with a wrong scope, and the reason; None without any."""
    return next(_faults(terms), None)


def _faults(terms: Terms) -> Iterator[str]:
    for promise in terms.promises:
        for fault in _faults_of_promise(terms, promise):
            yield f"{promise.name} {fault}"
    yield from _uncovered(terms)


def _faults_of_promise(terms: Terms, promise: PrivacyModel) -> Iterator[str]:
    columns, known = promise.quasi_identifiers or (), promise.known_columns
    others = set(terms.names_with_roles("sensitive")) - {promise.sensitive}
    if not terms.form.admits(promise):
        yield f"means nothing in form {terms.form.method}"
    if not columns or not set(columns) <= set(terms.names_with_roles("quasi-identifier")):
        yield "does not name the quasi-identifiers that it is about"
    if promise.counts_values() and promise.sensitive not in _counted_columns(terms, promise):
        yield f"does not name the {promise.column_key} column that it is about"
    if not set(known) <= others or (known and not terms.form.together):
        yield "names columns as known that are not shown together with the protected one"


def _counted_columns(terms: Terms, promise: PrivacyModel) -> list[str]:
    if promise.weighs:
        return [name for name, column in terms.columns.items() if column.weight]
    return terms.names_with_roles("sensitive")


def _uncovered(terms: Terms) -> Iterator[str]:
    """Yield the quasi-identifiers and sensitive columns that no promise is about."""
    covered = {name for promise in terms.promises for name in promise.quasi_identifiers or ()}
    for name in terms.names_with_roles("quasi-identifier"):
        if name not in covered:
            yield f"no promise is about the quasi-identifier {name!r}"
    protected = {promise.sensitive for promise in terms.promises if promise.protects}
    for name in terms.names_with_roles("sensitive"):
        if name not in protected and terms.columns[name].unprotected is None:
            yield f"no promise protects the sensitive column {name!r}"
