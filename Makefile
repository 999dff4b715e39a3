# Two commands for a newcomer: `make demo` and `make test`. Both set up .venv on first use.
PYTHON ?= python3
BIN := .venv/bin
# Where there is no terminal, a line for each package says that it goes on.
# Modules are compiled when they are first used: most never are.
INSTALL := $(BIN)/python -m pip install --no-compile --disable-pip-version-check --progress-bar off $(shell [ -t 2 ] && echo --quiet)
PROCESSES ?= auto
PYTEST := $(BIN)/python -m pytest -q -n $(PROCESSES) --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# The rankers come last: while one process compiles their kernels for the common checks, the others would compile the same ones.
NUMERICAL := tests/reranking tests/descriptors tests/experts $(patsubst %,tests/%.py,concepts/test_bagging \
  engine/test_graphs engine/test_index engine/test_learning engine/test_neighbors evaluation/test_metrics) tests/rankers

ON_POSTGRES := $(patsubst %,collection/test_%,collection commits contents copies export learning_settings marks organizing people places profiles) \
  $(patsubst %,engine/test_%,learning models replay filters) $(patsubst %,server/test_%,suggest profiles organize)

# Compiled modules are kept: the tests start hundreds of processes, which would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test suite types quick page other-cpu postgres system bench soak hostile clean

demo: .venv/.runtime
	$(BIN)/rankloom demo

test: .venv/.test system
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs 3 suite types page

suite:
	$(PYTEST)

types:
	$(BIN)/mypy
	$(BIN)/lint-imports

# What takes long or a browser is left out: a minute and a half on two cores.
quick: .venv/.test
	$(PYTEST) -m "not slow and not browser"

# ESLint, types and unit tests of the page's modules; Node.js is not needed for anything else.
page:
	@if node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b > 18) ? 0 : 1)' 2>/dev/null \
	    && command -v npm >/dev/null; \
	  then $(MAKE) -s --no-print-directory node_modules/.installed && npm run --silent check; \
	  else echo "no Node.js from 20.19 on with npm here: the checks of the page's modules are left out"; fi

node_modules/.installed: package.json
	npm install --no-audit --no-fund --loglevel=error
	touch $@

# The numerical tests once more, computed as by a processor of 2008: verdicts must not hang on rounding. The statistical
# tests of cascades, a minute of many draws with wide bounds, are left to `make test`.
other-cpu: .venv/.test
	.ci/other-cpu nehalem $(PYTEST) -k "not promise and not budget" $(NUMERICAL)

# The tests of collections, search and learning once more, with tables in PostgreSQL.
postgres: .venv/.test
	RANKLOOM_TESTS_ON_POSTGRES=1 $(PYTEST) -m "not browser" $(patsubst %,tests/%.py,$(ON_POSTGRES))

# The tests of the page drive the system's Chromium, and strace watches what is sent; where they can be installed, they are.
system:
	@command -v strace >/dev/null && { command -v chromium || command -v google-chrome; } >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium strace >/dev/null; \
	  else echo "no Chromium or strace here: tests that need them are left out"; fi; }

bench: .venv/.bench
	$(BIN)/python -m benchmarks

# Minutes of load on this machine's own address: users, an indexer, and a server that is killed.
soak: .venv/.test
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.load

# What an attacker, a crowd or an accident does, all of it: hostile files and requests, kills, full and missing disks, then load.
hostile: .venv/.test
	$(PYTEST) tests/server tests/collection tests/media $(patsubst %,tests/rankers/test_%.py,tree_text) -m "not browser"
	$(BIN)/python -m benchmarks.soak --seconds 120

.venv/.runtime: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rankloom needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")'
	@echo "Installing Rankloom and what it needs into .venv, which takes some minutes."
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	touch $@

.venv/.test: .venv/.runtime
	@echo "Installing what the tests need."
	$(INSTALL) --editable '.[test]'
	touch $@

.venv/.bench: .venv/.test
	@echo "Installing what the benchmarks are measured against."
	$(INSTALL) --editable '.[bench]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist node_modules
