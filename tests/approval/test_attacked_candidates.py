"""Candidates beyond a bar on attacks, of which reviewers decide."""

import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.life.dossier import dossier_of
from tests.release.small import people
from tests.report.html import Read

SURE = {"max-share-above": {"belief": 1, "share": 0}}
ASKING = {"background": {"known": 2, **SURE, "on-failure": "approve"}}
TERMS = {
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 3}],
    "partition": {"method": "anatomy"},
    "attacks": ASKING,
    "evaluate": {"workloads": []},
}


def test_reviewers_see_the_bar_and_decide(reviewed_line):
    reviewed_line.write(people(rows=300), reviewers=1, **TERMS).release()
    candidate = reviewed_line.candidate
    page = Read((candidate.report / "review.html").read_text("utf-8"))
    assert "not kept: you decide" in page.text
    assert "max-share-above" in page.text
    assert "1 bar on attacks is not kept." in page.text
    headings = [heading.get("id") for heading in page.all("h2")]
    assert headings[:2] == ["decide", "promises"]
    version = reviewed_line.publish(
        reviewed_line.decide(reviewed_line.reviewer("ann"), place=candidate.place)
    )
    _, document = dossier_of(version, reviewed_line.spec)
    (bar,) = document["attacks"]["bars"]
    assert (bar["attack"], bar["kept"]) == ("background", False)
    assert (bar["most"], bar["outcome"]) == (0, "broken")
    assert 0 < bar["observed"] <= 1
    assert [approval["reason"] for approval in document["approvals"]] == ["as agreed"]
    assert document["identifiability"]["risk_before"]


def test_without_reviewers_nobody_could_decide(reviewed_line):
    reviewed_line.write(people(rows=300), reviewers=0, **TERMS)
    with pytest.raises(
        SpecError, match=(r"attacks\.background\.on-failure: `approve` needs a reviewer")
    ):
        reviewed_line.release()
