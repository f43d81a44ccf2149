"""Specs of two tables in the workbench: each step shows them, or says what to do instead."""

import time
from threading import Thread

import pytest
import yaml

from sfumato.flows.workbench.serve import open_workbench
from sfumato.flows.workbench.steps import STEPS
from tests.facts.clinic import clinic, spec_of_clinic
from tests.related.hospital import made_up, spec_with
from tests.workbench.test_walk import Watched, browser, page

__all__ = ["browser", "page"]

NAME = "hospital.yaml"


@pytest.fixture
def hospital(folder):
    """A spec of two tables in the folder of the workbench."""
    workloads = [
        {"kind": "range", "aggregate": "count", "over": "age", "spans": [20], "queries": 3}
    ]
    return spec_with(
        folder, made_up(4, 60), evaluate={"workloads": workloads}, publish={"uri": "releases"}
    )


def digest_of(visitor, step):
    page = visitor.get(f"/{step}/{NAME}").text
    return page.partition('name="digest" value="')[2].partition('"')[0]


def page_with(visitor, path, words):
    """The page once it has words that need counts."""
    for _ in range(100):
        page = visitor.get(path).text
        if words in page:
            return page
        time.sleep(0.1)
    raise AssertionError(words)


@pytest.mark.parametrize("step", [step.name for step in STEPS])
def test_every_step_shows_two_tables(hospital, visitor, step):
    answer = visitor.get(f"/{step}/{NAME}")
    assert answer.status_code == 200
    assert 'role="alert"' not in answer.text
    assert "Traceback" not in answer.text


def test_two_tables_are_a_spec_of_the_folder(hospital, visitor):
    assert f"columns/{NAME}" in visitor.get("/").text


def test_columns_of_both_tables_are_shown_and_changed(hospital, visitor):
    people = page_with(visitor, f"/columns/{NAME}", "60 rows were read")
    assert "rows that belong to patients" in people
    assert "role:age" in people
    assert "role:diagnosis" not in people
    rows = page_with(visitor, f"/columns/{NAME}?table=stays", "rows were read")
    assert "role:diagnosis" in rows
    assert "role:patient" not in rows
    assert "names people in both tables" in rows
    answer = visitor.post(
        f"/columns/{NAME}",
        {
            "action": "roles",
            "digest": digest_of(visitor, "columns"),
            "table": "stays",
            "column": "cost",
            "role:cost": "drop",
            "type:cost": "integer",
            "nulls:cost": "",
        },
    )
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("?table=stays")
    columns = yaml.safe_load(hospital.read_text("utf-8"))["tables"]["stays"]["columns"]
    assert columns["cost"]["role"] == "drop"
    assert columns["patient"] == {"role": "key"}


def test_promises_of_two_tables_are_written_as_text(hospital, visitor):
    page = visitor.get(f"/promise/{NAME}").text
    assert "{model: people, k: 2}" in page
    assert "related-alpha" in page
    diverse = "{model: related-l-diversity, l: 3, sensitive: diagnosis}"
    sent = {
        "action": "two",
        "digest": digest_of(visitor, "promise"),
        "promise": ["{model: people, k: 4}", "", diverse],
    }
    answer = visitor.post(f"/promise/{NAME}", sent)
    assert answer.status_code == 303
    promises = yaml.safe_load(hospital.read_text("utf-8"))["promises"]
    assert [promise.get("k") or promise.get("l") for promise in promises] == [4, 3]


def test_steps_of_one_table_say_what_to_do_instead(hospital, visitor):
    assert "Two tables need no hierarchies" in visitor.get(f"/hierarchies/{NAME}").text
    page = visitor.get(f"/partition/{NAME}").text
    assert "Two tables have one form" in page
    assert "generalized" not in page
    assert "Compare alternatives" in page
    assert "picked at random" not in visitor.get(f"/questions/{NAME}").text


def test_two_files_are_drafted_from_the_first_page(hospital, visitor):
    assert "Two tables, such as people" in visitor.get("/").text
    answer = visitor.post(
        "/draft", {"file": "stays.csv", "rows": "patients.csv", "spec": "both.yaml", "key": ""}
    )
    assert answer.status_code == 303
    job = visitor.workbench.bench.jobs.job(answer.headers["location"].rpartition("/")[2])
    for _ in range(300):
        if not job.is_running:
            break
        time.sleep(0.1)
    assert job.state == "done", job.message
    document = yaml.safe_load((hospital.parent / "both.yaml").read_text("utf-8"))
    assert list(document["tables"]) == ["patients", "stays"]
    assert "rows that belong to patients" in visitor.get("/columns/both.yaml").text


def test_facts_of_people_are_in_no_source(folder, visitor):
    spec_of_clinic(folder, clinic(4, 60), publish={"uri": "releases"})
    people = page_with(visitor, f"/columns/{NAME}", "60 rows were read")
    assert "cannot be counted" not in people
    assert "role:readmitted" in people


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_every_step_of_two_tables_fits_on_a_telephone(page, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    spec = spec_of_clinic(tmp_path / "folder", clinic(4, 60), publish={"uri": "releases"})
    watched = Watched(page)
    with open_workbench(spec, {"SFUMATO_WORK": str(tmp_path / "work")}) as workbench:
        serving = Thread(target=workbench.run, daemon=True)
        serving.start()
        page.goto(workbench.opening.as_uri())
        page.wait_for_url("**/columns/hospital.yaml")
        entrance = page.url.rsplit("/", 2)[0]
        page.get_by_text("60 rows were read").wait_for()
        for path in (*(f"{step.name}/{NAME}" for step in STEPS), f"columns/{NAME}?table=stays", ""):
            page.goto(f"{entrance}/{path}")
            watched.look()
            clipped = page.evaluate(
                "[...document.querySelectorAll('main .scroll')]"
                ".filter((part) => part.scrollWidth > part.clientWidth + 1).length"
            )
            assert not clipped, path
        assert watched.complaints == []
    serving.join(timeout=10)
