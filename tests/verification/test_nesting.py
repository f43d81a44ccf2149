"""Documents from outside that are nested too deep are refused in one line."""

import json

import pytest

from sfumato.tasks.schema.nesting import DEEPEST, NestingError, parse_json


def lists(depth, inner="1"):
    return "[" * depth + inner + "]" * depth


def mappings(depth):
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("nested", [lists, mappings, lambda depth: lists(depth, "")])
def test_as_deep_as_may_be(nested):
    assert parse_json(nested(DEEPEST)) == json.loads(nested(DEEPEST))
    with pytest.raises(NestingError, match="nested deeper than 50 levels"):
        parse_json(nested(DEEPEST + 1))


@pytest.mark.parametrize("depth", [1000, 100_000, 1_000_000])
@pytest.mark.parametrize("nested", [lists, mappings])
def test_far_too_deep(nested, depth):
    with pytest.raises(NestingError):
        parse_json(nested(depth))


@pytest.mark.parametrize("text", ["1", '"[[["', "null", "[]", "{}", '["' + "[" * 99 + '"]'])
def test_flat_documents(text):
    assert parse_json(text.encode()) == json.loads(text)


def test_no_json_is_no_json():
    with pytest.raises(ValueError, match="Expecting"):
        parse_json("[")
