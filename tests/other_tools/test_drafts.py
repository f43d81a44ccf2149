"""Set-ups taken over from other tools, the releases that follow, and what drafts leave out."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from sfumato.flows.cli.main import run
from tests.other_tools.projects import (
    ARX,
    CDL,
    HRC,
    NAMES,
    RDA,
    REPORT,
    SDC,
    csv_of,
    deid,
    lines_of_people,
    people,
)
from tests.profile.drafts import confirm, confirm_draft, document

K_OF_ARX = {"k": (5, 0.05), "l": (4, 0.2), "t": (3, 0)}
K_OF_SDC = {"keys": 10, "recoded": 4, "strata": 2}
BY_ARX = {
    "k": {"suppressed": 10, "groups": 21, "smallest": 5},
    "l": {"suppressed": 46, "groups": 22, "smallest": 4},
    "t": {"suppressed": 0, "groups": 8, "smallest": 7},
}
"""Figures of ARX 3.9 for the same table, hierarchies, models and limit, with its measure Loss."""


def table(place):
    (place / "people.csv").write_bytes(csv_of(people()))
    return place / "people.csv"


def release(written, capsys):
    """Publish a draft that is confirmed, unevaluated; return the facts of its manifest."""
    confirm(written)
    text, _, _ = written.spec.read_text(encoding="utf-8").partition("\nevaluate:")
    written.spec.write_text(text, encoding="utf-8")
    code = run(["release", str(written.spec)])
    outputs = capsys.readouterr()
    assert code == 0, outputs.err
    output = outputs.out.splitlines()
    manifest = Path(output[-1]) / "datapackage.json"
    return json.loads(manifest.read_text(encoding="utf-8"))["sfumato"]


def groups_of(written):
    """Published rows with each combination of quasi-identifiers, counted in the CSV file."""
    names = [
        name
        for name, column in document(written)["columns"].items()
        if column["role"] == "quasi-identifier"
    ]
    (file,) = written.spec.parent.glob("releases/*/0001/data/*.csv")
    with file.open(encoding="utf-8", newline="") as lines:
        return Counter(tuple(row[name] for name in names) for row in csv.DictReader(lines))


def observation(facts, model):
    return next(o["observed"] for o in facts["observed"] if o["promise"]["model"] == model)


@pytest.mark.parametrize("name", sorted(ARX))
def test_a_project_of_arx_is_released_with_its_own_k_and_suppression(name, tmp_path, draft, capsys):
    k, limit = K_OF_ARX[name]
    written = draft(deid(tmp_path / "people.deid", ARX[name]), table(tmp_path))
    spec = document(written)
    assert spec["promises"][0] == {"model": "k-anonymity", "k": k}
    assert spec["partition"] == {"method": "full-domain", "metric": "ncp", "suppression": limit}
    assert written.undecided is None
    facts = release(written, capsys)
    groups = groups_of(written)
    assert {
        "suppressed": facts["rows"]["suppressed"],
        "groups": len(groups),
        "smallest": min(groups.values()),
    } == BY_ARX[name]
    assert observation(facts, "k-anonymity")["k"] == BY_ARX[name]["smallest"] >= k
    assert facts["rows"]["suppressed"] <= limit * facts["rows"]["read"]


def test_roles_types_hierarchies_and_promises_of_arx(tmp_path, draft):
    written = draft(deid(tmp_path / "people.deid", ARX["l"]), table(tmp_path))
    spec = confirm_draft(written)
    assert {name: column.role for name, column in spec.columns.items()} == {
        "age": "quasi-identifier",
        "town": "quasi-identifier",
        "sex": "quasi-identifier",
        "illness": "sensitive",
    }
    assert spec.columns["age"].type == "integer"
    towns = (tmp_path / spec.columns["town"].hierarchy.file).read_text(encoding="utf-8")
    assert towns.splitlines()[0] == "Ulm,South,*"
    assert document(written)["promises"][1] == {
        "model": "l-diversity",
        "variant": "distinct",
        "l": 3,
        "sensitive": "illness",
    }


def test_a_draft_without_data_says_so_and_has_all_that_the_project_says(tmp_path, draft):
    written = draft(deid(tmp_path / "people.deid", ARX["t"]))
    text = written.spec.read_text(encoding="utf-8")
    assert written.profile is None
    assert "made by sfumato init without data" in text
    assert "# No data was read: write the path of the table under uri" in text
    assert "type: integer" in text
    assert written.undecided is None
    assert list(document(written)["columns"]) == list(NAMES)
    assert not (tmp_path / "work").exists() or not list((tmp_path / "work").rglob("*.html"))


def test_the_draft_and_the_command_say_what_was_not_taken_over(tmp_path, draft):
    made = ARX["k"] | {}
    made["input/config.xml"] = made["input/config.xml"].replace(
        "<criteria>",
        "<criteria><criterion>(1.0E-6,1.0E-5)-DP</criterion>"
        "<criterion>(0.05)-avg-reidentification-risk</criterion>",
    )
    written = draft(deid(tmp_path / "people.deid", made), table(tmp_path))
    assert any("adds randomness to get differential privacy" in o for o in written.omissions)
    assert any("(0.05)-avg-reidentification-risk: averages" in o for o in written.omissions)
    words = " ".join(written.spec.read_text(encoding="utf-8").replace("# ", "").split())
    for omission in written.omissions:
        assert omission in words


def test_data_inside_a_project_are_never_read(tmp_path, draft, monkeypatch):
    from sfumato.tasks.other_tools.hostile import Archive

    names = []
    usual = Archive.read
    monkeypatch.setattr(
        Archive, "read", lambda self, name: (names.append(name), usual(self, name))[1]
    )
    draft(deid(tmp_path / "people.deid", ARX["l"]), table(tmp_path))
    assert names
    assert not [name for name in names if name.startswith(("data/", "output/")) or ".dat" in name]


@pytest.mark.parametrize("name", sorted(SDC))
def test_a_script_with_sdcmicro_is_released_with_its_own_k(name, tmp_path, draft, capsys):
    (tmp_path / "people.R").write_text(SDC[name], encoding="utf-8")
    written = draft(tmp_path / "people.R", table(tmp_path))
    assert document(written)["promises"][0] == {"model": "k-anonymity", "k": K_OF_SDC[name]}
    assert written.undecided is None
    facts = release(written, capsys)
    assert observation(facts, "k-anonymity")["k"] == min(groups_of(written).values())
    assert min(groups_of(written).values()) >= K_OF_SDC[name]


def test_what_an_r_script_means_in_a_spec(tmp_path, draft):
    for name, script in SDC.items():
        (tmp_path / f"{name}.R").write_text(script, encoding="utf-8")
    place = table(tmp_path)
    keys = document(draft(tmp_path / "keys.R", place, "a.yaml"))
    assert keys["form"] == {"method": "suppressed", "protects": "identities"}
    assert list(keys["columns"]) == ["town", "sex"]
    recoded = draft(tmp_path / "recoded.R", place, "b.yaml")
    rows = (tmp_path / "hierarchies/b-age.draft.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == '20,"(19,29]",*'
    assert len(rows) == 60
    assert document(recoded)["columns"]["illness"]["role"] == "sensitive"
    strata = document(draft(tmp_path / "strata.R", place, "c.yaml"))
    assert strata["strata"] == ["town"]
    assert strata["columns"]["age"]["top"] == 60


def test_a_report_of_sdcmicro_as_markdown_and_as_a_page(tmp_path, draft):
    (tmp_path / "report.md").write_text(REPORT, encoding="utf-8")
    items = "".join(f"<li>{line[2:]}</li>" for line in REPORT.splitlines() if line[:2] == "- ")
    page = f"<html><script>x <- 1</script><body><ul>{items.replace('*', '')}</ul></body></html>"
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    specs = [
        document(draft(tmp_path / file, table(tmp_path), f"{file[-2:]}.yaml"))
        for file in ("report.md", "report.html")
    ]
    assert specs[0]["promises"] == specs[1]["promises"]
    assert specs[0]["promises"][0] == {"model": "k-anonymity", "k": 3}
    assert {n: c["role"] for n, c in specs[1]["columns"].items()} == {
        "age": "quasi-identifier",
        "town": "quasi-identifier",
        "sex": "quasi-identifier",
        "illness": "sensitive",
    }


def test_hierarchies_of_arx_from_a_folder_and_from_one_file(tmp_path, draft):
    folder = tmp_path / "hierarchies-of-arx"
    folder.mkdir()
    (folder / "town.csv").write_text("Ulm;South\nBonn;West\nKiel;North\nJena;East\n")
    (folder / "sex.csv").write_text("F;Any\nM;Any\n")
    (folder / "age.csv").write_text("20;low\n20;high\n")
    (folder / "notes.txt").write_text("not looked at")
    (folder / "link.csv").symlink_to(folder / "town.csv")
    place = table(tmp_path)
    written = draft(folder, place)
    assert (tmp_path / "hierarchies/drafted-town.draft.csv").read_text().startswith("Ulm,South,*")
    assert (tmp_path / "hierarchies/drafted-sex.draft.csv").read_text() == "F,*\nM,*\n"
    assert any("the leaf is in an earlier row already" in o for o in written.omissions)
    assert any("links in a folder are not followed" in o for o in written.omissions)
    single = draft(folder / "town.csv", place, "single.yaml")
    assert single.changes == ("the hierarchy of 'town' (a last level * was added)",)


def test_metadata_of_tau_argus_read_a_file_of_fixed_width(tmp_path, draft, capsys):
    for name, text in {"people.rda": RDA, "town.cdl": CDL, "TOWN.HRC": HRC}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "people.asc").write_bytes(lines_of_people())
    written = draft(tmp_path / "people.rda", tmp_path / "people.asc")
    spec = document(written)
    assert spec["source"]["csv"] == {
        "header": ["age", "town", "sex", "cost"],
        "widths": [[1, 2], [3, 4], [7, 1], [8, 6]],
    }
    assert spec["columns"]["town"]["labels"]["Ulm"] == "City of Ulm"
    assert spec["columns"]["cost"] == {"role": "sensitive", "type": "decimal"}
    assert (tmp_path / "hierarchies/drafted-town.draft.csv").read_text() == (
        "Ulm,South,*\nBonn,Other,*\nKiel,Other,*\nJena,Other,*\n"
    )
    assert any("codes for missing values of 'age'" in omission for omission in written.omissions)
    facts = release(written, capsys)
    assert facts["rows"]["read"] == 240


def test_columns_that_the_table_lacks_are_named_with_the_nearest(tmp_path, draft):
    rows = [row[:2] for row in people()]
    (tmp_path / "people.csv").write_bytes(csv_of(rows, ("age", "Town")))
    written = draft(deid(tmp_path / "people.deid", ARX["l"]), tmp_path / "people.csv")
    assert "column 'town': the data have no such column: 'Town'?" in written.omissions
    assert any(o.startswith("l-diversity of 'illness'") for o in written.omissions)


def test_a_table_of_other_columns_is_refused(tmp_path, draft):
    from sfumato.expectations.shared.errors import SpecError

    (tmp_path / "other.csv").write_bytes(csv_of([(n, n % 7) for n in range(50)], ("a", "b")))
    with pytest.raises(SpecError, match="no column of the ARX project is in the data"):
        draft(deid(tmp_path / "people.deid", ARX["l"]), tmp_path / "other.csv")


def test_households_need_a_column_of_people(tmp_path, draft):
    script = 'x <- createSdcObj(p, c("town", "sex"), hhId = "hh")\nx <- localSuppression(x, 3)\n'
    (tmp_path / "people.R").write_text(script, encoding="utf-8")
    rows = [(n, n // 3, *row[1:3]) for n, row in enumerate(people())]
    (tmp_path / "with.csv").write_bytes(csv_of(rows, ("person_id", "hh", "town", "sex")))
    written = draft(tmp_path / "people.R", tmp_path / "with.csv", "with.yaml")
    assert document(written)["household"] == "hh"
    (tmp_path / "without.csv").write_bytes(csv_of([r[1:] for r in rows], ("hh", "town", "sex")))
    other = draft(tmp_path / "people.R", tmp_path / "without.csv", "without.yaml")
    assert "household" not in document(other)
    assert any(o.startswith("the households of 'hh': promises over") for o in other.omissions)
