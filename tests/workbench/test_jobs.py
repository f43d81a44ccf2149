"""Long work: commands in processes of their own, their progress, and how they are stopped."""

import time

import pytest

from sfumato.flows.workbench import jobs as module
from sfumato.flows.workbench.jobs import Job, Jobs
from sfumato.flows.workbench.results import file_of_job

SLOW = "import sys, time; print('begun', file=sys.stderr, flush=True); time.sleep(60)"


@pytest.fixture
def jobs(folder, tmp_path):
    made = Jobs(folder, tmp_path / "work")
    yield made
    made.stop_all()


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def test_a_command_gives_the_answer_of_a_terminal(jobs):
    job = jobs.start(["policies", "list", "--json"], "Policies", "/")
    wait_for(lambda: not job.is_running)
    assert (job.state, job.code) == ("done", 0)
    assert "statistical-office" in {row["name"] for row in job.document["policies"]}


def test_a_module_beside_the_data_is_not_run(jobs, folder):
    for name in ("yaml", "click", "csv", "numpy", "sfumato"):
        text = f"open({str(folder / 'CANARY')!r}, 'w')"
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    job = jobs.start(["policies", "list", "--json"], "Policies", "/")
    wait_for(lambda: not job.is_running)
    assert job.state == "done"
    assert not (folder / "CANARY").exists()


def test_a_refusal_has_its_reason(jobs):
    job = jobs.start(["policies", "show", "nothing"], "A policy", "/")
    wait_for(lambda: not job.is_running)
    assert job.state == "refused"
    assert "nothing" in job.message
    assert not job.message.startswith("sfumato")


def test_a_command_is_stopped_and_started_again(jobs, monkeypatch):
    monkeypatch.setattr(module, "_COMMAND", SLOW)
    job = jobs.start(["plan", "x"], "Slow", "/", spec="x")
    wait_for(lambda: job.lines == ["begun"])
    assert jobs.is_busy()
    assert jobs.start(["plan", "x"], "Slow", "/", spec="x") is job
    jobs.stop(job)
    wait_for(lambda: not job.is_running)
    assert job.state == "stopped"
    assert not jobs.is_busy()
    again = jobs.start(["plan", "x"], "Slow", "/", spec="x")
    assert again is not job


def test_progress_comes_as_events(visitor, workbench):
    jobs = workbench.bench.jobs
    job = jobs.start(["policies", "show", "nothing"], "A policy", "/")
    text = visitor.get(f"/jobs/{job.id}/events").text
    events = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("event")]
    assert events == ["line", "end"]
    assert "data: refused" in text
    page = visitor.get(f"/jobs/{job.id}").text
    assert "A policy was refused" in page
    assert visitor.get("/jobs/guess").status_code == 404


def test_a_command_is_stopped_by_a_button(visitor, workbench, monkeypatch):
    monkeypatch.setattr(module, "_COMMAND", SLOW)
    answer = visitor.act("preview", "patients.yaml", "plan")
    assert answer.status_code == 303
    path = answer.headers["location"].removeprefix(visitor.place)
    assert "is running" in visitor.get(path).text
    assert "The draft is running" in visitor.get("/preview/patients.yaml").text
    assert visitor.post(f"{path}/stop", {}).status_code == 303
    job = workbench.bench.jobs.job(path.rpartition("/")[2])
    wait_for(lambda: not job.is_running)
    assert "It kept nothing, so it begins anew" in visitor.get(path).text
    assert "It kept nothing, so it begins anew" in visitor.get("/preview/patients.yaml").text
    compared = Job("id", "compare", "A comparison", "patients.yaml", "", "/", None, code=130)
    assert "Start it again to go on" in compared.after_stop


@pytest.mark.parametrize(
    ("name", "is_shown"),
    [
        ("report/draft.html", True),
        ("release/index.html", True),
        ("retain.json", False),
        ("report/../retain.json", False),
        ("../../secret", False),
        ("release/link", False),
        ("release", False),
        ("release/a\0b", False),
    ],
)
def test_only_reports_and_previews_of_a_draft_are_shown(tmp_path, name, is_shown):
    draft = tmp_path / "work" / ".drafts" / "d"
    for file in ("report/draft.html", "release/index.html", "retain.json"):
        (draft / file).parent.mkdir(parents=True, exist_ok=True)
        (draft / file).write_text("x", encoding="utf-8")
    (tmp_path / "work" / "secret").write_text("CANARY", encoding="utf-8")
    (draft / "release" / "link").symlink_to(tmp_path / "work" / "secret")
    job = Job("id", "plan", "A draft", "x.yaml", "", "/", None, code=0)
    job.output = f'{{"page": "{draft}/report/draft.html"}}'
    assert (file_of_job(job, name) is not None) == is_shown
