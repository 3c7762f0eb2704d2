# Solvent: everything a newcomer or a contributor runs.
#
# The virtual environment is made once, in `.venv`. Stamp files in it say what has been installed: `.runtime`
# (the package and its page, enough for `make run`), `.lab`, `.installed` (with the development tools), `.bench` and `.fuzz`.
# A change of pyproject.toml makes them stale.

PYTHON       ?= python3
FUZZ_SECONDS ?= 60
# How much `make soak` does, as a multiple of what takes less than an hour; and the seeds of this run.
SOAK         ?= 1
SOAK_SEED    := $(or $(SOAK_SEED),$(shell date +%s))
# How many processes share the tests; 0 is none but the one that was started. Tests wait for others now and then, so one
# more than there are processors keeps all of these busy.
JOBS         ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# What was compiled once is kept, also where Python is told otherwise: hundreds of modules of tests are rewritten by
# pytest before they run, and imported anew by many processes.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check -q
# Dependency groups (`--group`) came with pip 25.1; nothing is fetched where it is that new.
PIP_WITH_GROUPS := $(PIP) install 'pip>=25.1' && $(PIP)
EXTRAS := arrays,arrow,figures,http,nats,otel,web
# A process that has nothing left to do takes half of what the busiest has; until then each has whole modules, which
# share what they have set up.
TEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# A warning is an error: a page that the navigation does not name, a link that leads nowhere, an unknown language.
SITE := $(BIN)/python -m sphinx --conf-dir docs --doctree-dir build/pages --fail-on-warning . build/site

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two pips at work in one environment would spoil it.
.NOTPARALLEL:
.PHONY: help run lab test retest check wheel format gallery grammar reference docs screenshots bench bench-workflow bench-records bench-patterns bench-protocols bench-handover bench-store bench-agents faults soak fuzz clean

help:  ## show this list
	@grep -E '^[a-z]+:.*##' $(firstword $(MAKEFILE_LIST)) \
	  | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'

run: $(VENV)/.runtime  ## run a small workflow in which a step fails and another takes over
	@$(BIN)/solvent show examples/workflows/first/morning.py
	@$(BIN)/solvent run examples/workflows/first/morning.py

lab: $(VENV)/.lab  ## install the lab: simulator, model checker and experiments (`solvent lab`)
	@echo "The lab is installed: $(BIN)/solvent lab --help"

test: $(VENV)/.installed  ## run all tests but the long ones
	@$(TEST)

retest: $(VENV)/.installed  ## run again, alone, the few tests that failed last
	@$(BIN)/python -m tests.repo.retest

check: $(VENV)/.installed  ## lint, types, layers, and the documentation: its snippets and its site
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(TEST) tests/repo
	@$(SITE) --quiet

wheel: $(VENV)/.installed  ## build the wheel, install it with each extra on two versions of Python, run a workflow
	@$(BIN)/python -m tests.repo.wheel

format: $(VENV)/.installed  ## put the sources into the common form
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

gallery: $(VENV)/.installed  ## make the pages and pictures of workflow patterns anew
	@$(BIN)/python -m tests.patterns.gallery

grammar: $(VENV)/.installed  ## make the grammar for editors anew
	@$(BIN)/python -m tests.repo.grammar

reference: $(VENV)/.installed  ## make the references anew: commands and options, the Python API, operators
	@$(BIN)/python -m tests.repo.options
	@$(BIN)/python -m tests.repo.api
	@$(BIN)/python -m tests.repo.operators

docs: $(VENV)/.installed  ## make the site of the documentation, build/site/index.html
	@$(SITE) --quiet
	@echo "The site is in build/site: open build/site/index.html."

screenshots: $(VENV)/.installed  ## make the pictures of the page anew, in Chromium
	@$(BIN)/python -m tests.browser.screenshots

bench: $(VENV)/.installed  ## compare speed with other engines
	@$(MAKE) --no-print-directory $(VENV)/.bench \
	  || echo "Some engines could not be installed; the comparison goes on without them."
	@$(BIN)/python -m bench

bench-workflow: $(VENV)/.installed  ## compare workflows with Parsl, Dask and Ray
	@$(MAKE) --no-print-directory $(VENV)/.peers \
		|| echo "Without all peers: what is not installed is skipped."
	@$(BIN)/python -m bench.workflow

bench-records: $(VENV)/.installed  ## see what it costs that a run of a workflow is recorded
	@$(BIN)/python -m bench.recording.overhead
	@$(BIN)/python -m bench.recording.update

bench-patterns: $(VENV)/.installed  ## see how patterns grow with the number of branches
	@$(BIN)/python -m bench.patterns

bench-protocols: $(VENV)/.installed  ## see what a simulated message costs; compare nodes with Redis
	@$(BIN)/python -m bench.protocols.simulator
	@$(BIN)/python -m bench.protocols.capture
	@$(BIN)/python -m bench.protocols.live
	@$(BIN)/python -m bench.protocols.token

bench-handover: $(VENV)/.installed  ## hand data and locks over; compare with bare ways and Redis
	@$(BIN)/python -m bench.handover.data
	@$(BIN)/python -m bench.handover.locks
	@$(BIN)/python -m bench.handover.workflow

bench-store: $(VENV)/.installed  ## see what keeping records costs, on disk or not; compare with bare SQLite
	@$(BIN)/python -m bench.store.appends

bench-agents: $(VENV)/.installed  ## run workflows by agents around a store; compare with Ray
	@$(BIN)/python -m bench.agents.speed
	@$(BIN)/python -m bench.agents.spread

faults: $(VENV)/.installed  ## kill, stop and cut off agents and servers, and count what came of it
	@$(BIN)/python -m bench.agents.faults

soak: $(VENV)/.installed  ## run the long tests, and the others on many fresh random programs (SOAK=1)
	@echo "SOAK=$(SOAK) SOAK_SEED=$(SOAK_SEED)"
	@SOAK=$(SOAK) SOAK_SEED=$(SOAK_SEED) $(TEST) tests -m "soak or hypothesis" --timeout=3600 --hypothesis-profile=soak

fuzz: $(VENV)/.fuzz  ## fuzz the parser, guided by coverage (FUZZ_SECONDS=60)
	@$(BIN)/python tests/fuzz/fuzz_parser.py -max_total_time=$(FUZZ_SECONDS)

clean:  ## remove everything that make and the tools have made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------------------------------- the environment

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Solvent needs Python 3.11 or newer, and \`$(PYTHON)\` is not."; \
	  echo "Name another one: make PYTHON=/path/to/python3.12"; \
	  exit 1; }
	@echo "Making the virtual environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: pyproject.toml | $(VENV)/.made
	@echo "Installing Solvent into $(VENV) ..."
	@$(PIP) install -e '.[web]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.installed: pyproject.toml lab/pyproject.toml | $(VENV)/.made
	@echo "Installing Solvent and its development tools into $(VENV) ..."
	@# What is imported is compiled then, and most of the tools' files never are.
	@$(PIP_WITH_GROUPS) install --no-compile -e '.[$(EXTRAS)]' -e ./lab --group dev
	@$(BIN)/python -m compileall -q src lab/src
	@# What pytest makes of the tests before it runs them is kept; else each of the processes that share them makes all.
	@for part in tests/unit '--ignore=tests/unit tests'; do \
	  $(BIN)/python -m pytest --collect-only $$part >/dev/null 2>&1 & done; wait
	@touch $(VENV)/.runtime $@

$(VENV)/.lab: lab/pyproject.toml $(VENV)/.runtime
	@echo "Installing the lab into $(VENV) ..."
	@$(PIP) install -e './lab[figures]'
	@touch $@

$(VENV)/.peers: pyproject.toml $(VENV)/.installed
	@echo "Installing the engines to compare with ..."
	@$(PIP_WITH_GROUPS) install --group peers
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.installed
	@echo "Installing the engines to compare with ..."
	@$(PIP_WITH_GROUPS) install --group bench
	@touch $@

$(VENV)/.fuzz: pyproject.toml $(VENV)/.installed
	@echo "Installing the fuzzer ..."
	@$(PIP_WITH_GROUPS) install --group fuzz
	@touch $@
