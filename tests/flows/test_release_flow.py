"""The flow as its watchers see it: versions, artifacts, exit codes; and what nobody may see."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.publication.check import check
from tests.release.small import SPEC, people

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def run_apart(start):
    """Run the command in a process of its own; its exit code, stdout and stderr."""

    def finish(*arguments):
        process = start(*arguments)
        out, error = process.communicate(timeout=120)
        return process.returncode, out, error

    return finish


def stored_texts(address):
    """Everything that the server tells of flows, tasks, states, logs, artifacts and events."""
    import httpx

    kinds = ["flow_runs", "task_runs", "logs", "artifacts", "flow_run_states"]
    texts = []
    with httpx.Client(base_url=address, timeout=120) as client:
        for kind in kinds[:4]:
            for offset in range(0, 2000, 200):
                body = {"limit": 200, "offset": offset}
                answer = client.post(f"/{kind}/filter", json=body)
                assert answer.status_code == 200, answer.text
                texts.append(answer.text)
                if len(answer.json()) < 200:
                    break
        for flow_run in client.post("/flow_runs/filter", json={"limit": 200}).json():
            states = client.get("/flow_run_states/", params={"flow_run_id": flow_run["id"]})
            texts.append(states.text)
    return "".join(texts)


def artifacts(address):
    import httpx

    latest = {"limit": 50, "sort": "CREATED_DESC"}
    artifacts_found = httpx.post(f"{address}/artifacts/filter", json=latest, timeout=120).json()
    return {artifact["key"]: artifact for artifact in reversed(artifacts_found)}


def latest_end(address):
    """The type, name and message of the state of the latest run."""
    import httpx

    latest = {"limit": 1, "sort": "START_TIME_DESC"}
    (run,) = httpx.post(f"{address}/flow_runs/filter", json=latest, timeout=120).json()
    assert {"release", "line:wages", "form:permuted"} <= set(run["tags"])
    return tuple(run["state"][key] for key in ("type", "name", "message"))


def everything_in(directory):
    """Every byte below a directory, and every Parquet value, dictionary and statistic decoded."""
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        yield str(path), path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            yield str(path), str(file.metadata.metadata)
            for name, column in zip(file.schema_arrow.names, file.read().columns, strict=True):
                yield f"{path} {name}", str(column.to_pylist())
            for i in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(i)
                for j in range(group.num_columns):
                    yield f"{path} statistics", str(group.column(j).statistics)
            texts = [f.name for f in file.schema_arrow if str(f.type) == "string"]
            for column in pq.read_table(path, columns=texts, read_dictionary=texts).columns:
                for chunk in column.chunks:
                    yield f"{path} dictionary", str(chunk.dictionary.to_pylist())


def test_publishes_and_shows_what_watchers_need(small, run_apart, prefect_api):
    code, out, error = run_apart("release", str(small.spec))
    assert code == 0, error
    version = small.folder / "public" / "wages" / "0001"
    assert out.splitlines()[-1] == str(version)
    assert check(version).verdicts
    shown_artifacts = artifacts(prefect_api)
    tables = {"wages-at-stake", "wages-risk", "wages-homogeneity", "wages-singling-out"}
    keys = tables | {
        "wages-source",
        "wages-promises",
        "wages-page",
        "wages-evaluation",
        "wages-summary",
    }
    assert keys <= set(shown_artifacts)
    promises = json.loads(shown_artifacts["wages-promises"]["data"])
    assert all(row["holds"] for row in promises)
    assert "expect_ke_anonymity" in {row["expectation"] for row in promises}
    assert version.as_uri() in shown_artifacts["wages-page"]["data"]
    assert '"name":"wages 20' in stored_texts(prefect_api).replace('"name": "', '"name":"')
    assert "stands" not in error
    assert "ingest: 62 rows read, 60 rows kept for the release" in error.splitlines()
    assert "anonymize: 60 rows to be published, 0 suppressed" in error.splitlines()
    assert latest_end(prefect_api)[:2] == ("COMPLETED", "Published")
    code, out, error = run_apart("release", str(small.spec))
    assert (code, out.splitlines()[-1]) == (0, str(version))
    assert latest_end(prefect_api)[:2] == ("COMPLETED", "Stands")
    stands = "version 0001 was already made from this source and spec, so no new version was made"
    assert error.splitlines().count(stands) == 1
    assert "evaluate:" not in error  # its accuracy is in the public record


def test_a_line_without_a_unit_is_told_so_at_every_run(small, run_apart):
    columns = {**SPEC["columns"], "person": {"role": "identifier"}}
    small.write(people(), columns=columns, unit="row")
    for _ in range(2):
        code, _, error = run_apart("release", str(small.spec))
        assert code == 0, error
        assert error.count("a changed source can never be released") == 1
    small.write(people(seed=2), columns=columns, unit="row")
    code, _, error = run_apart("release", str(small.spec))
    assert code == 3
    assert error.count("a changed source can never be released") == 1


def test_the_directory_is_printed_without_detours(small, run_apart):
    publish = {"uri": f"../{small.folder.name}/public"}
    small.write(people(), publish=publish)
    code, out, error = run_apart("release", str(small.spec))
    assert code == 0, error
    assert out.splitlines()[-1] == str(small.folder / "public" / "wages" / "0001")


def test_a_source_that_is_not_as_declared_is_told_by_its_place(small, run_apart, prefect_api):
    rows = people()
    rows[7]["age"] = 987654
    columns = {**SPEC["columns"], "age": {**SPEC["columns"]["age"], "range": {"max": 120}}}
    small.write(rows, columns=columns)
    code, out, error = run_apart("release", str(small.spec))
    assert (code, out) == (2, "")
    assert "people.csv: row 8: column 'age': not in the range to 120" in error
    assert not (small.folder / "public").exists()
    artifact = json.loads(artifacts(prefect_api)["wages-source"]["data"])
    (broken,) = [row for row in artifact if not row["holds"]]
    assert (broken["expectation"], broken["observed"]) == ("expect_values_in_range", 1)
    assert "987654" not in error + stored_texts(prefect_api)


def test_a_promise_that_cannot_be_kept_publishes_nothing(small, run_apart, prefect_api):
    hard = [{"model": "ke-anonymity", "k": 3, "e": 100_000}]
    small.write(people(), promises=hard)
    code, out, error = run_apart("release", str(small.spec))
    assert code == 3
    assert out == ""
    (line,) = [text for text in error.splitlines() if text.startswith("sfumato:")]
    assert "cannot be kept: required k=3, e=100000" in line
    assert latest_end(prefect_api) == ("FAILED", "Refused", line.removeprefix("sfumato: "))
    assert list((small.folder / "public" / "wages").glob("[0-9]*")) == []
    runs = small.folder.parent / "work" / "wages" / "runs"
    assert [p for p in runs.iterdir() if p.is_dir()] == []


CANARIES = {
    "identifier": "CANARYidentifier",
    "The column is dropped: to filter by it, write it under": "CANARYnote",
    "filtered row": "CANARYyoung",
    "row with a null": "CANARYnull",
}


def test_what_must_not_survive_is_nowhere(small, run_apart, prefect_api, forks):
    rows = people()
    for row in rows:
        row["person"] = f"CANARYidentifier{row['person']}"
        row["note"] = "CANARYnote"
        row["town"] = {"1.5": "CANARYyoung", "": "CANARYnull"}.get(row["wage"], row["town"])
    small.write(rows)
    code, out, error = run_apart("release", str(small.spec))
    assert code == 0, error
    seen = [("output", out + error), ("server", stored_texts(prefect_api))]
    seen += everything_in(small.folder / "public")
    seen += everything_in(small.folder.parent / "home")
    seen += everything_in(forks.home)
    seen += everything_in(small.folder.parent / "work")
    assert len(seen) > 30
    for what, canary in CANARIES.items():
        assert [place for place, text in seen if canary in text] == [], what


def test_sensitive_values_are_in_tables_and_private_files_alone(small, run_apart, prefect_api):
    rows = people()
    for i, row in enumerate(rows[:60]):
        row["wage"] = f"{7310 + 7 * (i % 20)}.917364582"
    small.write(rows)
    code, out, error = run_apart("release", str(small.spec))
    assert code == 0, error
    for text in (out, error, stored_texts(prefect_api)):
        assert ".917364582" not in text
    public = small.folder / "public" / "wages"
    for place, text in everything_in(public):
        if "/data/" not in place and "/sql/" not in place and "index.html" not in place:
            assert ".917364582" not in text, place


def test_a_bad_cell_is_named_by_place_and_never_shown(small, run_apart, prefect_api, forks):
    rows = people()
    rows[4]["wage"] = "CANARYcell"
    small.write(rows)
    code, out, error = run_apart("release", str(small.spec))
    assert code == 2
    assert "people.csv: row 5: column 'wage': not a decimal" in error
    texts = [out, error, stored_texts(prefect_api)]
    for home in (small.folder.parent / "home", forks.home):
        texts += [text for _, text in everything_in(home)]
    assert not any("CANARYcell" in text for text in texts)


def test_commands_on_a_release(small, capsys):
    version = str(small.publish("one").directory)
    assert run(["check", version]) == 0
    assert run(["query", version, "SELECT AVG(wage) FROM microdata", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert document["guaranteed"] is True
    assert document["rows"][0]["AVG(wage)"]["lower"] <= document["rows"][0]["AVG(wage)"]["upper"]
    assert run(["query", version, "DROP TABLE microdata"]) == 2
    assert run(["query", version, "SELECT COUNT(*) FROM microdata", "--rewrite", "duckdb"]) == 0
    assert run(["evaluate", version, "--spec", str(small.spec), "--format", "json"]) == 0
    source = str(small.folder / "people.csv")
    capsys.readouterr()
    measure = ["measure", source, "--qi", "age,town", "--sensitive", "wage", "--format", "json"]
    assert run(measure) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 62
    assert run(["schema"]) == 0
    assert run(["check", str(small.folder)]) == 2
    assert run(["release", str(small.folder / "none.yaml")]) == 2
    assert run(["release", str(small.spec), "--set", "promises=[]"]) == 2
    assert all(text.startswith("sfumato: ") for text in capsys.readouterr().err.splitlines())


@pytest.mark.parametrize("module", ["query.ask", "publication.check", "stages.measure"])
def test_reading_commands_start_without_the_orchestrator(module):
    code = (
        f"import sys, sfumato.flows.cli.main, sfumato.tasks.{module}; "
        "print([m for m in ('prefect', 'great_expectations', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_task_keeps_a_result():
    from prefect.cache_policies import NO_CACHE

    from sfumato.flows.release import release
    from sfumato.tasks.anonymize import anonymize
    from sfumato.tasks.deidentify import deidentify
    from sfumato.tasks.evaluate import evaluate
    from sfumato.tasks.ingest import ingest
    from sfumato.tasks.publish import publish
    from sfumato.tasks.validate import validate
    from sfumato.tasks.verify import verify

    stages = (ingest, deidentify, verify, anonymize, validate, publish, evaluate)
    tasks = [stage.task for stage in stages]
    assert all(task.cache_policy == NO_CACHE for task in tasks)
    assert all(task.persist_result is False for task in (*tasks, release))
