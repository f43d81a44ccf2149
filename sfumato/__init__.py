"""Privacy-preserving microdata releases with exact bounds.

For analysts::

    import sfumato

    release = sfumato.open("releases/adult-capital-loss")  # a line or a version; https://…, s3://…
    answer = release.query("SELECT sex, COUNT(*) AS n FROM microdata GROUP BY sex")
    answer[0]["n"].lower, answer[0]["n"].upper  # they contain the truth
    answer[0]["n"].estimate                     # expected, without guarantee
    answer.to_pandas()                          # also to_polars, to_arrow, plot

`release.columns`, `.promises`, `.accuracy`, `.line` and `.citation` describe the release.

For owners: `measure` a table, `plan` the next version of a line, `compare` alternatives to its
spec, `release` it.

Each name is imported when it is first used: neither pandas, Prefect nor Great Expectations is
before something needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.expectations.shared.errors import (
        Fault,
        InputError,
        MissingPackageError,
        PromiseError,
        QueryError,
        SfumatoError,
        SpecError,
        TransientFault,
    )
    from sfumato.flows.api.answer import BoundedAnswer
    from sfumato.flows.api.facts import (
        AccuracyListing,
        Columns,
        Domain,
        KeptPromise,
        LineVersion,
        Listing,
        ReleaseLine,
        SchemaColumn,
        StatedAccuracy,
    )
    from sfumato.flows.api.opening import open
    from sfumato.flows.api.owner import compare, measure, plan, release
    from sfumato.flows.api.private_result import PrivateResult, ReleasedVersion
    from sfumato.flows.api.published import VerifiedRelease
    from sfumato.flows.api.rows import Row, UnknownColumnError
    from sfumato.tasks.query.bounds.bounds import Bounds, Likely
    from sfumato.tasks.query.question.rest import Rest

    __version__: str

__all__ = [
    "AccuracyListing",
    "BoundedAnswer",
    "Bounds",
    "Columns",
    "Domain",
    "Fault",
    "InputError",
    "KeptPromise",
    "Likely",
    "LineVersion",
    "Listing",
    "MissingPackageError",
    "PrivateResult",
    "PromiseError",
    "QueryError",
    "ReleaseLine",
    "ReleasedVersion",
    "Rest",
    "Row",
    "SchemaColumn",
    "SfumatoError",
    "SpecError",
    "StatedAccuracy",
    "TransientFault",
    "UnknownColumnError",
    "VerifiedRelease",
    "compare",
    "measure",
    "open",
    "plan",
    "release",
]

_HOMES = {
    "sfumato.expectations.shared.errors": (
        "Fault",
        "InputError",
        "MissingPackageError",
        "PromiseError",
        "QueryError",
        "SfumatoError",
        "SpecError",
        "TransientFault",
    ),
    "sfumato.flows.api.answer": ("BoundedAnswer",),
    "sfumato.flows.api.facts": (
        "AccuracyListing",
        "Columns",
        "Domain",
        "KeptPromise",
        "LineVersion",
        "Listing",
        "ReleaseLine",
        "SchemaColumn",
        "StatedAccuracy",
    ),
    "sfumato.flows.api.opening": ("open",),
    "sfumato.flows.api.owner": ("compare", "measure", "plan", "release"),
    "sfumato.flows.api.private_result": ("PrivateResult", "ReleasedVersion"),
    "sfumato.flows.api.published": ("VerifiedRelease",),
    "sfumato.flows.api.rows": ("Row", "UnknownColumnError"),
    "sfumato.tasks.query.bounds.bounds": ("Bounds", "Likely"),
    "sfumato.tasks.query.question.rest": ("Rest",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # or every name would be one

    def __getattr__(name: str) -> Any:
        """Import a name of this package now; `__version__` is read from the installation.

        Raises:
            AttributeError: where it is none.
        """
        if name == "__version__":
            from importlib.metadata import version

            return version("sfumato")
        if name not in _HOME:
            raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__", "__doc__", "__name__", "__path__"]
