# p0sim: needs Python >= 3.11 and make; everything else goes into .venv.
# PYTHON=python3.12 picks an interpreter, JOBS=2 limits the workers.

PYTHON ?= python3
JOBS ?=
BENCH ?=
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
INPUTS := pyproject.toml constraints.txt
# Each folder of reports/ is that of the study file of its name; one without is a user's own.
FOLDERS := $(patsubst reports/%/report.json,%,$(wildcard reports/*/report.json))
REPORTED := $(strip $(foreach name,$(FOLDERS),$(if $(wildcard simulations/$(name).toml),$(name))))

.DEFAULT_GOAL := help
.PHONY: help install study studies reports test slow lint types lowest bench docs clean

help:
	@echo "make install  put p0sim into $(VENV)"
	@echo "make study    run simulations/coverage.toml and print its table (about a minute)"
	@echo "make studies  run every study of reports/ from its seed: publication size, some hours"
	@echo "make reports  draw every report of reports/ again from the numbers it holds"
	@echo "make test     tests and doctests, slow ones left out"
	@echo "make slow     the slow tests"
	@echo "make lint     ruff: rules and layout"
	@echo "make types    mypy on the package"
	@echo "make lowest   tests with every dependency at its lower bound, in $(LOWEST)"
	@echo "make bench    time p0sim beside other programs (about an hour; BENCH=--quick: 2 minutes)"
	@echo "make docs     build the documentation into docs/_build; warnings are errors"
	@echo "make clean    remove environments and caches; results/ and reports/ stay"
	@echo
	@echo "JOBS=2 limits the workers, PYTHON=python3.12 picks the interpreter."

install: $(BIN)/.installed

study: $(BIN)/.installed
	$(BIN)/p0sim run simulations/coverage.toml $(if $(JOBS),-j $(JOBS))

studies: $(BIN)/.installed
	set -e; for name in $(REPORTED); do \
	    $(BIN)/p0sim run simulations/$$name.toml $(if $(JOBS),-j $(JOBS)); \
	done

reports: $(BIN)/.installed
	set -e; for name in $(REPORTED); do \
	    $(BIN)/p0sim report reports/$$name $(if $(JOBS),-j $(JOBS)); \
	done

test: $(BIN)/.installed-test
	$(BIN)/python -m pytest -m "not slow" -n $(or $(JOBS),auto)

slow: $(BIN)/.installed-test
	$(BIN)/python -m pytest -m slow -n $(or $(JOBS),auto)

lint: $(BIN)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.installed-test
	$(BIN)/mypy p0sim

lowest: $(LOWEST)/bin/.installed-test
	$(LOWEST)/bin/python -m pytest -m "not slow" -n $(or $(JOBS),auto)

bench: $(BIN)/.installed-bench
	$(BIN)/python -m benchmarks.run $(BENCH)

docs: $(BIN)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -j auto docs docs/_build
	@echo "docs/_build/index.html"

clean:
	rm -rf $(VENV) $(LOWEST) build dist docs/_build docs/api *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# venv puts pip in place last, so a half-made environment is made again.
%/bin/pip:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("p0sim needs Python 3.11 or newer; $(PYTHON) is %d.%d: try make PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv $*

# The stamps live with the environment: a changed input installs again.
$(BIN)/.installed: $(INPUTS) | $(BIN)/pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@ && echo "p0sim is in $(BIN). Next: $(BIN)/p0sim --help, or make study for a first study"

$(BIN)/.installed-test: $(INPUTS) | $(BIN)/pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $(BIN)/.installed $@

$(BIN)/.installed-bench: $(INPUTS) | $(BIN)/pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	touch $(BIN)/.installed $@

$(BIN)/.installed-docs: $(INPUTS) | $(BIN)/pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	touch $(BIN)/.installed $@

$(LOWEST)/bin/.installed-test: pyproject.toml tests/lowest.py | $(LOWEST)/bin/pip
	$(LOWEST)/bin/python tests/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --prefer-binary -c $(LOWEST)/constraints.txt -e '.[test]'
	touch $@
