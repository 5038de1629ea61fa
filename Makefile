# Every target works from a fresh clone: the environment is made when it is first needed.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := requirements.lock

.DEFAULT_GOAL := help
.PHONY: help demo test slow crash cluster lint bench docs lock format clean kernels java

KERNELS := $(wildcard src/penstock/engine/kernels/*.py src/penstock/engine/retention/*.py \
	src/penstock/statistics/harvest_*.py)
FRESH := $(VENV)/.kernels
COMPILED := $(VENV)/.compiled

help: ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: java $(READY) $(FRESH) ## See a join lose as little as it can
	@$(BIN)/penstock demo

# Two workers: the machines that run this have at least two cores.
test: java $(COMPILED) ## Run what a change most often breaks
	@$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not crash and not cluster"
	@echo "Again with the JIT off ..."
	@NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n 2 -m "nojit and not slow" \
		tests/engine tests/properties tests/statistics tests/strategies

slow: java $(COMPILED) ## Run all the other tests
	@$(BIN)/pytest -q -n 2 --dist worksteal -m "slow and not crash and not cluster"

crash: java $(READY) $(FRESH) ## Kill a running join 50 times and compare; run the live benchmarks in short
	@$(BIN)/pytest -q -s -m crash tests/spark/test_crash.py tests/spark/test_change_crash.py \
		tests/spark/test_crash_in_a_burst.py tests/spark/test_plan_crash.py \
		tests/spark/test_nothing_left.py tests/spark/test_workers_killed.py \
		tests/bench/test_overload.py tests/bench/test_live_run.py

cluster: java $(COMPILED) ## Kill parts of a Spark cluster on this machine and compare
	@$(BIN)/pytest -q -s -m cluster tests/cluster

lint: $(READY) ## Check style, types and the direction of imports
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo

bench: $(READY) $(FRESH) ## Measure speed and recall against other joins
	@$(BIN)/python -m benchmarks

docs: $(READY) ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir site

lock: $(READY) ## Renew requirements.lock from pyproject.toml (newest versions: make lock UPGRADE=--upgrade)
	@$(BIN)/uv pip compile pyproject.toml --extra cli --extra spark --extra sql --extra studies --group dev --quiet $(UPGRADE) \
		--universal --fork-strategy fewest --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock" --output-file $(LOCK)

format: $(READY) ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

kernels: ## Forget the compiled kernels
	@find src -name '*.nb[ic]' -delete

# Numba looks only at the file of the compiled function itself, not at those that it calls.
$(FRESH): $(KERNELS) | $(READY)
	@find src -name '*.nb[ic]' -delete
	@touch $@

# Else two tests at a time, and the workers of Spark, each compile the same.
$(COMPILED): $(FRESH)
	@echo "Compiling the kernels (once, a few minutes) ..."
	@$(BIN)/python -m tests.compile_kernels
	@touch $@

# Spark runs on Java. Asked before the environment is built, which takes a minute; in the words of
# penstock.spark.session.check_java.
java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	version=$$("$$java" -version 2>&1 | \
		sed -n -e 's/.*version "1\.\([0-9][0-9]*\).*/\1/p' -e 's/.*version "\([0-9][0-9]*\).*/\1/p' | \
		head -n 1); \
	if [ "$${version:-0}" -lt 17 ]; then \
		found=$${version:+"$$java is version $$version"}; \
		echo "Spark needs Java 17 or newer; $${found:-$$java was not found, or does not run};" >&2; \
		echo "install it (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install" >&2; \
		echo "openjdk@17; others: https://adoptium.net) and have java on the PATH, or set JAVA_HOME." >&2; \
		exit 1; \
	fi

clean: ## Remove everything that was built, the environment included
	@rm -rf $(VENV) site dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +

# A Python counts only if it runs: a shim may exist for a version that is not installed.
# The upper bound is the newest Python that the lock file was tried with.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))

$(READY): $(LOCK) pyproject.toml
	@echo "Setting up $(VENV) (once, about a minute) ..."
	@if ! $(BIN)/python -c '$(SUPPORTED)' >/dev/null 2>&1; then \
		for python in python3.13 python3.12 python3.11 python3; do \
			if $$python -c '$(SUPPORTED)' >/dev/null 2>&1; then \
				$$python -m venv --clear $(VENV) && exit; \
			fi; \
		done; \
		echo "Penstock needs Python 3.11, 3.12 or 3.13, and none of them was found on the PATH." >&2; \
		exit 1; \
	fi
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
