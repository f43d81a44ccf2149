"""`sfumato init` as a steward runs it."""

import json
import subprocess
import sys

from tests.profile.drafts import draft
from tests.profile.tables import marriages, write_csv

RUN = """
import json, sys
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.environment import without_pandas
without_pandas()
code = run(sys.argv[1:])
heavy = {"prefect", "great_expectations", "numba", "matplotlib"} & sys.modules.keys()
print(json.dumps([code, sorted(heavy)]))
"""


def run(place, *arguments):
    command = [sys.executable, "-c", RUN, "init", *arguments]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    *lines, last = done.stdout.splitlines()
    return lines, json.loads(last), done.stderr.splitlines()


def test_the_last_line_is_the_draft_and_the_profile_is_named(tmp_path):
    (tmp_path / "Ehen 2026.csv").write_bytes(write_csv(*marriages()))
    private = tmp_path / "private"
    draft_and_rows = run(
        tmp_path, "Ehen 2026.csv", "--work", str(private), "--role", "rate=sensitive"
    )
    lines, (code, heavy), error = draft_and_rows
    assert (lines, code, heavy) == (["ehen-2026.yaml"], 0, [])
    profile = private / "ehen-2026" / "profile.html"
    assert error[0] == f"private profile, only for you: {profile}"
    assert error[-1].startswith("next: read the roles in ehen-2026.yaml, write `roles: confirmed`")
    text = (tmp_path / "ehen-2026.yaml").read_text(encoding="utf-8")
    assert "rate: {role: sensitive, type: decimal}" in text
    assert str(tmp_path) not in text
    page = profile.read_text(encoding="utf-8")
    assert "PRIVATE" in page
    assert "Lehrkraft, Pflege" in page  # values are here, and here alone


def test_what_is_wrong_is_one_line(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a1,b1\nc1,d1\ne1,f1\n")
    _, (code, _), error = run(tmp_path, "t.csv", "--work", "private")
    assert (code, len(error)) == (2, 1)
    assert error[0] == (
        "sfumato: t.csv: its first line may be a header or a row. Write --header yes if it names "
        "the columns, otherwise --header no"
    )
    _, (code, _), error = run(tmp_path, "s3x.parquet", "--work", "private")
    assert (code, len(error)) == (2, 1)
    assert not list(tmp_path.glob("*.yaml"))


def test_the_profile_shows_texts_that_would_reorder_others_as_such(tmp_path):
    rows = "".join(f"{n % 7};\u202eabc{n % 3}\n" for n in range(60))
    draft_made = draft(tmp_path, ("age;name\n" + rows).encode())
    page = draft_made.profile.read_text(encoding="utf-8")
    assert "\N{REPLACEMENT CHARACTER}abc1" in page
    assert "\u202e" not in page
