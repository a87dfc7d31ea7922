# Two commands do all the set-up on a machine that has Python 3.11 or newer and make:
#   make demo    and    make test
# Another interpreter: make test PYTHON=/path/to/python3.13

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -q
# The guard is on the path before pytest starts, so its first line already runs under it.
PYTEST := PYTHONPATH=tests/guard $(BIN)/python -m pytest
JOBS ?= 2
UV ?= uv

.PHONY: help demo test lint types docs bench soak lock format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed ## Import a small conversation set, ask it questions, verify the bank
	@$(BIN)/python -m muniment.demo

test: lint types $(VENV)/.inspector ## Run everything that proves the code: lint, types, tests, docs
	$(PYTEST) -n $(JOBS)

lint: $(VENV)/.installed ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed ## Check types, strictly
	$(BIN)/mypy

docs: $(VENV)/.installed ## Run the documents' examples and check that everything is documented
	$(PYTEST) tests/test_docs.py

bench: $(VENV)/.bench ## Run the benchmarks, rivals in the same run
	$(BIN)/python -m benchmarks

soak: $(VENV)/.installed ## Run the long tests, a year of three agents among them (YEAR_DATA=folder of question sets)
	HYPOTHESIS_PROFILE=soak $(PYTEST) -m soak --timeout=7200
	@echo "The year's plots: .bench/year/*.svg"

format: $(VENV)/.installed ## Rewrite files in the house format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lock: ## Pin dependencies again (needs `uv`, or UV=path)
	$(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --all-extras --group dev pyproject.toml -o requirements/dev.lock $(LOCKFLAGS)
	$(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --all-extras --group bench -c requirements/dev.lock pyproject.toml \
		-o requirements/bench.lock $(LOCKFLAGS)

clean: ## Remove the environment and all that was built
	rm -rf $(VENV) build dist .demo .bench .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make a second run start at once. The lock decides the environment, hash by hash.
$(VENV)/.locked: requirements/dev.lock
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "muniment needs Python 3.11 or newer; say which: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; \
		exit 1; }
	@echo "Making the environment in $(VENV) (once; a minute or so)"
	@"$(PYTHON)" -m venv --clear $(VENV) || { \
		echo "This Python has no venv module (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.locked
	@$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch $@

# The MCP inspector is a program of Node's: where it can't be had, its test is skipped by name.
$(VENV)/.inspector: tests/inspector/package-lock.json $(VENV)/.locked
	@mkdir -p $(VENV)/inspector
	@cp tests/inspector/package.json tests/inspector/package-lock.json $(VENV)/inspector/
	@npm ci --prefix $(VENV)/inspector --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null 2>&1 \
		&& touch $@ || echo "The MCP inspector can't be installed here (it needs npm): its test will be skipped"

$(VENV)/.bench: requirements/bench.lock $(VENV)/.installed
	@$(PIP) install --require-hashes -r requirements/bench.lock
	@touch $@
