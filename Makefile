# Everything a newcomer needs: `make run` and `make test`. Both set up what they use, in .venv, and nothing else.
SHELL := /bin/sh
BIN := .venv/bin
BALANCER ?= shared_listener
PORT ?= 8460
LOAD_PORT ?=
PYTEST ?=
JOBS ?= 4
WHOLE ?=
RUNS ?= 10000
CLOUD ?= demo
CORES ?= 2
FAST_LEAVES_OUT := contracts end_to_end faults properties test_benchmarks.py test_docs.py
ONLY ?=
NAME ?=
ARGS ?=
# Tests start a thousand processes: each of them would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test costs test-fast test-real nightly mutants check format schema reference golden dashboards bench capacity performance lock clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: ## the demo fleet: real processes, real SNMP, a short day of load; BALANCER=haproxy to use that, PORT=8461 for another beside it (its load: LOAD_PORT=8481)
	@.ci/environment requirements.txt
	@$(BIN)/trimtab demo --balancer $(BALANCER) --port $(PORT) $(if $(LOAD_PORT),--load-port $(LOAD_PORT))

test: ## all kinds of tests, of the costly ones a sample, JOBS side by side; WHOLE=yes: all, as CI does it; JOBS=0: one after another, as a debugger needs it
	@.ci/environment requirements-dev.txt
	@.ci/real-parts
	@.ci/in-memory $(BIN)/pytest --numprocesses $(JOBS) --no-loadscope-reorder $(if $(WHOLE),,--sample) $(PYTEST)

costs: ## list anew which tests are costly (tests/costly_tests.txt): a whole run, measured
	@$(MAKE) --no-print-directory test WHOLE=yes PYTEST="--costs $(PYTEST)"

test-fast: ## what takes under a minute: no real programs, no whole chains (FAST_LEAVES_OUT, tests/long_files.txt), CORES side by side
	@.ci/environment requirements-dev.txt
	@.ci/in-memory $(BIN)/pytest --numprocesses $(CORES) -m "not program" $(addprefix --ignore=tests/,$(FAST_LEAVES_OUT)) \
	  $$(sed 's/^/--ignore=/' tests/long_files.txt) $(PYTEST)

test-real: ## the drivers' promises, kept on real clouds: CLOUD=demo of OS_CLIENT_CONFIG_FILE, and TRIMTAB_REAL_OPENNEBULA
	@.ci/environment requirements-dev.txt
	@TRIMTAB_REAL_OPENSTACK=$(if $(OS_CLIENT_CONFIG_FILE),$(CLOUD)) $(BIN)/pytest tests -m bed $(PYTEST)

nightly: mutants ## search the invariants of convergence and of replay for as long as a night allows: RUNS=10000, new ones each time; all properties; all benchmarks in small; and mutants
	@.ci/environment requirements-dev.txt
	@TRIMTAB_NIGHTLY=$(RUNS) $(BIN)/pytest tests/properties/test_convergence.py tests/properties/test_replay.py \
	  tests/faults/test_api_requests.py tests/faults/test_mixed_faults.py \
	  tests/faults/test_worker_alerts.py tests/faults/test_shards.py \
	  tests/test_benchmarks.py $(PYTEST)
	@$(BIN)/pytest tests -m hypothesis --hypothesis-profile nightly --numprocesses $(CORES) $(PYTEST)

mutants: ## break the code that decides, one place at a time, and list the breaks that no test finds out: ONLY='trigger.guards.*'
	@.ci/environment requirements-dev.txt
	@$(BIN)/mutmut run --max-children $(CORES) $(ONLY)
	@$(BIN)/mutmut results

check: ## lint, types, import rules, generated files
	@.ci/environment requirements-dev.txt
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@found=$$($(BIN)/lint-imports --no-cache --config pyproject.toml) || { echo "$$found"; exit 1; }
	@$(BIN)/python -m config.document.schema --check
	@$(BIN)/python -m config.document.reference --check
	@$(BIN)/python -m grafana.build --check

format: ## let ruff put the code in order
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

schema: ## write config/schema.json from the document model
	@$(BIN)/python -m config.document.schema

reference: ## write docs/reference.md from the document model
	@$(BIN)/python -m config.document.reference

golden: ## write tests/golden/files: only where what is written is meant to change, never for a rename
	@$(BIN)/python -m tests.golden

dashboards: ## write grafana/dashboards from grafana/build
	@$(BIN)/python -m grafana.build

bench: ## measure what has a goal; NAME=snmp: only that; NAME=all: everything; figures depend on the machine, ratios less so
	@.ci/environment requirements-dev.txt
	@$(BIN)/python -m benchmarks $(NAME)

performance: ## write docs/performance.md from the last figures of make bench
	@$(BIN)/python -m benchmarks.report.page

capacity: ## score policies on open traces, and write docs/capacity.md: ARGS="forecast boot120", by policy, setting and trace; all of it takes an hour
	@.ci/environment requirements-dev.txt
	@$(BIN)/python -m benchmarks.capacity $(ARGS)

lock: ## pin dependencies anew, with hashes and without registry addresses (needs uv)
	@for pair in requirements.txt:install requirements-dev.txt:dev; do \
	  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --group $${pair#*:} pyproject.toml -o $${pair%:*}; done

clean: ## remove what make made
	@rm -rf .venv .trimtab .trimtab-* .mypy_cache .ruff_cache .pytest_cache .hypothesis mutants
