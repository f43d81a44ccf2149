"""Our promises as expectations for anybody's Great Expectations project.

Importing this makes them known to Great Expectations, which silently drops from a stored suite
whatever it does not know: import it before a suite is loaded. There is one for each registered
privacy model that rows of a table keep or break, in groups of equal quasi-identifiers, on pandas,
PostgreSQL, SQLite, MariaDB and MySQL. Results hold counts and thresholds, and no value.

>>> from sfumato.expectations.gallery import ExpectKAnonymity
>>> ExpectKAnonymity(quasi_identifiers=["age", "sex"], k=5).expectation_type
'expect_k_anonymity'
"""

from sfumato.expectations.suites.promises import ExpectPromise, assertable, promise_expectation

_EXPECTATIONS = {kind.__name__: kind for kind in map(promise_expectation, assertable())}
__all__ = sorted(_EXPECTATIONS)


def __getattr__(name: str) -> type[ExpectPromise]:
    try:
        return _EXPECTATIONS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return __all__
