# On a new machine, `make demo` and `make test` install everything they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEXT ?= Let's go
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Each test process uses one core: with more threads they would slow each other down.
TESTS = OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest

.PHONY: demo serve test test-slow test-all check format docs package bench audit clean

demo: $(VENV)/train
	@echo "$(TEXT) - translated by the built-in model into Spanish, Hindi and Bengali:"; echo
	@for language in es hi bn; do $(BIN)/clearhead translate --to $$language "$(TEXT)"; done; echo
	$(BIN)/clearhead solve lets-go
	@mkdir -p build
	@$(BIN)/clearhead solve lets-go --detail products --format html --output build/lets-go.html
	@echo; echo "The same worksheet as a web page, with every product: build/lets-go.html"
	@echo; echo "A solution from the same lecture notes, marked line by line:"; echo
	@$(BIN)/clearhead check numerical-self-attention || test $$? -eq 1
	@$(BIN)/clearhead check numerical-self-attention --format html --output build/marked.html || test $$? -eq 1
	@echo; echo "The same report as a web page: build/marked.html"
	@echo; echo "A translator for the built-in phrasebook (the first time, training takes two to four minutes on two CPU cores):"; echo
	@test -f runs/phrasebook/outcome.json || $(BIN)/clearhead train configs/phrasebook.yaml $$(test -d runs/phrasebook/checkpoints && echo --resume)
	@echo; $(BIN)/python examples/models/phrasebook.py runs/phrasebook "$(TEXT)"
	@echo; echo "The beam search behind this translation, and its alignment:"; echo
	@$(BIN)/clearhead translate -m runs/phrasebook --beam 3 --draw --explain - "$(TEXT)"
	@echo; echo "To translate, explain and solve in your browser: make serve (it installs a web server first)"

# Start the server with its web pages; Ctrl-C stops it.
serve: $(VENV)/serve
	$(BIN)/clearhead serve

# The tests that one waits for, and those that are slow and seldom break.
test: $(VENV)/dev
	$(TESTS)

test-slow: $(VENV)/dev
	$(TESTS) -m slow

test-all: test test-slow

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

# Build the sdist and the wheel, and test the wheel in a new environment with only its core dependencies.
package: $(VENV)/dev
	rm -rf dist build/wheel
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	$(BIN)/python tests/installed_command.py build/wheel/bin/clearhead

bench: $(VENV)/core
	$(BIN)/python benchmarks/solve_speed.py

# Compare the pinned versions with the database of known vulnerabilities. This needs the network, so no test does it.
# --strict: without it, packages that the database could not be asked about count as sound.
audit:
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check "pip-audit>=2.7"
	build/audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt

clean:
	rm -rf $(VENV) site dist build

# One stamp file for each set of extras, so that make installs it again only after its dependencies change.
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

$(VENV)/serve: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ".[fast,serve,train]"
	@$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/core $(VENV)/train

$(VENV)/dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ".[dev]"
	@$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/core $(VENV)/train $(VENV)/serve

$(VENV)/docs: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable ".[docs]"
	@touch $@ $(VENV)/core
