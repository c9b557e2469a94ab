# Each target makes the virtual environment it needs, once; a second run starts at once.
#   make compare      play the agents of configs/compare.yaml on the same deals and print the table
#   make throughput   steps per second of this project and of the other simulators that are installed
#   make train        train a policy for draw 1 from nothing; with ARGS=--resume, go on with it
#   make test         the test suite (ARGS="..." are handed to pytest)
#   make pictures     draw the pictures of the README from docs/replay.jsonl
#   make lint         ruff and mypy, as CI runs them;  make format rewrites the files

VENV ?= .venv
# The first Python that runs, is new enough and can make virtual environments.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)

BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile --constraint constraints.txt
ARGS ?=

.PHONY: compare throughput train pictures test lint format clean
.NOTPARALLEL:

compare: $(VENV)/benchmarks.stamp
	$(BIN)/python -m benchmarks compare --config configs/compare.yaml $(ARGS)

throughput: $(VENV)/throughput.stamp
	$(BIN)/python -m benchmarks throughput $(ARGS)

train: $(VENV)/train.stamp
	$(BIN)/python -m agents.train configs/train/first.yaml $(ARGS)

pictures: $(VENV)/dev.stamp
	$(BIN)/python -m klondike_env.cli replay docs/replay.jsonl \
		--picture docs/board.png --move 34 --animation docs/replay.gif

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 $(ARGS)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	$(if $(strip $(PYTHON)),,$(error no Python 3.11 or newer with the venv module found; name one with PYTHON=/path/to/python))
	$(PYTHON) -m venv $(VENV)

$(VENV)/benchmarks.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[benchmarks]'
	@touch $@

# EnvPool, the other peer, is large: install the extra `peers` to have it measured too.
$(VENV)/throughput.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[benchmarks]' open_spiel
	@touch $@

$(VENV)/train.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[train]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[benchmarks,train,render,play,dev]'
	@touch $@
