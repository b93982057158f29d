# Everything installs into .venv; nothing but Python 3.11 or newer and make need be there before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench clean

demo: $(VENV)/.installed
	$(BIN)/arcvec demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/ingest.py

clean:
	rm -rf $(VENV) arcvec-demo
	find src -name __pycache__ -prune -exec rm -rf {} +

# Exact versions, so that a run today and a run next year install the same.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@
