PYTHON ?= python3
VENV := .venv
DATA ?= ../shared/data
BIN := $(VENV)/bin

.PHONY: serve test test-label-studio torture audit bench campaign quality lint clean

serve: $(VENV)/ready
	$(BIN)/asknext serve --demo

# A machine that stalls may cut a connection or miss a time limit: such a test, and no other, is tried once more.
RERUN := --reruns 1 --only-rerun "^(Connect|Read|Write|RemoteProtocol)(Error|Timeout)" --only-rerun "Timeout" --only-rerun "Locator expected"

# The numerical tests run twice: compiled, and with the JIT off on small sizes, so that coverage sees inside the kernels.
test: lint
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=30 $(RERUN)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m "not jit" tests/core --cov --cov-fail-under=95

# End to end with a real Label Studio from PyPI, in a venv of its own; about two minutes, and more the first time.
test-label-studio: $(VENV)/ready $(VENV)-label-studio/ready
	LABEL_STUDIO=$(VENV)-label-studio/bin/label-studio $(BIN)/pytest tests/label_studio -s --durations=0

TORTURE := tests/app/reliability tests/app/input tests/app/security tests/app/raw tests/core/test_all_or_nothing.py

# Kills, full disks and load at full length; `make test` has short forms of all of it. What is timed runs by itself.
torture: $(VENV)/ready
	ASKNEXT_TORTURE=1 $(BIN)/pytest $(TORTURE) -m "not alone" -n 2 --dist worksteal --durations=0
	ASKNEXT_TORTURE=1 $(BIN)/pytest $(TORTURE) -m alone -s --durations=0

# Packages with known vulnerabilities; a skipped test says which advisories could not be reached, and proves nothing.
audit: $(VENV)/ready
	ASKNEXT_TORTURE=1 $(BIN)/pytest tests/app/security/test_outside.py -k vulnerable -rs

# Real photographs and texts are measured where DATA has them.
bench: $(VENV)/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[campaign]"
	ASKNEXT_BENCH_DATA=$(DATA) $(BIN)/python -m tests.benchmarks

# Learning curves on real data beside scikit-activeml: make campaign DATA=folder-of-npz-files
campaign: $(VENV)/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[campaign]"
	$(BIN)/python -m tests.benchmarks.campaign $(DATA)

# Errors, class trees and calibration of the softmax likelihood on real data
quality: $(VENV)/ready
	$(BIN)/python -m tests.benchmarks.quality $(DATA)

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) $(VENV)-label-studio

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dask,dev,plots,postgres]"
	touch $@

$(VENV)-label-studio/ready:
	$(PYTHON) -m venv $(VENV)-label-studio
	$(VENV)-label-studio/bin/pip install --quiet --disable-pip-version-check label-studio==1.23.2
	touch $@
