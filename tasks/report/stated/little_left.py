"""Why a release may be of no use, as far as its files alone tell it.

The queries of a spec's workload are not among the files, nor is how they were answered: what is
said of these stands on the line's page. Here it is one selection that anybody can draw.
"""

from collections.abc import Iterator

from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.query.accuracy.usefulness import ONE_GROUP, TRIVIAL, mean_by_range
from sfumato.tasks.terms.terms import Declared


def little_left(groups: Groups, declared: Declared) -> tuple[str, ...]:
    """Why little is left, in words.

    Nothing is said of forms that declare distributions, or where values of people who left stand
    among the others: what is selected of those is not known.
    """
    if declared.form.declares or declared.rows.vacant or not len(groups):
        return ()
    one = (ONE_GROUP,) if len(groups) == 1 else ()
    return (*one, *_wide_means(groups, declared))


def _wide_means(groups: Groups, declared: Declared) -> Iterator[str]:
    for name in declared.named("sensitive"):
        number = declared.columns[name].type in ("integer", "decimal", "float")
        share = mean_by_range(groups.sensitive[name]) if number else None
        if share is not None and share >= TRIVIAL:
            yield (
                f"the mean of {name} over one in twenty rows of every group is bounded no closer "
                f"than within {float(share):.0%} of the range of all its values, which is known "
                "without the groups"
            )
