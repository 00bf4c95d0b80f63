# propdesk. `make run` and `make test` set up what they need: Python 3.11 or newer, nothing else.

PYTHON ?= python3
ARGS ?=

SHELL := /bin/sh
BIN := .venv/bin
RUN := .venv/.requirements.lock.ok
DEV := .venv/.requirements-dev.lock.ok
BENCH := .venv-bench/.requirements-bench.lock.ok
SUITES := unit property contract integration faults e2e
TESTS = $(wildcard $(addprefix tests/,$(SUITES)))

# A variable some machines set; without compiled modules every process starts a second later.
unexport PYTHONDONTWRITEBYTECODE
export PYTHON

# A .venv that moved, or whose Python is gone, is made anew.
STALE := $(shell test -x $(BIN)/python && test "$$(cat .venv/.made 2>/dev/null)" = "$$(pwd -P)" || echo stale)

.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup run test test-long check lint format bench mutation docs lock clean stale

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(RUN) $(DEV) ## make .venv with everything that running and testing need

run: $(RUN) ## paper-trade the bundled data with the whole stack (ARGS="--days 20" and the like)
	@$(BIN)/python -m compileall -q services shared
	@$(BIN)/propdesk run --fresh $(ARGS)

test: $(DEV) ## every suite but the long tests (ARGS="-k name" and the like)
	$(BIN)/python -m pytest $(TESTS) $(ARGS)

test-long: $(DEV) ## the long tests
	$(BIN)/python -m pytest -m long $(TESTS) $(ARGS) || test $$? -eq 5 # 5: there are none

check: lint ## what must pass before a commit: format, lint, types, import contracts, unit tests
	$(BIN)/python -m pytest -q tests/unit
	@set -e; for script in $(sort $(wildcard tools/check_*.py)); do echo $$script; $(BIN)/python $$script; done

lint: $(DEV) ## format, lint, types, import contracts and generated docs, changing nothing
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_docs.py --check

format: $(DEV) ## format the code and apply the safe fixes
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

bench: $(BENCH) ## the benchmarks of bench/, one after another (ARGS=--json: one document each)
	@set -e; for script in $(sort $(filter-out bench/_%,$(wildcard bench/*.py))); do echo $$script; .venv-bench/bin/python $$script $(ARGS); done

mutation: $(BENCH) ## mutation testing of what decides, half an hour at most (ARGS=--report: only what is known)
	.venv-bench/bin/python tools/mutation.py $(ARGS)

docs: $(DEV) ## write the generated parts of docs/
	@if [ -f tools/generate_docs.py ]; then $(BIN)/python tools/generate_docs.py; else echo "docs: nothing to generate yet"; fi

lock: $(DEV) ## write the lock files anew from pyproject.toml (ARGS=--upgrade takes newer versions)
	tools/lock.sh $(ARGS)

clean: ## remove .venv, caches and build results; data in .propdesk* stays
	rm -rf .venv .venv-bench mutants dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(wildcard services shared tests tools bench) -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.%.ok: % pyproject.toml tools/setup.sh $(if $(STALE),stale)
	@tools/setup.sh $<

.venv-bench/.%.ok: % pyproject.toml tools/setup.sh
	@tools/setup.sh $< .venv-bench

stale:
