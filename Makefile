# make demo | wheel | test | older | fuzz | cross-check | lint | bench | docs | pictures: each builds what it needs in .venv, with uv when it is there, else with pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
export UV_SYSTEM_CERTS := 1

ifdef UV
INSTALL = uv pip install --quiet --python $(BIN)/python
MAKE_VENV = uv venv --quiet --python $(PYTHON) $(VENV)
else
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
MAKE_VENV = $(PYTHON) -m venv $(VENV)
endif

.PHONY: demo wheel test fuzz cross-check peers older on-older lint bench measured docs pictures clean

$(BIN)/python:
	$(MAKE_VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(INSTALL) -e .
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[test]'
	touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[bench]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	touch $@

demo: $(VENV)/.run
	$(BIN)/sfumato demo -o demo-out --force

lint: $(VENV)/.test
	$(BIN)/ruff check src tests benchmarks tools docs/tools hatch_build.py
	$(BIN)/ruff format --check src tests benchmarks tools docs/tools hatch_build.py
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint
	$(BIN)/python -m pytest -n auto -q

COUNT ?= 10000
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz $(COUNT) $(SEED)

cross-check:  # in an environment of its own: TNO's package changes how pytest runs
	$(MAKE) VENV=.venv-peers peers

peers: $(VENV)/.test
	$(INSTALL) -e '.[two-party-peers]'
	$(BIN)/python -m pytest -q tests/integration/test_cross_check.py

$(VENV)/.older: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[older]'
	touch $@

older:  # pandas 2 and pycanon, which does not work with pandas 3, in an environment of their own
	$(MAKE) VENV=.venv-older on-older

on-older: $(VENV)/.older
	$(BIN)/python -m pytest -q tests/method/test_pycanon.py tests/table/test_frames.py tests/test_pandas.py

bench:  # the peers that are measured want pandas 2
	$(MAKE) VENV=.venv-bench measured

measured: $(VENV)/.bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

wheel: $(VENV)/.run  # for this platform and Python, with compiled kernels; pip wheel without SFUMATO_KERNELS makes a pure one
	rm -rf dist/kernels && mkdir -p dist
	$(BIN)/python -m tools.compile_kernels dist/kernels
	SFUMATO_KERNELS=$(CURDIR)/dist/kernels $(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .

pictures: $(VENV)/.test  # claims, parameters and pictures of the method pages, again from the code
	$(BIN)/python -m docs.tools.claims
	$(BIN)/python -m docs.tools.pictures
	$(BIN)/python -m docs.tools.studio

clean:
	rm -rf $(VENV) .venv-peers .venv-older .venv-bench demo-out site dist
