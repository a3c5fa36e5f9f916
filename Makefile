# `make demo` and `make test` do everything on a fresh machine; CONTRIBUTING.md lists the others.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .demo/trips
ALBUM := .demo/album.html
# One process per core, each with one thread for matrices. A file's tests run in one process, which sets up its fixtures once.
# Compiled modules are stored, whatever the environment says: many tests start processes.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder
PIP_FLAGS := --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all frameworks check fuzz coverage browser lint docs bench freeze torture audit clean
MINUTES ?= 10

# Makes a sample library, indexes it, and searches it three times: plain, spread by place, focused on one evening.
# Each search adds its photographs to the album.
demo: .venv/.demo
	$(BIN)/mascot sample $(DEMO)
	$(BIN)/mascot index $(DEMO) --encoder lite
	@rm -f $(ALBUM)
	$(BIN)/mascot search "sunset over water" -k 10 --format table --album $(ALBUM)
	$(BIN)/mascot search "sunset over water" -k 10 --format table --spread place --album $(ALBUM)
	$(BIN)/mascot search "sunset over water" -k 10 --format table --focus date=2019-07-19 --focus hour=20 --album $(ALBUM)
	@echo 'The three searches, before and after, on a map and a clock: open $(CURDIR)/$(ALBUM)'
	@echo 'Next: $(BIN)/mascot search "boats in the harbour" --library $(DEMO) --spread country --explain'

test: .venv/.dev lint browser
	$(PYTEST) -m "not slow"

test-all: .venv/.dev lint browser frameworks
	$(PYTEST)

# The connectors, with LlamaIndex: it has as many dependencies as all other tests, which run without it.
frameworks: .venv/.dev
	$(BIN)/pip install $(PIP_FLAGS) -e '.[llamaindex]'
	$(PYTEST) tests/connect

# The page is tested in a real browser: it is installed if root runs this on Debian, otherwise those tests are skipped.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
	&& apt-get update -qq > /dev/null && apt-get install -y -qq chromium > /dev/null; } \
	|| echo "no Chromium: the tests of the page will skip"

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto
	$(BIN)/lint-imports
	$(BIN)/vulture

# Lint and the unit tests of the core, without a browser or torch: a minute on two cores.
check: .venv/.dev lint
	$(PYTEST) -m "not slow and not integration" tests/attributes tests/kernels tests/methods tests/test_*.py

# The properties on random examples, for MINUTES (default: 10). `make check` and `make test` always draw the same ones.
fuzz: .venv/.dev
	$(BIN)/python tests/fuzz.py --minutes $(MINUTES)

# Lines and branches of src that the tests run, as a table and in build/coverage/index.html.
coverage: .venv/.dev browser
	$(BIN)/pip install $(PIP_FLAGS) pytest-cov
	$(PYTEST) -m "not slow" -p pytest_cov --cov=mascot --cov-report=term:skip-covered --cov-report=html:build/coverage

# The site, with an API reference from the docstrings. Strict: a broken link is an error.
docs: .venv/.dev
	$(BIN)/pip install $(PIP_FLAGS) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html"

bench: .venv/.dev
	$(BIN)/python -m benchmarks.latency

# 2,080 random problems and 40 requests over the sample library, compared with what is stored in tests/freeze.
freeze: .venv/.dev
	$(BIN)/python -m tests.freeze

# Attacks by files, requests and faults: bounded in time, on this machine alone.
torture: .venv/.dev
	$(BIN)/python -m benchmarks.torture

# Known weaknesses of the locked packages; needs a network.
audit: .venv/bin/python
	$(BIN)/pip install $(PIP_FLAGS) pip-audit
	for lock in serve web build dev; do $(BIN)/pip-audit --require-hashes --disable-pip -r requirements/$$lock.txt || exit 1; done

clean:
	rm -rf .venv .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install $(PIP_FLAGS) -e '.[photos]'
	@touch $@

.venv/.dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install $(PIP_FLAGS) -e '.[dev]'
	@touch $@
