# Each target does its own set-up in .venv; only Python 3.11 or newer is assumed.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
# What publishes and checks, without the tools of tests: enough for the demonstration.
PLAIN := $(VENV)/.installed-plain
PINNED := --quiet --constraint deployments/constraints.txt
RUN := $(VENV)/bin

# uv installs in a sixth of pip's time, but knows nothing of pip's settings: where these name an
# index or forbid all, or where uv cannot be had or fails, pip installs. Modules are compiled when they are first used.
define install
test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
{ ! $(RUN)/python -m pip config list | grep -Eq '[.](index-url|no-index)=' \
  && $(RUN)/python -m pip install $(PINNED) uv \
  && $(RUN)/python -m uv pip install --python $(RUN)/python $(PINNED) --editable '$(1)'; } \
|| $(RUN)/python -m pip install --no-compile $(PINNED) --editable '$(1)'
endef
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Each peer of the benchmarks has an environment of its own: they pin old versions.
PEERS := pycanon anjana anonypyx anonymeter sdnist statsmodels opendp
pycanon := 1.3.6
anjana := 1.2.3
anonypyx := 0.2.11
anonymeter := 1.1.0
sdnist := 2.4
# Its tables are a stranger's files.
statsmodels := 0.15.0
# Its answers have noise.
opendp := 0.16.0
PORT ?= 4200

# Hundreds of processes start in tests: each would compile our modules anew.
unexport PYTHONDONTWRITEBYTECODE
# The matrices of tests are small, and threads that wait for parts of them spin.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test reader rest services all-tests matrix guide lint types imports house bench bench-quick bench-noise bench-public server worker publisher harness mutants fuzz kill clean

demo: $(PLAIN)
	$(RUN)/sfumato demo

# Laws, promises, the papers' examples, gates, the house: what a change breaks first.
test: export HYPOTHESIS_PROFILE ?= quick
test: $(STAMP)
	$(RUN)/python -m pytest -n 2 --part everyday

# What reads, checks and asks releases, in an environment with what a reader installs and no more.
READER := .venv-reader
reader: $(STAMP)
	$(RUN)/python -m tests.reader.environment $(READER)
	$(READER)/bin/python -m pytest -n 3 --part reader

# All that these two leave out.
rest: $(STAMP)
	$(RUN)/python -m pytest -n 3 --part rest

# What needs Chromium, Node, PostgreSQL, MariaDB or a wheel of its own.
services: $(STAMP)
	$(RUN)/python -m pytest -n 2 -m "browser or node or postgres or packaging"

# The whole suite in one run. Servers are waited for: three workers share two cores.
all-tests: $(STAMP)
	$(RUN)/python -m pytest -n 3

# `make test` on each supported Python of this machine, in an environment of its own.
PYTHONS ?= 3.11 3.12 3.13 3.14
matrix: $(PYTHONS:%=matrix-%)

matrix-%:
	if command -v python$* >/dev/null; then $(MAKE) test PYTHON=python$* VENV=.venv-$*; \
	else echo "python$* is not on this machine"; fi

# The guide as a site that needs no network; every warning is an error, unless --quiet hides it.
guide: export NO_MKDOCS_2_WARNING := 1
guide: $(STAMP)
	$(RUN)/mkdocs build --strict --config-file deployments/guide/mkdocs.yml

lint: $(STAMP)
	$(RUN)/ruff check
	$(RUN)/ruff format --check
	$(MAKE) --no-print-directory types imports

types: $(STAMP)
	$(RUN)/mypy

imports: $(STAMP)
	$(RUN)/lint-imports

house: $(STAMP)
	$(RUN)/python -m tests.house

# What an operator does on a real server and worker, also on PostgreSQL; pictures of its pages.
harness: export SFUMATO_PICTURES ?= $(CURDIR)/build/pictures
harness: $(STAMP)
	$(RUN)/python -m pytest tests/harness

# A table of whole releases by partition, in less than three minutes.
bench-quick: $(STAMP)
	$(RUN)/python -m tests.benchmarks.whole --quick --csv build/bench/quick.csv

# Guaranteed bounds beside OpenDP's answers with noise, from the same table, in a few minutes.
bench-noise: $(STAMP) .venv-opendp/.installed
	OPENDP=.venv-opendp/bin/python $(RUN)/python -m tests.benchmarks.bounds_and_noise

# The same work by other software, each in an environment of its own; writes the guide's page.
# ARX=libarx-3.9.2.jar (a class path) adds ARX, which needs Java 11 or newer.
PUBLIC := pycanon anjana anonypyx opendp
bench-public: $(STAMP) $(PUBLIC:%=.venv-%/.installed)
	PYCANON=.venv-pycanon/bin/python ANJANA=.venv-anjana/bin/python ANONYPYX=.venv-anonypyx/bin/python \
	OPENDP=.venv-opendp/bin/python $(RUN)/python -m tests.benchmarks.public \
	  --page deployments/guide/pages/comparison/public.md

bench: $(STAMP) $(PEERS:%=.venv-%/.installed)
	PYCANON=.venv-pycanon/bin/python ANJANA=.venv-anjana/bin/python ANONYPYX=.venv-anonypyx/bin/python \
	ANONYMETER=.venv-anonymeter/bin/python SDNIST=.venv-sdnist/bin/python \
	STATSMODELS=.venv-statsmodels/bin/python OPENDP=.venv-opendp/bin/python \
	  $(RUN)/python -m tests.benchmarks

# A server and a worker of this machine, for `sfumato deploy`: each runs until it is stopped.
server: export PREFECT_SERVER_ANALYTICS_ENABLED ?= false
server: export PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT ?= false
server: export PREFECT_SERVER_UI_API_URL ?= http://127.0.0.1:$(PORT)/api
server: export PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED ?= events,flow_runs
server: export PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD ?= 7776000
server: $(STAMP)
	$(RUN)/prefect server start --host 127.0.0.1 --port $(PORT)

worker: export PREFECT_API_URL ?= http://127.0.0.1:$(PORT)/api
worker: $(STAMP)
	$(RUN)/prefect worker start --pool sfumato --type process

# The worker that publishes what was approved; it may be another user's, who alone holds the place.
publisher: export PREFECT_API_URL ?= http://127.0.0.1:$(PORT)/api
publisher: $(STAMP)
	$(RUN)/prefect worker start --pool sfumato-publication --type process

# Each goes on where it was stopped: hours in all, figures at the end.
mutants: $(STAMP)
	$(RUN)/python -m tests.mutants first
	$(RUN)/python -m tests.mutants sample

fuzz: $(STAMP)
	$(RUN)/python -m tests.fuzz --inputs 10000

kill: $(STAMP)
	$(RUN)/python -m tests.faults --runs 1000 --cli 50 --worker 30

# Where one cannot be installed, its line of the benchmarks says so.
.venv-%/.installed:
	$(PYTHON) -m venv .venv-$*
	-.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check $*==$($*)
	touch $@

clean:
	rm -rf $(VENV) $(PEERS:%=.venv-%) releases .sfumato

$(STAMP): pyproject.toml deployments/constraints.txt
	$(call install,.[dev])
	touch $@ $(PLAIN)

$(PLAIN): pyproject.toml deployments/constraints.txt
	$(call install,.[publish])
	touch $@
