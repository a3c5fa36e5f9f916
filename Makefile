# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP_FLAGS := --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all lint bench clean

demo: .venv/.demo
	$(BIN)/mascot demo

test: .venv/.dev lint
	$(BIN)/pytest -n auto -m "not slow"

test-all: .venv/.dev lint
	$(BIN)/pytest -n auto

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.dev
	$(BIN)/python -m benchmarks.latency

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install $(PIP_FLAGS) -e '.[cli]'
	@touch $@

.venv/.dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install $(PIP_FLAGS) -e '.[dev]'
	@touch $@
