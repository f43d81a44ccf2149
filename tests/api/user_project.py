"""A small project of an analyst."""

from collections.abc import Iterator

import sfumato
from sfumato import BoundedAnswer, Bounds, Row, VerifiedRelease


def mean_costs(place: str) -> Iterator[tuple[str, float, float]]:
    """Yield the bounds of the mean cost of each sex."""
    release: VerifiedRelease = sfumato.open(place, check=True)
    answer: BoundedAnswer = release.query("SELECT sex, AVG(cost) AS mean FROM microdata GROUP BY 1")
    for row in answer:
        bounds: Bounds = row.bounds("mean")
        if bounds.lower is not None:
            yield (
                str(row["sex"]),
                float(bounds),
                float(answer.row({"sex": row["sex"]}).bounds("mean")),
            )


def describe(release: VerifiedRelease) -> list[str]:
    """Return lines about a release."""
    columns = [f"{column.name}: {column.role}" for column in release.columns.values()]
    promises = [f"{promise.name} {promise.parameters['k']}" for promise in release.promises]
    accuracy = [f"{a.workload} {a.half_width}" for a in release.accuracy if a.median is not None]
    return [*columns, *promises, *accuracy, release.citation, release.line.current or ""]


def several(release: VerifiedRelease) -> float:
    """Return a sum of answers."""
    first, second = release.query(["SELECT COUNT(*) FROM microdata"] * 2)
    by_name = release.query({"n": "SELECT COUNT(*) FROM microdata"})
    row: Row = first[0]
    assert row.certain and first.guaranteed
    return float(first) + float(second) + float(by_name["n"]) + float(release.count({"sex": "F"}))
