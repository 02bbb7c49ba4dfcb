# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEXT ?= Let's go
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check format docs package bench clean

demo: $(VENV)/train
	$(BIN)/clearhead solve lets-go
	@mkdir -p build
	@$(BIN)/clearhead solve lets-go --detail products --format html --output build/lets-go.html
	@echo; echo "The same sheet as a page, with every product: build/lets-go.html"
	@echo; echo "And a working of the same notes, marked line by line:"; echo
	@$(BIN)/clearhead check numerical-self-attention || test $$? -eq 1
	@$(BIN)/clearhead check numerical-self-attention --format html --output build/marked.html || test $$? -eq 1
	@echo; echo "The same report as a page: build/marked.html"
	@echo; echo "And a translator, trained on the built-in phrasebook; on two cores it takes about two minutes:"; echo
	@test -f runs/phrasebook/outcome.json || $(BIN)/clearhead train configs/phrasebook.yaml $$(test -d runs/phrasebook/checkpoints && echo --resume)
	@echo; $(BIN)/python examples/models/phrasebook.py runs/phrasebook "$(TEXT)"
	@echo; echo "The beam that the translation came from, and which words it looked at:"; echo
	@$(BIN)/clearhead translate -m runs/phrasebook --beam 3 --draw --explain - "$(TEXT)"

# The tests take a core each: threads of one would stand in another's way.
test: $(VENV)/dev
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -m "slow or not slow"

check: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/unit/test_import_arrows.py

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The sdist and the wheel, then the wheel in a fresh environment with its core dependencies only.
package: $(VENV)/dev
	rm -rf dist build/wheel
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	$(BIN)/python tests/installed_command.py build/wheel/bin/clearhead

bench: $(VENV)/core
	$(BIN)/python benchmarks/solve_speed.py

clean:
	rm -rf $(VENV) site dist build

# A stamp file for each set of extras: nothing is installed again until what it depends on changes.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/train: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ".[train]"
	@$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/core

$(VENV)/dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ".[dev]"
	@$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/core $(VENV)/train

$(VENV)/docs: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ".[docs]"
	@touch $@ $(VENV)/core
