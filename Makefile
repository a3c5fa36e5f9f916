# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .demo/trips
ALBUM := .demo/album.html
PIP_FLAGS := --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all check browser lint bench torture clean

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
	$(BIN)/pytest -n auto -m "not slow"

test-all: .venv/.dev lint browser
	$(BIN)/pytest -n auto

# The page is tested in a real browser: installed where it is missing and may be, else those tests skip and say so.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
	&& apt-get update -qq > /dev/null && apt-get install -y -qq chromium > /dev/null; } \
	|| echo "no Chromium: the tests of the page will skip"

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Lint and the tests of the core alone: a minute.
check: .venv/.dev lint
	$(BIN)/pytest -n auto -m "not slow" tests/attributes tests/methods tests/metrics tests/kernels tests/test_errors.py tests/test_rerank.py

bench: .venv/.dev
	$(BIN)/python -m benchmarks.latency

# What a file, a request or a fault can do: bounded, on this machine alone.
torture: .venv/.dev
	$(BIN)/python -m benchmarks.torture

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
