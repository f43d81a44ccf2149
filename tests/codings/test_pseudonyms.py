"""Pseudonyms: keyed by purpose, for joining and private hand-over, in nothing that is published."""

import hashlib
import hmac
import json

import pyarrow.parquet as pq
import pytest

from sfumato.tasks.private.people.frozen import pseudonym_key, shift_key
from sfumato.tasks.private.people.keys import people_key
from tests.codings.stays import COLUMNS, Stays, stays
from tests.codings.test_release import threshold
from tests.flows.test_worker import readings

PURPOSE = "study-17"


def with_pseudonym(**keys):
    return {**COLUMNS, "person": COLUMNS["person"] | {"pseudonym": {"purpose": PURPOSE, **keys}}}


@pytest.fixture
def hand_over(call):
    """The table that a line hands over for a purpose."""

    def hand_over_table(line, purpose=PURPOSE):
        code, out, error = call("pseudonyms", line.spec, "--purpose", purpose)
        assert code == 0, error
        return pq.read_table(out.strip())

    return hand_over_table


def test_a_pseudonym_is_an_hmac_of_the_identifier_under_the_key_of_its_purpose(line, hand_over):
    table = hand_over(line)
    key = pseudonym_key(line.plan().line.work, PURPOSE)
    expected = [hmac.digest(key, r["person"].encode(), hashlib.sha256).hex() for r in stays()]
    assert table["person"].to_pylist() == sorted(expected)
    assert table.column_names == ["person"]


def test_the_file_is_private_and_below_the_work_directory(line, call):
    code, out, error = call("pseudonyms", line.spec, "--purpose", PURPOSE)
    place = line.plan().line.private / "handed-over" / f"{PURPOSE}.parquet"
    assert (code, out.strip()) == (0, str(place))
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert "no promise covers this file" in error
    assert b"IDENT-" not in b"".join(readings(place.read_bytes()))


def test_columns_beside_it_are_those_declared_as_they_are_coded(line, hand_over):
    table = hand_over(line.write(stays(), columns=with_pseudonym(beside=["cost", "age"])))
    assert table.column_names == ["person", "cost", "age"]
    assert max(table["cost"].to_pylist()) <= threshold(stays()) + 50
    assert set(table["age"].to_pylist()) == {*range(18, 91, 2)}
    assert "IDENT" not in str(table.to_pylist())


def test_sources_join_by_the_pseudonyms_of_one_purpose(line, hand_over, tmp_path):
    """Another source about some of the same people, whose numbers are of another type."""
    mine = [row | {"person": n} for n, row in enumerate(stays())]
    theirs = [{"person": n, "score": n % 7, "age": 30} for n in range(200, 300)]
    line_ = line.write(mine, columns=with_pseudonym(beside=["job"]))
    columns = {
        "person": COLUMNS["person"] | {"type": "integer", "pseudonym": {"purpose": PURPOSE}},
        "score": {"role": "sensitive", "type": "integer"},
        "age": {"role": "quasi-identifier", "type": "integer"},
    }
    columns["person"]["pseudonym"]["beside"] = ["score"]
    other = Stays(tmp_path / "other").write(theirs, name="scores", columns=columns)
    joined = hand_over(line_).join(hand_over(other), "person", join_type="inner")
    expected = sorted((mine[n]["job"], n % 7) for n in range(200, 240))
    jobs = {job for job, _ in expected if job in ("nurse", "clerk")}
    pairs = sorted(zip(joined["job"].to_pylist(), joined["score"].to_pylist(), strict=True))
    assert [pair for pair in pairs if pair[0] in jobs] == [p for p in expected if p[0] in jobs]
    assert len(pairs) == 40


def test_other_purposes_and_other_work_directories_do_not_join(
    line, hand_over, tmp_path, monkeypatch
):
    pseudonyms = hand_over(line)["person"].to_pylist()
    purpose = {**COLUMNS["person"], "pseudonym": {"purpose": "audit"}}
    audit = hand_over(line.write(stays(), columns={**COLUMNS, "person": purpose}), "audit")
    assert not set(pseudonyms) & set(audit["person"].to_pylist())
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "elsewhere"))
    assert not set(pseudonyms) & set(hand_over(line.write(stays()))["person"].to_pylist())


def test_every_purpose_has_a_key_of_its_own(line):
    place = line.plan().line.private
    work = place.parent
    keys = {
        people_key(work),
        shift_key(place),
        shift_key(work / "another"),
        pseudonym_key(work, "a"),
        pseudonym_key(work, "b"),
        pseudonym_key(work, "shift stays"),
    }
    assert (len(keys), {len(key) for key in keys}) == (6, {32})


def test_rows_without_an_identifier_have_no_pseudonym(line, hand_over):
    rows = [row | {"ward": f"w{n % 5}" if n % 3 else ""} for n, row in enumerate(stays())]
    ward = {"role": "identifier", "nulls": "category", "pseudonym": {"purpose": "wards"}}
    line.write(rows, columns={**COLUMNS, "ward": ward})
    pseudonyms = hand_over(line, "wards")["ward"]
    assert (pseudonyms.null_count, len(set(pseudonyms.to_pylist()) - {None})) == (80, 5)


def test_a_purpose_that_no_column_declares_is_refused(line, call):
    code, _, error = call("pseudonyms", line.spec, "--purpose", "other")
    assert (code, "no column has a pseudonym for the purpose 'other'" in error) == (2, True)
    assert "\n" not in error.strip()


def test_nothing_that_is_published_holds_an_identifier_or_a_pseudonym(line, hand_over):
    pseudonyms = set(hand_over(line)["person"].to_pylist())
    line.publish("one")
    public = line.plan().line.public
    secrets = [b"IDENT-", PURPOSE.encode(), *(text.encode() for text in pseudonyms)]
    secrets += [bytes.fromhex(text) for text in pseudonyms]
    files = [path for path in public.rglob("*") if path.is_file()]
    assert len(files) > 5
    tables = [pq.read_table(path) for path in files if path.suffix == ".parquet"]
    contents = [b"".join(readings(path.read_bytes())) for path in files]
    contents += [json.dumps(table.to_pylist(), default=str).encode() for table in tables]
    assert [secret for secret in secrets for content in contents if secret in content] == []
