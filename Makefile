# Everything installs into .venv; nothing but Python 3.11 or newer and make need be there before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Where the published splits are, as in the tests and experiments.
SPLITS := $(or $(ARCVEC_DATA),../shared/data)/splits

.PHONY: demo check test torture lint bench bench-full pages site figures clean

demo: $(VENV)/.installed
	$(BIN)/arcvec demo

# A process for every core, each with one thread for its matrices: together they are twice as fast.
test: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

# For people who work on it: lint, types, and the tests that start no processes.
SLOW := faults parallel cli serve lab view training/test_trainer.py test_readme.py test_examples.py
check: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile tests $(SLOW:%=--ignore tests/%)

# The faults of tests/faults by the hundred; `make test` tries each a few times.
torture: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults tests/ingest/test_datasets.py -n 2 \
		-m "slow or not slow" --torture results/benchmarks/torture.json

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Speed and memory, each as a table: a quick set, and in full, with the figures that
# docs/benchmarks.md is made of. Other libraries are installed into build/peers-env.
bench: $(VENV)/.installed
	$(BIN)/python benchmarks/startup.py --quick
	$(BIN)/python benchmarks/ingest.py --edges 5000000
	$(BIN)/python benchmarks/walks.py --quick
	$(BIN)/python benchmarks/training.py --steps 10
	$(BIN)/python benchmarks/scaling.py --scales 14 16 --no-whole
	$(BIN)/python benchmarks/peers.py --graphs ppi --budgets 2 5 10 --peers ProNE SVD FastRP Cleora

bench-full: $(VENV)/.installed
	$(BIN)/python benchmarks/startup.py --save
	$(BIN)/python benchmarks/ingest.py --save
	$(BIN)/python benchmarks/walks.py --save
	$(BIN)/python benchmarks/training.py --save
	$(BIN)/python benchmarks/topk.py --save
	$(BIN)/python benchmarks/serve.py --connections 4 8 16 --save
	$(BIN)/python benchmarks/scaling.py --save
	$(BIN)/python benchmarks/peers.py --save
	$(BIN)/python benchmarks/scaleout.py --save
	$(BIN)/python benchmarks/scaleout_model.py --save

# The paper's two figures, fitted on train edges alone. On the circle scores lie in [-1, 1]; there the
# paper's five negatives a pair press all sources towards one pole and all targets to the other. PPI
# has one negative a pair, so that 90 degrees is where pairs begin to outnumber negatives; the
# default objective would spend its two numbers a side on degrees.
figures: $(VENV)/.installed
	$(BIN)/arcvec fit $(SPLITS)/soc-facebook -o build/ego-facebook --overwrite --dim 4 --model.unit-norm
	$(BIN)/arcvec plot build/ego-facebook --graph $(SPLITS)/soc-facebook --overwrite \
		-o docs/figures/ego-facebook.png -o docs/figures/ego-facebook.svg
	$(BIN)/arcvec fit $(SPLITS)/ppi -o build/ppi --overwrite --preset auc --dim 4 --model.kind asymmetric \
		--walks.window 2 --negatives.kind fixed --negatives.per-pair 1 --training.degree-discount 0
	$(BIN)/arcvec plot build/ppi --graph $(SPLITS)/ppi --overwrite \
		-o docs/figures/ppi.png -o docs/figures/ppi.svg

# The pages of docs/ that show results, from the files in results/, and that of the licences.
pages: $(VENV)/.installed
	$(BIN)/python scripts/build_docs.py
	$(BIN)/python scripts/licences.py

# The docs as a site, in build/site: offline, and every warning is an error.
site: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:
	rm -rf $(VENV) arcvec-demo build
	find src -name __pycache__ -prune -exec rm -rf {} +

# Exact versions, so that a run today and a run next year install the same.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@
