# `make run` and `make test` are the only set-up. Everything stands in .venv; nothing outside the folder is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
# HOST and PORT count where they are given to make, not where a shell happens to export them.
given = $(filter command%,$(origin $(1)))
SERVE := $(if $(call given,HOST),--host $(HOST)) $(if $(call given,PORT),--port $(PORT))

.PHONY: run setup setup-tests test check lock clean help bench bench-quality baseline screenshots

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

run: setup  ## set up, ingest the list that ships (or LIST=path), serve on http://127.0.0.1:8000
ifeq ($(call given,LIST),)
	@$(BIN)/confab ingest --if-empty ingest/lists/icml2026_sample.txt
else
	@$(BIN)/confab ingest --sync --lenient "$(LIST)"
endif
	@exec $(BIN)/confab serve $(SERVE)

setup: $(VENV)/ready  ## make the environment: .venv with the locked dependencies

$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Confab needs Python 3.11 or newer; found %s (set PYTHON=...)" % sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) (about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup-tests: $(VENV)/ready-tests

$(VENV)/ready-tests: $(VENV)/ready tests/requirements.lock tests/openai2.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/requirements.lock
	@rm -rf $(VENV)/openai2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/openai2 --no-deps --require-hashes -r tests/openai2.lock
	@touch $@

check: setup-tests  ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check  ## set up, then everything that proves it: check, then the tests
	$(BIN)/pytest -n 2 --dist loadfile

lock: $(VENV)/ready-tests  ## write the lock files anew from pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	tests/lock $(BIN)/uv

bench: setup-tests  ## ICML 2026: ingest rate, memory, search times, beside a plain LlamaIndex starter
	$(BIN)/python -m evals.speed $(SHARED)/data/corpora/icml2026.jsonl.gz

bench-quality: setup-tests  ## the tables of figures of the README: ranking, and answers
	$(BIN)/confab eval quality --shared $(SHARED) $(if $(INDEXES),--indexes $(INDEXES)) $(foreach name,$(ONLY),--only $(name))

baseline: setup  ## the baseline of the evaluation gate anew, after a change that is meant to move figures
	CONFAB_DATA_DIR=$(VENV)/baseline $(BIN)/confab ingest --sync ingest/lists/icml2026_sample.txt
	CONFAB_DATA_DIR=$(VENV)/baseline $(BIN)/confab eval run sample --save evals/sets/sample_baseline --fresh

screenshots: setup-tests  ## draw docs/page.png from the real page
	$(BIN)/python -m tests.screenshot

clean:  ## remove the environment and caches (never the index)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
