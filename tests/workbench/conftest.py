import asyncio
import re
import shutil
from html import unescape
from pathlib import Path

import httpx
import pytest

from sfumato.flows.workbench.serve import open_workbench

TUTORIAL = Path(__file__).parents[2] / "deployments" / "guide" / "pages" / "tutorial"
SPEC = """\
# A spec of a steward, with words of her own.
version: 2
name: patients
title: Costs of patients
source:
  uri: patients.csv
  format: csv  # from the hospital
columns:
  # the number of the hospital
  patient: {role: identifier, unit: true}
  # neighbours know it
  age: {role: quasi-identifier, type: integer, hierarchy: {intervals: [10, 20, 40]}}
  sex: {role: quasi-identifier}
  town: {role: quasi-identifier, hierarchy: hierarchies/town.csv}
  cost: {role: sensitive, type: integer}
promises:
  - {model: k-anonymity, k: 5}  # asked for by the board
  - {model: l-diversity, variant: distinct, l: 3}
partition: {method: mondrian}
form: {method: generalized}
publish: {uri: releases}
evaluate:
  workloads:
    - {kind: range, aggregate: avg, over: age, spans: [20], queries: 5}
"""
TOWNS = "Breda,south,*\nDelft,west,*\nGouda,west,*\nLeiden,west,*\nUtrecht,middle,*\n"


class Client:
    """Requests to an application in this process, without a socket."""

    def __init__(self, application, own):
        self._application, self._own = application, own

    def request(self, method, path, **more):
        async def ask():
            transport = httpx.ASGITransport(self._application)
            async with httpx.AsyncClient(transport=transport, base_url=self._own) as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, **more):
        return self.request("POST", path, **more)


class Visitor:
    """A browser as far as forms and links go: it keeps the cookie for its path alone."""

    def __init__(self, workbench):
        self.workbench, self.place = workbench, workbench.bench.place
        self.port = int(re.search(r"open-(\d+)", workbench.opening.name)[1])
        self.own = f"http://127.0.0.1:{self.port}"
        self.client = Client(workbench.server.guard, self.own)
        self.cookie = ""

    def entrance(self):
        text = self.workbench.opening.read_text(encoding="utf-8")
        return unescape(re.search(r'href="http://[\d.:]+([^"]+)"', text)[1])

    def enter(self):
        answer = self.client.get(self.entrance())
        assert answer.status_code == 200
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def get(self, path, **headers):
        return self.client.get(f"{self.place}{path}", headers={"cookie": self.cookie, **headers})

    def post(self, path, fields, **headers):
        kind = "application/x-www-form-urlencoded"
        own = {"cookie": self.cookie, "origin": self.own, "content-type": kind}
        headers = {**own, **headers}
        return self.client.post(f"{self.place}{path}", data=fields, headers=headers)

    def act(self, step, spec, action, **fields):
        """Send a form of a step's page, as the page has it."""
        fields = {"action": action, "digest": self.digest(step, spec), **fields}
        return self.post(f"/{step}/{spec}", fields)

    def digest(self, step, spec):
        """Return the state of a spec that a page was made from."""
        page = self.get(f"/{step}/{spec}").text
        return re.search(r'name="digest" value="(\w+)"', page)[1]

    def undo(self, step, spec):
        """Press the button that undoes the latest change."""
        return self.post(f"/undo/{step}/{spec}", {"digest": self.digest(step, spec)})


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "folder"
    (place / "hierarchies").mkdir(parents=True)
    shutil.copy(TUTORIAL / "patients.csv", place)
    (place / "patients.yaml").write_text(SPEC, encoding="utf-8")
    (place / "hierarchies" / "town.csv").write_text(TOWNS, encoding="utf-8")
    return place


@pytest.fixture
def workbench(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    with open_workbench(folder, {"SFUMATO_WORK": str(tmp_path / "work")}) as opened:
        yield opened


@pytest.fixture
def visitor(workbench):
    return Visitor(workbench).enter()
