"""The steps of the workbench, as forms and links: what each writes into the spec."""

import hashlib
import json
import re
import time
from pathlib import Path

import pytest
import yaml

from sfumato.flows.workbench import app, jobs, pages
from sfumato.flows.workbench.desk import Folder
from sfumato.flows.workbench.jobs import Job
from sfumato.flows.workbench.pages import static_file
from sfumato.flows.workbench.partition import FORMS
from sfumato.flows.workbench.promise import ADDED, QUESTIONS, numbers_of
from sfumato.flows.workbench.questions import words_of
from sfumato.flows.workbench.steps import STEPS
from sfumato.tasks.forms.parameters import OF_ONE_TABLE
from tests.workbench.conftest import SPEC

NAME = "patients.yaml"


@pytest.fixture
def text(folder):
    return lambda: (folder / NAME).read_text(encoding="utf-8")


@pytest.fixture
def document(text):
    return lambda: yaml.safe_load(text())


@pytest.mark.parametrize("step", [step.name for step in STEPS])
def test_every_step_has_a_private_page(visitor, step):
    answer = visitor.get(f"/{step}/{NAME}")
    assert answer.status_code == 200
    assert answer.text.count("PRIVATE") >= 2
    assert answer.text.count('aria-current="step"') == 1
    assert 'role="alert"' not in answer.text


def test_pages_name_no_other_host(visitor):
    for path in ("/", "/table?file=patients.csv", *(f"/{step.name}/{NAME}" for step in STEPS)):
        links = re.findall(r'(?:href|src|action|hx-get)="([^"]*)"', visitor.get(path).text)
        inside = ("#", visitor.place, "data:,")
        assert [link for link in links if not link.startswith(inside)] == []


def test_scripts_store_nothing_and_evaluate_nothing():
    own, vendored = static_file("workbench.js")[0].decode(), static_file("htmx.js")[0].decode()
    assert not re.search(
        r"Storage\.(?!clear\(\))|innerHTML|\beval\b|document\.cookie|indexedDB|https?:", own
    )
    assert "allowEval" in vendored


FIELDS = (
    *("column", "kind", "widths", "period", "cuts", "text", "model", "question", "name", "policy"),
    *("form", "partition", "sql", "aggregate", "levels", "over", "attributes", "version", "rule"),
    *("reason", "certain", "unit", "keys", "words", "place", "number", "file", "candidate"),
    *("decision", "0.k", "role:age"),
)


@pytest.mark.parametrize(
    "garbage", ["", "x", "-1", "{", "../../etc/passwd", "9" * 400, "\0", "é\n"]
)
def test_forms_of_strangers_break_nothing(visitor, monkeypatch, garbage):
    monkeypatch.setattr(jobs, "_COMMAND", "pass")
    faults = []
    monkeypatch.setattr(app, "failure_of", lambda error: faults.append(error) or error)
    for step in STEPS:
        for action in (*step.actions, "nothing"):
            answer = visitor.act(step.name, NAME, action, **dict.fromkeys(FIELDS, garbage))
            assert answer.status_code in (303, 422), (step.name, action)
            visitor.undo("columns", NAME)
    assert faults == []


def test_vendored_code_is_as_stated():
    vendor = Path(pages.__file__).with_name("static") / "vendor"
    stated = (vendor / "README.md").read_text(encoding="utf-8")
    files = [path for path in vendor.iterdir() if path.suffix == ".js"]
    assert [path.name for path in files] == ["htmx.min.js"]
    digest = hashlib.sha256(files[0].read_bytes()).hexdigest()
    assert f"`htmx.min.js` | `dist/htmx.min.js` | `{digest}`" in stated
    assert (vendor / "LICENSE").is_file()


class TestTheTable:
    def test_it_is_shown_as_it_is_read(self, visitor):
        page = visitor.get("/table?file=patients.csv").text
        assert re.search(r"<dt>encoding</dt><dd><code>utf-8</code>", page)
        assert re.search(r'<th scope="col">patient</th><th scope="col">age</th>', page)

    def test_it_is_read_again_in_another_way(self, visitor, folder):
        (folder / "odd.csv").write_text("a;b\n1;2\n3;4\n", encoding="utf-8")
        fields = {"file": "odd.csv", "delimiter": ";", "header": "no", "columns": "x, y"}
        answer = visitor.post("/table", fields)
        assert answer.headers["location"] == f"{visitor.place}/table?file=odd.csv"
        page = visitor.get("/table?file=odd.csv").text
        assert '<th scope="col">x</th><th scope="col">y</th>' in page
        assert "<td>a</td><td>b</td>" in page
        visitor.post("/table", {"file": "odd.csv", "columns": "v, w"})
        page = visitor.get("/table?file=odd.csv").text
        assert '<th scope="col">v</th><th scope="col">w</th>' in page
        assert "<td>a</td><td>b</td>" in page  # names mean that there is no header
        assert visitor.post("/table", {"file": "../odd.csv"}).status_code == 422

    def test_a_fault_is_named_with_its_line(self, visitor, folder):
        (folder / "bad.csv").write_text("a,b\n1,2\n1,2,3\n4,5\n", encoding="utf-8")
        page = visitor.get("/table?file=bad.csv").text
        assert "line 3 has 3 fields" in page

    def test_a_file_that_cannot_be_read_is_shown_as_it_is(self, visitor, folder):
        """The reason names fields of the page, and the draft waits until the file can be read."""
        text = "Röra;Auszug\nOrt;Alter\nNås;39\nÅre;50\n"
        (folder / "people.csv").write_bytes(text.encode("windows-1252"))
        page = visitor.get("/table?file=people.csv").text
        assert "“first line names the columns: no”" in page
        assert "--header" not in page
        assert "1  Röra;Auszug\n" in page
        assert "Draft the spec</button>" not in page
        visitor.post("/table", {"file": "people.csv", "skip": "1"})
        page = visitor.get("/table?file=people.csv").text
        assert '<th scope="col">Alter</th>' in page
        assert "<td>Nås</td>" in page
        assert "Draft the spec</button>" in page

    def test_words_for_missing_values_are_proposed_before_the_draft(self, visitor, folder):
        rows = [f"{n}.03.19{n:02};{n},5;{n % 3}" for n in range(40, 80)]
        rows += ["unbekannt;NA;?", "01.04.1950;k.A.;?"]
        (folder / "odd.csv").write_text("born;cost;ward\n" + "\n".join(rows), encoding="utf-8")
        page = visitor.get("/table?file=odd.csv").text
        assert "<code>(empty), ?</code>" in page  # among numbers alone, it is known
        for word, column in (("unbekannt", "born"), ("k.A.", "cost"), ("NA", "cost")):
            assert f'value="{word}"> <span><code>{word}</code> in {column}</span>' in page
        fields = {"file": "odd.csv", "marked-null": ["unbekannt", "k.A."], "null": "none, -9"}
        visitor.post("/table", fields)
        page = visitor.get("/table?file=odd.csv").text
        assert "<code>(empty), unbekannt, k.A., none, -9, NA, ?</code>" in page
        assert page.count(" checked> <span><code>") == 4

    def test_hierarchies_are_no_tables_and_reserved_names_no_specs(self, visitor, folder):
        """The directory of people's keys is called `people`, so that no line can be."""
        page = visitor.get("/").text
        assert "file=patients.csv" in page
        assert "town.csv" not in page
        (folder / "people.csv").write_text("a,b\n1,2\n", encoding="utf-8")
        page = visitor.get("/table?file=people.csv").text
        assert 'name="spec" value="people-data.yaml"' in page

    def test_a_dropped_file_goes_only_into_the_work_directory(self, visitor, folder, tmp_path):
        headers = {"cookie": visitor.cookie, "origin": visitor.own}
        path = f"{visitor.place}/dropped/june.csv"
        answer = visitor.client.request("PUT", path, content=b"a,b\n1,2\n", headers=headers)
        assert answer.status_code == 303
        files = list(tmp_path.rglob("june.csv"))
        assert files == [tmp_path / "work" / ".workbench" / "dropped" / "june.csv"]
        assert files[0].stat().st_mode & 0o777 == 0o600
        assert files[0].parent.stat().st_mode & 0o777 == 0o700
        fields = {"name": "june.csv", "target": "../june.csv"}
        assert visitor.post("/place", fields).status_code == 422
        fields["target"] = "patients.csv"
        assert visitor.post("/place", fields).status_code == 422
        fields["target"] = "june.csv"
        assert visitor.post("/place", fields).status_code == 303
        assert (folder / "june.csv").read_bytes() == b"a,b\n1,2\n"
        assert not files[0].exists()

    @pytest.mark.parametrize("name", ["..%2Fx.csv", "x.exe", ".csv%00", "x.html.sh"])
    def test_a_file_with_another_name_is_not_taken(self, visitor, tmp_path, name):
        headers = {"cookie": visitor.cookie, "origin": visitor.own}
        path = f"{visitor.place}/dropped/{name}"
        answer = visitor.client.request("PUT", path, content=b"x", headers=headers)
        assert answer.status_code in (404, 405, 422)
        assert list((tmp_path / "work" / ".workbench" / "dropped").glob("*")) == []


class TestColumns:
    def test_reasons_counts_and_unique_people_are_shown(self, visitor):
        page = visitor.get(f"/columns/{NAME}").text
        assert "neighbours know it" in page
        assert "72 different" in page
        assert re.search(r"400 rows were read.*\s*<strong>190</strong> are unique", page)

    def test_a_role_is_changed_and_everything_else_stays(self, visitor, text):
        fields = {"column": "town", "role:town": "drop", "type:town": "string", "nulls:town": ""}
        assert visitor.act("columns", NAME, "roles", **fields).status_code == 303
        old = "town: {role: quasi-identifier, hierarchy: hierarchies/town.csv}"
        assert text() == SPEC.replace(old, "town: {role: drop}")
        assert visitor.undo("columns", NAME).status_code == 303
        assert text() == SPEC

    def test_settings_that_a_role_does_not_admit_go_with_it(self, visitor, document):
        fields = {"column": "town", "role:town": "drop", "type:town": "string", "nulls:town": ""}
        visitor.act("columns", NAME, "roles", **fields)
        assert document()["columns"]["town"] == {"role": "drop"}
        fields = {"column": "age", "role:age": "sensitive", "type:age": "string", "nulls:age": ""}
        visitor.act("columns", NAME, "roles", **fields)
        assert document()["columns"]["age"] == {"role": "sensitive"}

    def test_roles_that_were_chosen_are_confirmed(self, visitor, folder, document):
        (folder / NAME).write_text(f"roles: proposed\n{SPEC}", encoding="utf-8")
        fields = {"column": "sex", "role:sex": "drop", "type:sex": "string", "nulls:sex": ""}
        answer = visitor.act("columns", NAME, "confirm", **fields)
        assert answer.headers["location"].endswith(f"/hierarchies/{NAME}")
        assert document()["roles"] == "confirmed"
        assert document()["columns"]["sex"] == {"role": "drop"}

    def test_a_dropped_column_has_its_reason_and_comes_back_as_its_values_are(
        self, visitor, folder, document
    ):
        comment = "# Dropped columns, each with the reason:\n#   cost: too\n# private\n"
        text = SPEC.replace("  cost: {role: sensitive, type: integer}\n", "")
        text = text.replace("columns:\n", f"{comment}other-columns: drop\ncolumns:\n")
        text = text.replace("  format:", "  seen: [patient, age, sex, town, cost]\n  format:")
        (folder / NAME).write_text(text, encoding="utf-8")
        page = visitor.get(f"/columns/{NAME}").text
        assert '<p class="meaning">too private</p>' in page
        section = page[page.index('name="role:cost"') :]
        assert re.search(r"<option selected>integer</option>", section)
        fields = {"column": "cost", "role:cost": "sensitive", "type:cost": "decimal"}
        visitor.act("columns", NAME, "roles", **fields, **{"nulls:cost": "drop-row"})
        new = {"role": "sensitive", "type": "decimal", "nulls": "drop-row"}
        assert document()["columns"]["cost"] == new

    def test_all_settings_of_a_column_are_written_as_typed(self, visitor, text):
        keys = "{role: quasi-identifier, type: integer, top: 90, hierarchy: {intervals: [10, 20]}}"
        visitor.act("columns", NAME, "keys", column="age", keys=keys)
        assert f"  age: {keys}\n" in text()
        assert visitor.act("columns", NAME, "keys", column="age", keys="{").status_code == 422

    def test_words_for_missing_values(self, visitor, document):
        visitor.act("columns", NAME, "null-words", words="NA, 999")
        assert document()["source"]["csv"] == {"null_values": ["", "NA", "999"]}
        assert 'value="NA, 999"' in visitor.get(f"/columns/{NAME}").text

    def test_rows_may_be_people(self, visitor, document):
        assert visitor.act("columns", NAME, "unit", unit="row").status_code == 303
        assert document()["unit"] == "row"
        assert "unit" not in document()["columns"]["patient"]
        visitor.act("columns", NAME, "unit", unit="patient")
        assert document()["columns"]["patient"]["unit"] is True
        assert "unit" not in document()

    def test_a_broken_promise_of_the_spec_does_not_close_the_page(self, visitor):
        fields = {"column": "cost", "role:cost": "drop", "type:cost": "integer"}
        visitor.act("columns", NAME, "roles", **fields)
        page = visitor.get(f"/columns/{NAME}").text
        assert "A release would be refused" in page
        assert "72 different" in page

    def test_two_tabs_do_not_overwrite_each_other(self, visitor, text):
        page = visitor.get(f"/columns/{NAME}").text
        digest = re.search(r'name="digest" value="(\w+)"', page)[1]
        visitor.act("columns", NAME, "unit", unit="row")
        first = text()
        fields = {"action": "unit", "digest": digest, "unit": "patient"}
        answer = visitor.post(f"/columns/{NAME}", fields)
        assert answer.status_code == 409
        assert "in another tab or outside" in answer.text
        assert text() == first


class TestHierarchies:
    def test_levels_have_their_counts(self, visitor):
        page = visitor.get(f"/hierarchies/{NAME}").text
        assert re.search(r'<th scope="row">west</th><td class="number">\d+</td>', page)
        counted = visitor.get(f"/hierarchies/{NAME}?level:age=3&level:town=2&size=10").text
        assert re.search(r"[1-9]\d? groups of equal labels", counted)

    def test_cut_points_become_ranges(self, visitor, folder, document):
        fields = {"column": "age", "cuts": "30, 60\n60"}
        assert visitor.act("hierarchies", NAME, "cuts", **fields).status_code == 303
        file = folder / document()["columns"]["age"]["hierarchy"]["file"]
        rows = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines()]
        assert ["30", "30 to 59", "15 to 59", "*"] in rows
        assert "15, 30, 60" in visitor.get(f"/hierarchies/{NAME}").text
        visitor.undo("hierarchies", NAME)
        assert not file.exists()
        assert "intervals" in document()["columns"]["age"]["hierarchy"]

    def test_ranges_have_about_as_many_rows(self, visitor, folder, document):
        visitor.act("hierarchies", NAME, "quantiles", column="age", number="4")
        page = visitor.get(f"/hierarchies/{NAME}").text
        section = page[page.index("Level 1 of age") :]
        rows = [int(n) for n in re.findall(r'class="number">(\d+)</td>', section)[:4]]
        assert sum(rows) == 400
        assert max(rows) < 140

    def test_groups_of_values(self, visitor, folder):
        groups = {"group:Breda": "south", "group:Delft": "west", "group:Gouda": "west"}
        visitor.act("hierarchies", NAME, "groups", column="town", **groups)
        text = (folder / "hierarchies" / "town.csv").read_text(encoding="utf-8")
        assert "Gouda,west,*\n" in text
        assert "Leiden,Leiden,*\n" in text

    def test_a_hierarchy_of_arx(self, visitor, folder):
        arx = "Breda;S;*\nDelft;W;*\nGouda;W;*\nLeiden;W;*\nUtrecht;M;*\n"
        (folder / "arx.csv").write_text(arx, encoding="utf-8")
        visitor.act("hierarchies", NAME, "import", column="town", file="arx.csv")
        text = (folder / "hierarchies" / "town.csv").read_text(encoding="utf-8")
        assert text == arx.replace(";", ",")

    @pytest.mark.parametrize("number", ["1", "0", "-5", "1000000000", "x"])
    def test_other_numbers_of_ranges_are_refused(self, visitor, text, number):
        answer = visitor.act("hierarchies", NAME, "quantiles", column="age", number=number)
        assert answer.status_code == 422
        assert text() == SPEC

    def test_levels_that_do_not_nest_are_refused(self, visitor, folder):
        answer = visitor.act("hierarchies", NAME, "cuts", column="age", cuts="30\n40")
        assert answer.status_code == 422
        assert not (folder / "hierarchies" / "patients-age.csv").exists()


class TestPromise:
    @pytest.mark.parametrize("name", list(QUESTIONS))
    def test_a_question_writes_what_a_release_accepts(self, visitor, document, folder, name):
        counts = SPEC.replace("aggregate: avg", "aggregate: count")  # every form answers them
        (folder / NAME).write_text(counts, encoding="utf-8")
        visitor.act("promise", NAME, "answer", question=name)
        assert document()["form"] == QUESTIONS[name].form
        page = visitor.get(f"/promise/{NAME}").text
        assert "A release would be refused" not in page

    @pytest.mark.parametrize("model", list(ADDED))
    def test_every_promise_has_sliders_with_words(self, model):
        numbers = list(numbers_of(ADDED[model]))
        assert numbers
        assert all(number.words for number in numbers)

    def test_a_number_is_changed_and_its_comment_stays(self, visitor, text):
        visitor.act("promise", NAME, "numbers", **{"0.k": "7"})
        assert text() == SPEC.replace("k: 5}  # asked", "k: 7}  # asked")

    def test_a_slider_is_answered_from_counts(self, visitor):
        page = visitor.get(f"/promise/{NAME}?0.k=3&1.l=4").text
        assert "groups of fewer than 3 now" in page
        assert "fewer than 4 values of cost now" in page

    def test_sliders_of_other_promises_are_answered_from_counts_too(self, visitor, folder):
        promises = """\
  - {model: t-closeness, t: 0.2, distance: equal}
  - {model: beta-likeness, beta: 2}
  - {model: delta-disclosure, delta: 1}
  - {model: ke-anonymity, k: 2, e: 100}
  - {model: delta-presence, min: 0.1, max: 0.5}
"""
        begin, end = SPEC.index("  - {model: k"), SPEC.index("partition:")
        (folder / NAME).write_text(SPEC[:begin] + promises + SPEC[end:], encoding="utf-8")
        page = visitor.get(f"/promise/{NAME}?0.t=1&1.beta=9&2.delta=4&3.e=0").text
        for numbers in ("t 1", "beta 9", "delta 4", "k 2, e 0"):
            words = f"rows in groups that break it by their values of cost now ({numbers})"
            assert words in page
        row = page[page.index("of cost now (t 1)") :]
        assert re.search(r'class="number">(\d+)</td>', row)[1] == "0"
        assert "<code>delta-presence: min</code>" in page
        assert re.search(r'type="range" id="r-3-e"[^>]* max="\d+', page)

    def test_a_draft_is_made_in_the_background(self, visitor, monkeypatch):
        monkeypatch.setattr(jobs, "_COMMAND", "import time; time.sleep(60)")
        answer = visitor.act("promise", NAME, "draft")
        assert answer.headers["location"] == f"{visitor.place}/promise/{NAME}"
        page = visitor.get(f"/promise/{NAME}").text
        assert "A draft computes it: it begins" in page
        assert re.search(r'aria-labelledby="after" hx-get="[^"]+"', page)

    @pytest.mark.parametrize("text", ["2.5", "-1", "x", "1e999999", "1e-999999", "nan", "", "²"])
    def test_other_texts_than_numbers_do_no_harm(self, visitor, text):
        for path in ("promise", "hierarchies"):
            fields = f"0.k={text}&1.l={text}&level:age={text}&size={text}"
            assert visitor.get(f"/{path}/{NAME}?{fields}").status_code == 200

    def test_promises_are_added_and_removed(self, visitor, text):
        visitor.act("promise", NAME, "add", model="t-closeness")
        line = "  - {model: t-closeness, t: 0.2, distance: equal}\n"
        assert line in text()
        visitor.act("promise", NAME, "remove", place="2")
        assert text() == SPEC

    def test_a_policy_of_another_place_is_not_read(self, visitor, folder, document):
        (folder.parent / "policy.yaml").write_text("CANARY: 1\n", encoding="utf-8")
        page = visitor.get(f"/promise/{NAME}?policy=../policy.yaml").text
        assert "there is no such policy" in page
        assert "CANARY" not in page
        answer = visitor.act("promise", NAME, "policy", policy="../policy.yaml")
        assert answer.status_code == 422
        assert "policy" not in document()

    def test_a_policy_is_compared_and_kept(self, visitor, document):
        page = visitor.get(f"/promise/{NAME}?policy=statistical-office").text
        assert re.search(r'class="(kept|broken)">', page)
        visitor.act("promise", NAME, "policy", policy="statistical-office")
        assert document()["policy"] == "statistical-office"


class TestFormAndPartition:
    def test_every_form_is_explained(self):
        assert FORMS.keys() == {*OF_ONE_TABLE}

    def test_a_form_is_chosen(self, visitor, document):
        visitor.act("partition", NAME, "choose", form="suppressed", partition="mondrian")
        assert document()["form"] == {"method": "suppressed"}
        assert document()["partition"] == {"method": "mondrian"}

    def test_settings_are_written_as_typed(self, visitor, text):
        keys = {"partition": "{method: mondrian, mode: relaxed}", "form": "{method: generalized}"}
        visitor.act("partition", NAME, "keys", **keys)
        assert text() == SPEC.replace("{method: mondrian}", "{method: mondrian, mode: relaxed}")

    def test_a_recommendation_is_shown_beside_the_others_and_taken(
        self, visitor, workbench, folder, text
    ):
        taken = SPEC.replace("{method: mondrian}", "{method: full-domain}")
        (folder / "patients.recommended.yaml").write_text(taken, encoding="utf-8")
        figures = {"width": 0.5, "accuracy": 0.2, "groups": 44, "suppressed": 0}
        rows = [
            {"name": "full-domain · generalized", "guessed": 0.1, **figures},
            {"name": "ke · permuted", "guessed": 0.3, "promise": "another", **figures},
            {"name": "forest · suppressed", "guessed": None, "hides": {"age": 0.97}, **figures},
        ]
        document = {
            "alternatives": rows,
            "not-admitted": {"it needs another form": ["x", "y"]},
            "recommended": rows[0]["name"],
            "spec": "patients.recommended.yaml",
            "page": "",
        }
        digest = workbench.bench.desk.open(NAME).digest
        job = Job("id", "compare", "A comparison", NAME, digest, "/", None, code=0)
        job.output = json.dumps(document)
        workbench.bench.jobs._jobs[job.id] = job
        page = visitor.get(f"/partition/{NAME}").text
        assert page.count("±10 %") == 3
        assert "hides age in 97 %" in page
        assert 'class="front"' in page
        assert visitor.act("partition", NAME, "take").status_code == 303
        assert text() == taken
        assert "Outdated" in visitor.get(f"/partition/{NAME}").text
        assert visitor.act("partition", NAME, "take").status_code == 422

    def test_without_questions_nothing_is_compared(self, visitor, folder):
        begin = SPEC.index("evaluate:")
        (folder / NAME).write_text(SPEC[:begin], encoding="utf-8")
        for step in ("partition", "promise"):
            page = visitor.get(f"/{step}/{NAME}").text
            assert "There are no questions yet" in page
            assert f'<a href="{visitor.place}/questions/{NAME}">Add some' in page
        visitor.act("questions", NAME, "ask", sql="SELECT COUNT(*) FROM microdata")
        assert "Compare alternatives" in visitor.get(f"/partition/{NAME}").text

    def test_nothing_is_taken_before_a_comparison(self, visitor, text):
        assert visitor.act("partition", NAME, "take").status_code == 422
        assert text() == SPEC


class TestQuestions:
    def test_questions_are_added_and_removed(self, visitor, document):
        fields = {"kind": "range", "aggregate": "sum", "over": "age", "levels": "5, 10"}
        visitor.act("questions", NAME, "add", **fields)
        workloads = document()["evaluate"]["workloads"]
        assert workloads[1] == {
            "kind": "range",
            "aggregate": "sum",
            "over": "age",
            "spans": [5, 10],
        }
        visitor.act("questions", NAME, "remove", place="1")
        assert document() == yaml.safe_load(SPEC)

    def test_own_questions_wait_for_a_draft(self, visitor, text):
        visitor.act("questions", NAME, "ask", sql="SELECT COUNT(*) FROM microdata")
        assert "1 question waits" in visitor.get(f"/questions/{NAME}").text
        assert text() == SPEC

    def test_own_questions_outlast_the_workbench(self, visitor, folder, tmp_path):
        sql = "SELECT COUNT(*) FROM microdata WHERE town = 'Breda'"
        for question in (sql, "SELECT 1", sql):
            visitor.act("questions", NAME, "ask", sql=question)
        visitor.act("questions", NAME, "forget", sql="SELECT 1")
        assert Folder(folder, tmp_path / "work").questions(NAME) == [sql]
        files = list((tmp_path / "work" / ".workbench" / "questions").iterdir())
        assert [file.stat().st_mode & 0o777 for file in files] == [0o600]

    def test_questions_are_listed_in_words(self):
        spans = {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5, 2000]}
        assert words_of(spans) == "avg of the sensitive column over a range of age, 5 or 2,000 wide"
        counts = {"kind": "counts", "attributes": 1, "of": "cost"}
        assert words_of(counts).endswith("ranges of 1 quasi-identifier and a value of cost")
        picked = {"kind": "arbitrary", "aggregate": "sum", "of": "cost", "selected": 50}
        assert words_of(picked) == "sum of cost over people picked at random, at least 50"


class TestRelease:
    def test_changes_are_shown_beside_what_was_opened(self, visitor):
        visitor.get(f"/columns/{NAME}")
        visitor.act("promise", NAME, "numbers", **{"0.k": "9"})
        page = visitor.get(f"/release/{NAME}").text
        assert re.search(r'class="minus">- .*k: 5', page)
        assert re.search(r'class="plus">\+ .*k: 9', page)
        assert "sfumato release " in page

    def test_the_text_is_written_as_typed(self, visitor, text):
        assert (
            visitor.act("release", NAME, "text", text=SPEC + "strata: [sex]\n").status_code == 303
        )
        assert text() == SPEC + "strata: [sex]\n"
        answer = visitor.act("release", NAME, "text", text="a: {")
        assert answer.status_code == 422
        assert "line 1" in answer.text or "line 2" in answer.text
        assert text() == SPEC + "strata: [sex]\n"

    def test_proposed_roles_are_not_released(self, visitor, folder):
        path = folder / NAME
        path.write_text(f"roles: proposed\n{SPEC}", encoding="utf-8")
        answer = visitor.act("release", NAME, "release")
        assert answer.status_code == 422
        assert not (folder / "releases").exists()


class TestLines:
    def test_nothing_was_released(self, visitor):
        assert "No version" in visitor.get(f"/lines/{NAME}").text

    def test_the_next_table_becomes_the_source(self, visitor, folder, text):
        (folder / "june.csv").write_bytes((folder / "patients.csv").read_bytes())
        answer = visitor.act("lines", NAME, "use", file="june.csv")
        assert answer.status_code == 303
        assert text() == SPEC.replace("uri: patients.csv", "uri: june.csv")

    def test_the_rule_for_further_versions(self, visitor, document):
        visitor.act("lines", NAME, "rule", rule="composed")
        assert document()["versions"] == "composed"
        assert "A release would be refused" not in visitor.get(f"/lines/{NAME}").text
        assert visitor.act("lines", NAME, "rule", rule="none").status_code == 422

    def test_a_dropped_table_is_rehearsed(self, visitor, folder, text, monkeypatch):
        monkeypatch.setattr(jobs, "_COMMAND", "import sys; print(sys.argv, file=sys.stderr)")
        headers = {"cookie": visitor.cookie, "origin": visitor.own}
        path = f"{visitor.place}/dropped/june.csv"
        for _ in range(2):
            visitor.client.request("PUT", path, content=b"a,b\n1,2\n", headers=headers)
        page = visitor.get(f"/lines/{NAME}").text
        assert "Place of june.csv in the folder" in page
        fields = {"name": "june.csv", "target": "june.csv"}
        answer = visitor.act("lines", NAME, "rehearse-dropped", **fields)
        name = answer.headers["location"].rpartition("/")[2]
        job = visitor.workbench.bench.jobs.job(name)
        while job.is_running:
            time.sleep(0.02)
        assert "--set=source.uri=june.csv" in job.lines[0]
        assert (folder / "june.csv").read_bytes() == b"a,b\n1,2\n"
        assert text() == SPEC
        assert "Place of june.csv" not in visitor.get(f"/lines/{NAME}").text
        assert visitor.act("lines", NAME, "rehearse-dropped", **fields).status_code == 422

    def test_no_other_directory_is_withdrawn(self, visitor):
        fields = {"version": "../..", "reason": "x", "certain": "yes"}
        assert visitor.act("lines", NAME, "withdraw", **fields).status_code == 422
