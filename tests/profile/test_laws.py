"""A draft tells nothing of the data, and reads the source as it was written, for any table."""

import re
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tasks.microdata.source import read
from sfumato.tasks.profile.skeletons import SHARED
from tests.profile.drafts import confirm_draft, document, draft
from tests.profile.tables import write_csv

# No word of a draft, and no round number.
TEXTS = st.text("bcdfghjkmpqvwxz", min_size=7, max_size=9)
INTEGERS = st.integers(1_000, 9_999).map(lambda number: 10 * number + 7)
DECIMALS = INTEGERS.map(lambda number: number / 100)
NAMES = ["age", "town", "income", "person", "x1", "note", "born", "vote"]
ROWS = st.sampled_from([61, 83, 107, 131])
FEW = settings(max_examples=15)


@st.composite
def tables(draw):
    """Columns of few or many different values, each value such that nothing else is alike."""
    rows = draw(ROWS)
    names = draw(st.permutations(NAMES))[: draw(st.integers(2, 6))]
    columns = []
    for _ in names:
        kind = draw(st.sampled_from([TEXTS, INTEGERS, DECIMALS]))
        domain = draw(
            st.lists(kind, min_size=2, max_size=draw(st.sampled_from([3, 12, 40])), unique=True)
        )
        picks = draw(st.lists(st.integers(0, len(domain) - 1), min_size=rows, max_size=rows))
        columns.append([domain[place] for place in picks])
    return names, [list(row) for row in zip(*columns, strict=True)]


@FEW
@given(tables(), st.sampled_from(",;\t|"))
def test_a_draft_holds_no_value_and_no_count(table, delimiter):
    names, rows = table
    with tempfile.TemporaryDirectory() as place:
        made = draft(Path(place), write_csv(names, rows, delimiter), header="yes")
        spec_text = made.spec.read_text(encoding="utf-8").replace(place, "")
        lines = [path.read_text(encoding="utf-8") for path in made.hierarchies]
        assert made.profile.stat().st_mode & 0o777 == 0o600
    words = set(re.findall(r"[\w.,]+", spec_text)) - set(names)
    values = {str(value) for row in rows for value in row}
    values |= {value.replace(".", ",") for value in values}
    assert words & values == set()
    assert str(len(rows)) not in words
    shared = {str(v) for c in zip(*rows, strict=True) for v in c if c.count(v) >= SHARED}
    texts = {str(v) for row in rows for v in row if isinstance(v, str)}
    for text in lines:  # of texts a file lists those that many rows share
        leaves = {line.split(",")[0] for line in text.splitlines()}
        assert leaves & texts <= shared


WORDS = ["Müller", "Straße", "Größe", "España", "señor", "façade", "naïve", "Åse", "plain", "a b"]
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")


@FEW
@given(
    st.lists(st.tuples(st.sampled_from(WORDS), DECIMALS, INTEGERS), min_size=3, max_size=40),
    st.sampled_from(",;\t|"),
    st.sampled_from(ENCODINGS),
    st.sampled_from(".,"),
)
def test_what_was_written_is_read(rows, delimiter, encoding, decimal):
    names = ["Wörter", "betrag", "zahl"]
    rows_read = [list(row) for row in rows]
    with tempfile.TemporaryDirectory() as place:
        made = draft(Path(place), write_csv(names, rows_read, delimiter, decimal, encoding))
        source = document(made)["source"]
        spec = confirmed_source(made)
        whole = read(spec.source, spec.columns, Path(place), {})
    assert source["csv"].get("delimiter", ",") == delimiter if "csv" in source else delimiter == ","
    texts = {c.name: pc.cast(c.array(), pa.string()).to_pylist() for c in whole.columns}
    assert texts["Wörter"] == [row[0] for row in rows_read]
    assert [float(text) for text in texts["betrag"]] == [row[1] for row in rows_read]
    assert texts["zahl"] == [str(row[2]) for row in rows_read]


def confirmed_source(made):
    """The draft with every column published, whatever its proposed role."""
    from sfumato.flows.rules.spec_parts import SpecParts

    document_ = document(made)
    types = {"Wörter": "string", "betrag": "decimal", "zahl": "integer"}
    columns = {name: {"role": "insensitive", "type": type_} for name, type_ in types.items()}
    return SpecParts.model_validate(document_ | {"columns": columns, "roles": "confirmed"})


def test_what_a_draft_says_is_read_as_a_spec(tmp_path):
    rows = [[n % 40 + 20, "abc"[n % 3], n % 7] for n in range(90)]
    assert confirm_draft(draft(tmp_path, write_csv(["age", "town", "income"], rows))).version == 2
