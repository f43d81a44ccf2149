"""Rules of the owner's own in whole runs, and what is kept of the gate's judgement."""

import json
import stat

import pytest

from sfumato.tasks.publication.check import check
from tests.flows.test_release_flow import artifacts, run_apart, stored_texts  # noqa: F401 - a fixture
from tests.release.small import people

pytestmark = pytest.mark.filterwarnings("default")
ROWS = {"expect_table_row_count_to_be_between": {"min_value": 10}}
AGES = {"expect_column_values_to_be_between": {"column": "age", "max_value": 120}}
TOWNS = {"expect_column_values_to_match_regex": {"column": "town", "regex": "^[A-C]"}}


def test_what_the_owner_expects_is_judged_and_kept(small, run_apart, prefect_api):  # noqa: F811
    rules = {"source": [ROWS, AGES], "release": [ROWS, TOWNS]}
    code, out, error = run_apart("release", str(small.write(people(), expectations=rules).spec))
    assert code == 0, error
    version = small.folder / "public" / "wages" / "0001"
    check(version)
    public = "".join(
        path.read_bytes().decode("latin-1") for path in version.parent.rglob("*") if path.is_file()
    )
    assert "great-expectations" not in public
    assert "owner" not in json.loads((version / "validation.json").read_text("utf-8")).__repr__()
    reports = small.folder.parent / "work" / "wages" / "reports" / "0001" / "great-expectations"
    for kind, tables in (("source", ["source"]), ("release", ["microdata"])):
        for table in tables:
            name = f"wages.owner.{table}.json"
            judged = json.loads((reports / kind / name).read_text(encoding="utf-8"))
            assert judged["success"] is True
            assert judged["statistics"]["evaluated_expectations"] == 2
    page = reports / "release" / "data-docs" / "index.html"
    assert "wages.owner.microdata" in page.read_text(encoding="utf-8")
    assert page.as_uri() in artifacts(prefect_api)["wages-data-docs"]["data"]
    for path in [reports, *reports.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    written = "".join(
        p.read_text(encoding="utf-8", errors="replace") for p in reports.rglob("*") if p.is_file()
    )
    assert "IDENT-" not in written
    assert "Cé, the long" not in written
    # other rules are no other version
    small.write(people(), expectations={"source": [ROWS]})
    code, out, error = run_apart("release", str(small.spec))
    assert (code, out.splitlines()[-1]) == (0, str(version))


REFUSED = {
    "source: expect_column_values_to_be_between of 'age' is broken, observed 1": {
        "source": [AGES, ROWS]
    },
    "microdata: expect_column_values_to_match_regex of 'town' is broken, observed 1": {
        "release": [TOWNS, ROWS]
    },
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_the_owner_does_not_expect_is_refused(small, run_apart, prefect_api, words):  # noqa: F811
    rows = people()
    rows[7] |= {"age": 987654, "town": "canary-town"}
    small.write(rows, expectations=REFUSED[words])
    code, out, error = run_apart("release", str(small.spec))
    assert (code, out) == (3, "")
    (line,) = [text for text in error.splitlines() if text.startswith("sfumato:")]
    assert line.endswith(words)
    assert list((small.folder / "public" / "wages").glob("[0-9]*")) == []
    everything = error + stored_texts(prefect_api)
    assert "987654" not in everything
    assert "canary-town" not in everything
