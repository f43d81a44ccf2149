"""Every command on two related tables: what it does with them, or how it refuses them."""

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.flows.cli.registry import MODULES
from sfumato.tasks.approval.reviewers import trust_reviewer
from sfumato.tasks.verification.signing_keys import PASSPHRASE, generate
from tests.destinations.places import store_server
from tests.flow_here import release_here
from tests.related.hospital import Hospital, made_up, patients, spec_with, stays

WHOLE = made_up(5, 160)
REFUSAL = "this command reads one table, and the spec has two related ones"
EVALUATED = {
    "workloads": [
        {"kind": "range", "aggregate": "count", "over": "age", "spans": [15], "queries": 9}
    ]
}


class Line(NamedTuple):
    """The spec of a hospital, and two versions about different people."""

    spec: Path
    first: Path
    second: Path

    @property
    def public(self) -> Path:
        """The public directory of the line."""
        return self.first.parent


def half(start: int) -> Hospital:
    """The patients of half the numbers, with their stays."""
    names = pa.array([f"p{number}" for number in range(start, start + 80)])
    tables = (table.filter(pc.is_in(table["patient"], value_set=names)) for table in WHOLE)
    return Hospital(*tables)


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """Two versions of a line in a work directory of its own, the second of which is current."""
    place = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        patch.setenv("XDG_CONFIG_HOME", str(place / "config"))
        patch.setenv(PASSPHRASE, "of a test")
        changes = {
            "versions": "disjoint",
            "evaluate": EVALUATED,
            "publish": {"uri": str(place / "releases")},
        }
        first = release_here(spec_with(place, half(0), **changes))
        spec = spec_with(place, half(80), **changes)
        yield Line(spec, first, release_here(spec))


@contextmanager
def work_of_its_own(line):
    """A work directory where nobody is known, so that the same people may be published again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(line.spec.parent / f"work-{uuid4().hex}"))
        yield patch


def text_of(call, *arguments):
    """Run a command that must succeed; return what it prints."""
    code, output, error = call(*arguments)
    assert code == 0, error
    return output


def document_of(call, *arguments):
    return json.loads(text_of(call, *arguments))


def query(line, call):
    question = "SELECT COUNT(*) AS n FROM patients JOIN stays USING (patient)"
    (row,) = document_of(call, "query", line.first, question, "--format", "json")["rows"]
    assert row["n"]["lower"] == row["n"]["upper"] == half(0).stays.num_rows


def check(line, call):
    printed = text_of(call, "check", line.first)
    assert "people is kept in all" in printed and "related-l-diversity is kept in all" in printed
    assert "that each row of the second table is in the group of its person" in printed


def diff(line, call):
    document = document_of(call, "diff", line.first, line.second, "--json")
    numbers = [half(start).stays.num_rows for start in (0, 80)]
    assert document["related_rows"]["stays"]["published"] == dict(
        zip(("before", "now"), numbers, strict=True)
    )
    printed = text_of(call, "diff", line.first, line.second)
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "people published 80 80" in lines
    assert any(line.startswith(f"stays published {numbers[0]} {numbers[1]}") for line in lines)
    medians = [line for line in lines if "median" in line]
    assert len(medians) == 1 and " - " not in medians[0]  # of one workload, in both versions


def load(line, call):
    printed = text_of(call, "load", line.first, f"sqlite:///{line.spec.parent / 'x.db'}")
    assert printed.splitlines()[:3] == ["patients", "stays", "group_counts"]


def metadata(line, call):
    """Two tables, what they have, and the key by which both name groups."""
    rows = [half(0).patients.num_rows, half(0).stays.num_rows]
    csvw = document_of(call, "metadata", line.first, "--as", "csvw")
    keys = {
        table["dc:title"]: [
            key["reference"]["resource"] for key in table["tableSchema"].get("foreignKeys", ())
        ]
        for table in csvw["tables"]
    }
    groups = "0001/data/group_counts.csv"
    assert keys == {"group_counts": [], "patients": [groups], "stays": [groups]}
    assert (
        f"patients ({rows[0]} rows; age, sex) and stays ({rows[1]} rows" in csvw["dc:description"]
    )
    croissant = document_of(call, "metadata", line.first, "--as", "croissant")
    (stays,) = (entry for entry in croissant["recordSet"] if entry["name"] == "stays")
    references = [field.get("references") for field in stays["field"]]
    assert references == [{"field": {"@id": "group_counts/group_id"}}, None, None]
    manifest = json.loads((line.first / "datapackage.json").read_bytes())
    schemas = {
        entry["name"]: entry["schema"] for entry in manifest["resources"] if "schema" in entry
    }
    assert schemas["group_counts-csv"]["primaryKey"] == ["group_id"]
    (foreign,) = schemas["stays-parquet"]["foreignKeys"]
    assert foreign["reference"] == {"resource": "group_counts-parquet", "fields": ["group_id"]}
    ddi = text_of(call, "metadata", line.first, "--as", "ddi")
    assert all(ddi.count(f"<caseQnty>{number}</caseQnty>") == 2 for number in rows)  # two formats
    assert "Each row of patients is about another person. Rows of stays belong to them." in ddi
    dcat = document_of(call, "metadata", line.first, "--as", "healthdcat")
    names = ("numberOfRecords", "numberOfUniqueIndividuals")
    numbers = [int(dcat[f"healthdcatap:{name}"]["@value"]) for name in names]
    assert numbers == [sum(rows), rows[0]]


def measure(line, call):
    table = line.first / "data" / "patients.parquet"
    assert "80 rows" in text_of(call, "measure", table, "--qi", "age", "--qi", "sex")


def plan(line, call):
    counts = document_of(call, "plan", line.spec, "--format", "json")["related_rows"]["stays"]
    assert counts["published"] == half(80).stays.num_rows


def release(line, call):
    """The same people again are the version that stands."""
    assert text_of(call, "release", line.spec).splitlines()[-1] == str(line.second)


def evaluate(line, call):
    printed = text_of(call, "evaluate", line.second, "--spec", line.spec)
    assert "count(*) by range of age" in printed


def attack(line, call):
    printed = text_of(call, "attack", line.second, "--truth", line.spec)
    assert "people with rows in stays of whom a value is certain" in printed


def releases(line, call):
    printed = text_of(call, "releases", line.public)
    assert "superseded" in printed and "current" in printed
    page = " ".join((line.public / "index.html").read_text(encoding="utf-8").split())
    numbers = [half(start).stays.num_rows for start in (0, 80)]
    assert numbers[0] != numbers[1] and f"{numbers[1]} rows of stays, " in page


def dossier(line, call):
    text_of(call, "dossier", line.second, "--spec", line.spec)
    document = document_of(call, "dossier", line.second, "--spec", line.spec, "--json")
    assert document["data"]["related_rows"]["stays"]["published"] == half(80).stays.num_rows
    page = next(line.spec.parent.glob("work/hospital/reports/0002/dossier.html"))
    text = page.read_text(encoding="utf-8")
    assert "Rows of stays" in text and "Each row of <code>patients</code> is another person" in text


def describe(line, call):
    assert "A made-up hospital" in text_of(call, "describe", line.public)


def withdraw(line, call):
    changes = {"name": "withdrawn", "publish": {"uri": str(line.spec.parent / "others")}}
    place = line.spec.parent / "withdrawn"
    with work_of_its_own(line):
        version = release_here(spec_with(place, half(0), **changes))
        text_of(call, "withdraw", version, "--reason", "a test", "--yes")
    assert sorted(path.name for path in version.iterdir()) == ["index.html", "withdrawal.json"]


def deliver(line, call):
    """All files of both tables come to a store."""
    place = line.spec.parent / "delivered"
    with store_server() as bucket, work_of_its_own(line) as patch:
        store = bucket()
        for name, text in store.environ.items():
            patch.setenv(name, text)
        publish = {"uri": str(place / "releases"), "destinations": [{"uri": store.declared.uri}]}
        spec = spec_with(place, half(0), name="delivered", publish=publish)
        release_here(spec)
        text_of(call, "deliver", spec)
        copied = [Path(name).stem for name in store.objects() if name.endswith(".parquet")]
    assert sorted(copied) == ["group_counts", "patients", "stays"]


def line_state(line, call):
    file = line.spec.parent / "state.tar"
    text_of(call, "line", "backup", line.spec, file)
    assert file.stat().st_size > 0


def keys(line, call):
    """A signed version is still what its tables give, and names its signer."""
    text_of(call, "keys", "generate", "me")
    text_of(call, "keys", "sign", "me", line.first)
    assert "signed by" in text_of(call, "check", line.first)


def review(line, call):
    with work_of_its_own(line):
        show_what_waits(spec_that_waits(line), call)


def show_what_waits(waiting, call):
    candidate = release_here(waiting)
    assert "pending" in text_of(call, "review", "show", waiting)
    page = (candidate / "report" / "review.html").read_text(encoding="utf-8")
    assert "Rows of stays" in page
    text_of(call, "review", "withdraw", waiting, "--reason", "a test")


def publish(line, call):
    with work_of_its_own(line):
        approve_and_publish(spec_that_waits(line), call)


def approve_and_publish(waiting, call):
    candidate = release_here(waiting)
    reviewer = waiting.parent / "reviewer"
    trust_reviewer(generate(reviewer, "ann"), "waiting", os.environ)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(reviewer))
        options = ("--key", "ann", "--reason", "a test")
        signature = text_of(call, "review", "approve", candidate, *options).split()[-1]
    manifest = json.loads((candidate / "candidate" / "release" / "datapackage.json").read_bytes())
    decided = ("--digest", manifest["sfumato"]["digest"], "--signature", signature)
    version = text_of(call, "publish", waiting, *decided).splitlines()[-1]
    assert "related-l-diversity is kept" in text_of(call, "check", version)


def spec_that_waits(line):
    place = line.spec.parent / "waiting"
    more = {"publish": {"uri": str(place / "releases")}, "approval": "required"}
    return spec_with(place, half(0), name="waiting", **more)


def policies(line, call):
    code, _, error = call("policies", "explain", line.spec)
    assert code == 2 and "names no policy" in error


def schema(_, call):
    assert "TableOfTwo" in document_of(call, "schema")["$defs"]


def pseudonyms(line, call):
    of_people = patients()
    of_people["columns"]["patient"] |= {"pseudonym": {"purpose": "study"}}
    tables = {"patients": of_people, "stays": stays()}
    spec = spec_with(line.spec.parent / "named", half(0), tables=tables)
    code, _, error = call("pseudonyms", spec, "--purpose", "study")
    assert (code, REFUSAL in error) == (2, True), (code, error)


def health(_, call):
    assert "line hospital: current 0002" in text_of(call, "health")


def compare(line, call):
    """Other promises and limits of two tables are tried, and one joined table."""
    printed = text_of(call, "compare", line.spec)
    assert "related-l-diversity" in printed
    assert "joined" in printed


def refusal_by(name, *options):
    def refuse(line, call):
        code, _, error = call(name, line.spec, *options)
        assert code == 2 and REFUSAL in error

    return refuse


WORKS = {
    "query": query,
    "check": check,
    "diff": diff,
    "load": load,
    "metadata": metadata,
    "measure": measure,
    "plan": plan,
    "policies": policies,
    "schema": schema,
    "release": release,
    "evaluate": evaluate,
    "attack": attack,
    "releases": releases,
    "dossier": dossier,
    "describe": describe,
    "deliver": deliver,
    "line": line_state,
    "keys": keys,
    "pseudonyms": pseudonyms,
    "review": review,
    "publish": publish,
    "withdraw": withdraw,
    "health": health,
    "compare": compare,
    "hierarchy": refusal_by("hierarchy", "--column", "age"),
}
"""Commands that meet two tables here, with what they must do or how they refuse them."""

ELSEWHERE = {
    "demo": "releases one shipped table",
    "workbench": "opens a page: tests/workbench/test_two_tables.py",
    "init": "drafts a spec of files: tests/drafts",
    "deploy": "needs a server of Prefect's, and reads a spec as release does",
    "sweep": "deletes what killed runs left, whatever they made",
    "experiment": "repeats experiments of papers about one table",
}
"""Commands that meet two tables nowhere, or elsewhere, with the reason."""


def test_every_command_says_what_it_does_with_two_tables():
    assert not WORKS.keys() & ELSEWHERE.keys()
    assert WORKS.keys() | ELSEWHERE.keys() == MODULES.keys()


@pytest.mark.parametrize("name", WORKS)
def test_a_command_on_two_tables(name, line, call):
    WORKS[name](line, call)
