"""Single values as labels: as themselves, unless they would be read as another label."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.forms import generalized
from sfumato.tasks.forms.form_parameters import GeneralizedParameters
from sfumato.tasks.forms.label_readers import reader
from sfumato.tasks.forms.labels import STAR, ListedValues, value_set
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import DeclaredColumn

COLUMN = DeclaredColumn(role="quasi-identifier", type="string", nulls=True)
PARTS = st.sampled_from(["*", "[", "]", "{", "}", '"', "\\", ", ", " ", "a", "1", "or", " or null"])
TEXTS = st.lists(PARTS, max_size=5).map("".join) | st.text(max_size=6)


@given(TEXTS, st.booleans())
def test_every_text_is_read_back(text, null):
    label = value_set([text], null, plain=True)
    assert reader("x", COLUMN)(label) == ListedValues((text,), null)


@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True), st.booleans())
def test_labels_of_different_values_differ(texts, null):
    labels = {value_set([text], null, plain=True) for text in texts}
    labels |= {value_set(texts, not null, plain=True), STAR}
    assert len(labels) == len(texts) + 2


def test_what_reads_as_a_label_keeps_its_braces():
    texts = {"a, b": "a, b", 'say "a"': 'say "a"', " a": " a", "a}": "a}", "1*": "1*"}
    texts |= {text: f'{{"{text}"}}' for text in ("*", "{a, b}", "[1, 2]", "a or null", "")}
    assert {text: value_set([text], plain=True) for text in texts} == texts


def publish_values(values, **parameters):
    column = encode("x", "quasi-identifier", pa.array(values))
    loss = encode("loss", "sensitive", pa.array(range(len(values))))
    tables = generalized.publish(
        Microdata((column, loss), len(values)),
        Partition(np.arange(len(values))),
        GeneralizedParameters(method="generalized", **parameters),
        seeded_keys(1),
    )
    return sorted(tables["microdata"]["x"].to_pylist())


def test_they_are_plain_where_that_is_asked_for():
    values = ["a, b", "*", "c"]
    assert publish_values(values) == ["c", '{"*"}', '{"a, b"}']
    assert publish_values(values, single_values="plain") == ["a, b", "c", '{"*"}']


def test_the_keys_have_a_format():
    from sfumato.tasks.schema.formats import lowest_format

    plain = {"single_values": "plain"}
    formats = [{}, plain, {"label_tables": True}]
    format_found = [
        lowest_format(GeneralizedParameters(method="generalized", **keys)) for keys in formats
    ]
    assert format_found == [0, 6, 6]
    assert GeneralizedParameters(method="generalized").model_dump() == {"method": "generalized"}
