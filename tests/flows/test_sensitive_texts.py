"""Sensitive texts that promises cannot be about, in whole runs: refused, or only warned of."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from sfumato.tasks.publication.check import check
from tests.flows.test_release_flow import run_apart, stored_texts  # noqa: F401 - a fixture

pytestmark = pytest.mark.filterwarnings("default")
SPELLED = ("canary", "Canary ", "canary\N{NO-BREAK SPACE}", "flu", "cold", "gout")
SPEC = {
    "version": 2,
    "name": "stays",
    "title": "Stays",
    "source": {"uri": "stays.parquet", "format": "parquet"},
    "columns": {
        "person": {"role": "identifier", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "year": {"role": "quasi-identifier", "type": "integer"},
        "ill": {"role": "sensitive"},
    },
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 2}],
    "partition": {"method": "mondrian"},
    "form": {"method": "permuted"},
    "publish": {"uri": "public"},
}
IN_PARTS = {"remember": "units", "strata": ["year"], "parts": {"rows": 100}}
SAID = {"spelling": "as-written", "all-different": "a public list of case numbers"}


def write(folder, ills, first=0, keys=None, **more):
    """A spec and its source, in which people have these illnesses."""
    folder.mkdir(exist_ok=True)
    places = range(len(ills))
    rows = {
        "person": [f"IDENT-{first + place}" for place in places],
        "age": [(7 * place + first) % 60 for place in places],
        "year": [2020 + place % 2 for place in places],
        "ill": list(ills),
    }
    pq.write_table(pa.table(rows), folder / "stays.parquet")
    columns = {**SPEC["columns"], "ill": {"role": "sensitive", **(keys or {})}}
    spec = folder / "stays.yaml"
    spec.write_text(yaml.safe_dump({**SPEC, "columns": columns, **more}), encoding="utf-8")
    return str(spec)


REFUSED = {
    "columns.ill: 3 values are spellings of 1: they differ": (SPELLED * 20, {}),
    "columns.ill: 120 of 120 values occur in one row only": (
        [f"canary{number:04}" for number in range(120)],
        IN_PARTS,
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_spellings_and_values_of_their_own_are_refused(tmp_path, run_apart, prefect_api, words):  # noqa: F811
    ills, more = REFUSED[words]
    code, out, error = run_apart("release", write(tmp_path / "in", ills, **more))
    assert (code, out) == (2, "")
    (line,) = [text for text in error.splitlines() if text.startswith("sfumato:")]
    assert words in line
    listed = tmp_path / "work" / "stays" / "sensitive-texts.csv"
    assert str(listed) in line
    assert "canary" in listed.read_text(encoding="utf-8")
    assert "canary" not in (error + stored_texts(prefect_api)).lower()
    assert not list((tmp_path / "in" / "public").glob("**/[0-9]*"))


@pytest.mark.parametrize("more", [{}, IN_PARTS], ids=["whole", "in parts"])
def test_a_line_with_versions_is_warned(tmp_path, run_apart, prefect_api, more):  # noqa: F811
    spec = write(tmp_path / "in", SPELLED * 20, keys=SAID, **more)
    code, out, error = run_apart("release", spec)
    assert code == 0, error
    assert "warning" not in error
    write(tmp_path / "in", SPELLED * 20, first=1000, **more)
    code, out, error = run_apart("release", spec)
    assert code == 0, error
    assert "warning: columns.ill: 3 values are spellings of 1: " in error
    version = tmp_path / "in" / "public" / "stays" / "0002"
    assert out.splitlines()[-1] == str(version)
    check(version)
    report = tmp_path / "work" / "stays" / "reports" / "0002" / "sensitive-texts.json"
    assert "spellings of 1" in report.read_text(encoding="utf-8")
