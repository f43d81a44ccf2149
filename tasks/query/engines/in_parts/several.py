"""Several questions, for all of which each part is read once where it can be."""

from collections.abc import Iterator, Mapping, Sequence

from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.in_parts.engine import EngineInParts
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Key, Question


def ask_each(
    asking: Engine, questions: Sequence[Question], *, estimates: bool
) -> Iterator[Mapping[Key, Mapping[Aggregate, Bounds]]]:
    """What an engine finds of each question, with estimates where these are asked for.

    Raises:
        QueryError: where one cannot be evaluated.
    """
    found = (
        asking.ask_each(questions, estimates)
        if isinstance(asking, EngineInParts)
        else (asking.ask(question, estimates) for question in questions)
    )
    for one in found:
        yield {key: _estimated(bounds, estimates) for key, bounds in one.items()}


def _estimated(bounds: Mapping[Aggregate, Bounds], estimates: bool) -> Mapping[Aggregate, Bounds]:
    return {of: with_estimate(one) if estimates else one for of, one in bounds.items()}
