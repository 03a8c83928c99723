# Each target sets up what it needs on a machine that has only Python (3.11-3.13) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup run test check bench format lock docs cards simulate soak fuzz clean

setup: $(STAMP)

$(STAMP): pyproject.toml requirements-dev.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

run: setup
	$(BIN)/innkeeper serve --examples

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: check
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --ignore=tests/simulation
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --skip-empty
	$(BIN)/python -m pytest tests/simulation

bench: setup
	$(BIN)/python -m bench

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup
	$(BIN)/python -m docs.generate

cards: setup
	$(BIN)/python examples/build_cards.py

simulate: setup
	INNKEEPER_STORIES=20000 $(BIN)/python -m pytest tests/simulation -q

fuzz: setup
	$(BIN)/python -m tests.fuzz

soak: setup
	SANDBOX_SOAK_CALLS=100000 $(BIN)/python -m pytest tests/sandbox/test_process.py -q -k many_good
	INNKEEPER_KILLS=200 $(BIN)/python -m pytest tests/server/test_crash.py -q -k killed
	INNKEEPER_WRITES=2000 $(BIN)/python -m pytest tests/server/test_linear.py -q

lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --group dev --no-header --quiet pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis
