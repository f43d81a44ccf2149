"""`sfumato demo`: the whole way from UCI Adult to an answer."""

import os
from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.analyst.way_in import way_in_by
from sfumato.flows.cli.answers import answer_as
from sfumato.flows.cli.options import as_document, overrides
from sfumato.flows.cli.runs import tell_version
from sfumato.flows.cli.show import echo, echo_json
from sfumato.flows.cli.steward.release import publish_version

_SPEC = Path(__file__).parents[3] / "deployments" / "releases" / "adult-capital-loss.yaml"
_QUESTIONS = (
    'SELECT COUNT(*), AVG("capital-loss") FROM microdata WHERE age BETWEEN 30 AND 40',
    'SELECT sex, AVG("capital-loss"), MAX("capital-loss") FROM microdata GROUP BY sex',
)


@click.command()
@as_document
def demo(as_json: bool) -> None:
    """Release UCI Adult's capital losses here, and ask the release two queries."""
    from sfumato.flows.life.version_summary import summarise_version
    from sfumato.tasks.publication.check import check
    from sfumato.tasks.query.ask import answer
    from sfumato.tasks.query.inquiries.answer import document as answer_document

    os.environ.setdefault("SFUMATO_WORK", str(Path(".sfumato").absolute()))
    show.say(f"data: UCI Adult, as {_SPEC} reads it")
    place = overrides((f"publish.uri={Path('releases').absolute()}",))
    published = publish_version(_SPEC, place, with_prefect=True)  # the pipeline as it is watched
    opened = way_in_by(check=check).open(Path(published))
    answers = [(question, answer(opened, question)) for question in _QUESTIONS]
    if as_json:
        documents = [{"query": question, **answer_document(result)} for question, result in answers]
        echo_json({"version": summarise_version(Path(published)).document(), "answers": documents})
        return
    for question, result in answers:
        echo(f"\n{question}\n")
        answer_as(result, "text")
    tell_version(published)
