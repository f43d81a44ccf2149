"""Changes of a spec's text: only the value changes, and everything a person wrote stays."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.workbench.yaml_edits import (
    flow_text,
    has_place,
    removal_in,
    removal_of,
    set_in,
    with_value,
)
from tests.workbench.conftest import SPEC

NAMES = st.sampled_from(["a", "b", "age", "hours-per-week", "é"])
SCALARS = st.sampled_from(
    [None, True, -5, 0.25, "plain", "yes", "a: b", "# no comment", "", "'", "é"]
)
FLOW = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
KEYS = st.dictionaries(NAMES, FLOW, min_size=1, max_size=3)
PARTS = FLOW | st.lists(KEYS, min_size=1, max_size=3) | st.dictionaries(NAMES, KEYS, min_size=1)
SPECS = st.dictionaries(NAMES, PARTS, min_size=1, max_size=3)


def places(document, inside=()):
    """Every place of a document."""
    if isinstance(document, dict):
        items = document.items()
    else:
        items = enumerate(document) if isinstance(document, list) else ()
    for key, value in items:
        yield (*inside, key)
        yield from places(value, (*inside, key))


def spec_text(document):
    """A document in the style of a spec, with a comment above each line of a key or item."""
    lines = []
    for key, part in document.items():
        lines.append(f"{flow_text(key)}:")
        if isinstance(part, list) and part and all(isinstance(item, dict) for item in part):
            lines += [f"  - {flow_text(item)}" for item in part]
        elif isinstance(part, dict) and part and all(isinstance(v, dict) for v in part.values()):
            lines += [f"  {flow_text(name)}: {flow_text(keys)}" for name, keys in part.items()]
        else:
            lines[-1] += f" {flow_text(part)}"
    commented = (f"# {number}\n{line}  # behind {number}" for number, line in enumerate(lines))
    return "\n".join(commented) + "\n# the end\n"


@given(SPECS, FLOW, st.data())
def test_another_value_changes_nothing_but_itself(document, value, data):
    text, place = spec_text(document), data.draw(st.sampled_from(list(places(document))))
    changed = with_value(text, place, value)
    assert yaml.safe_load(changed) == set_in(document, place, value)
    if len(place) > 1:
        assert changed.count("#") >= text.count("#") - str(value_at(document, place)).count("#")
    assert changed.startswith("# 0\n")
    assert changed.endswith("# the end\n")


def value_at(document, place):
    for key in place:
        document = document[key]
    return document


@given(SPECS, st.data())
def test_a_removed_key_takes_nothing_along(document, data):
    text, place = spec_text(document), data.draw(st.sampled_from(list(places(document))))
    changed = removal_of(text, place)
    assert (yaml.safe_load(changed) or {}) == removal_in(document, place)
    assert changed.endswith("# the end\n")


@given(SPECS, NAMES, SCALARS)
def test_a_new_key_leaves_the_others(document, name, value):
    keys = document.get(name)
    if keys is None or isinstance(keys, dict):
        text = spec_text(document)
        changed = with_value(text, (name, "new"), value)
        assert yaml.safe_load(changed) == set_in(document, (name, "new"), value)
        assert has_place(yaml.safe_load(changed), (name, "new"))
        assert all(line in changed for line in text.splitlines() if line.startswith("# "))


class TestASpec:
    @pytest.mark.parametrize(
        ("place", "value", "old", "new"),
        [
            (["promises", 0, "k"], 7, "k: 5}", "k: 7}"),
            (
                ["columns", "sex", "role"],
                "drop",
                "sex: {role: quasi-identifier}",
                "sex: {role: drop}",
            ),
            (
                ["columns", "cost", "nulls"],
                "drop-row",
                "type: integer}\npromises",
                "type: integer, nulls: drop-row}\npromises",
            ),
            (["source", "uri"], "june.csv", "uri: patients.csv", "uri: june.csv"),
            (
                ["form"],
                {"method": "permuted"},
                "form: {method: generalized}",
                "form: {method: permuted}",
            ),
        ],
    )
    def test_a_change_is_a_change_of_one_line(self, place, value, old, new):
        assert SPEC.count(old) == 1
        assert with_value(SPEC, place, value) == SPEC.replace(old, new)

    def test_an_item_is_added_below_the_last(self):
        changed = with_value(SPEC, ["promises", 2], {"model": "t-closeness", "t": 0.2})
        line = "  - {model: l-diversity, variant: distinct, l: 3}\n"
        assert changed == SPEC.replace(line, f"{line}  - {{model: t-closeness, t: 0.2}}\n")

    def test_a_key_is_added_at_the_end(self):
        assert with_value(SPEC, ["strata"], ["sex"]) == f"{SPEC}strata: [sex]\n"

    def test_a_key_goes_with_its_line(self):
        line = "  # the number of the hospital\n"
        changed = removal_of(SPEC, ["columns", "patient"])
        assert changed == SPEC.replace(f"{line}  patient: {{role: identifier, unit: true}}\n", line)

    def test_a_missing_key_is_not_removed(self):
        assert removal_of(SPEC, ["columns", "nothing", "role"]) == SPEC

    def test_a_text_with_aliases_is_refused_where_another_place_would_change(self):
        text = "a: &x {k: 1}\nb: *x\n"
        with pytest.raises(SpecError, match="cannot change"):
            with_value(text, ["b", "k"], 2)
