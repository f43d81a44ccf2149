# Each target does its own set-up in .venv; only Python 3.11 or newer is assumed.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
RUN := $(VENV)/bin

.PHONY: demo test lint bench browser clean

demo: $(STAMP)
	$(RUN)/sfumato demo

test: $(STAMP)
	$(RUN)/python -m pytest -m "not browser and not postgres"

browser: $(STAMP)
	$(RUN)/python -m pytest -m "browser or postgres"

lint: $(STAMP)
	$(RUN)/ruff check
	$(RUN)/ruff format --check
	$(RUN)/mypy
	$(RUN)/lint-imports

bench: $(STAMP)
	$(RUN)/python -m tests.benchmarks

clean:
	rm -rf $(VENV) releases .sfumato

$(STAMP): pyproject.toml deployments/constraints.txt
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --constraint deployments/constraints.txt --editable '.[dev]'
	touch $@
