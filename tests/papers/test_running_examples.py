"""The papers' running examples, released, checked and asked by the command, cell by cell."""

from functools import cache

import pytest

from tests.papers.running_examples import EXAMPLES, PAGE, repeat, write_page

BY_NAME = {example.name: example for example in EXAMPLES}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Gives what the commands publish and print about an example, made once."""
    folder = tmp_path_factory.mktemp("papers")

    @cache
    def make(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(folder))
            return repeat(BY_NAME[name], folder)

    return make


@pytest.mark.parametrize("name", BY_NAME)
def test_tables_verdicts_and_answers_are_the_papers(results, name):
    example, result = BY_NAME[name], results(name)
    for table, rows in example.tables.items():
        expected = sorted(tuple(map(str, row)) for row in rows)
        assert sorted(tuple(map(str, row)) for row in result.tables[table]) == expected
    assert list(result.verdicts) == list(example.verdicts)
    for answer, cell in zip(example.answers, result.answers, strict=not example.refused):
        assert (cell["lower"], cell["upper"]) == pytest.approx((answer.lower, answer.upper))
        if answer.estimate is not None:
            assert cell["estimate"] == pytest.approx(float(answer.estimate))
    assert result.message.startswith(example.refused)
    assert bool(result.message) == bool(example.refused)


def test_the_page_is_what_the_commands_give(results, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.papers.running_examples.repeat", lambda e, _: results(e.name))
        assert PAGE.read_text(encoding="utf-8") == write_page(tmp_path)
