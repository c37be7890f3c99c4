# The two commands of the README are `make demo` and `make test`; each installs first what it lacks in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install setup demo test test-slow check docs old-duckdb other-programs model models dictionary commands-page metrics-page diagram requests golden pairs unchanged bench-setup lock

PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps

# What the product needs. The models are compiled each time, also where the environment is fresh: the user that
# runs the nights may not write beside the code. Where nothing has changed, it takes half a second.
install: .venv/installed
	$(BIN)/python -m pipelines.cli.developer.compile_models

# A .venv with the packages of tests keeps them: the versions of one lock fit together.
.venv/installed: deploy/requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) --require-hashes -r $(if $(wildcard $(BIN)/pytest),requirements.lock,$<)
	$(PIP) --no-build-isolation --editable .
	$(BIN)/pip check
	touch $@

# In addition what tests, checks and the documentation need.
setup: .venv/tested

.venv/tested: requirements.lock .venv/installed
	$(PIP) --require-hashes -r $<
	$(BIN)/pip check
	touch $@

demo: install
	$(BIN)/campus demo

# Whatever the environment says of it: the tests start a hundred processes, of which one compiles for the rest.
test test-slow: export PYTHONDONTWRITEBYTECODE :=
# The tests write a gigabyte of small files: to memory if eight are free there and TMPDIR names no other place.
# They are removed at the end; a file that pytest runs by itself keeps what it wrote.
FREE := { grep MemAvailable /proc/meminfo; df -k --output=target,avail /dev/shm; }
MEMORY = $(shell test -w /dev/shm && $(FREE) | \
  awk '$$2 + 0 > 8000000 { enough++ } END { if (enough == 2) print "-p /dev/shm" }')
# The checks run on one core: beside the tests, and what they found is told after them.
test: setup
	@TMPDIR=$$(mktemp -d $(if $(TMPDIR),,$(MEMORY))) || exit 1; export TMPDIR; \
	trap 'rm -rf "$$TMPDIR"' EXIT; trap 'kill $$checks 2>/dev/null; exit 130' INT TERM; \
	$(MAKE) --no-print-directory check >$$TMPDIR/checks 2>&1 & checks=$$!; \
	$(BIN)/pytest --numprocesses 3 $(PYTEST_OPTIONS); tested=$$?; \
	wait $$checks; checked=$$?; \
	cat $$TMPDIR/checks; \
	test $$tested -eq 0 -a $$checked -eq 0

# Kills at seeded moments, a full disk, servers that go away, the lake in an object store, semesters that are
# frozen, homes of earlier versions, and each further reading of what the platform may send.
test-slow: setup old-duckdb other-programs
	$(BIN)/pytest --numprocesses 3 -m slow -rs $(PYTEST_OPTIONS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest tests/house/test_names.py

# The oldest DuckDB that reads the published file, for the test that it does.
old-duckdb: .old-duckdb/installed

.old-duckdb/installed: tests/old_duckdb.lock .venv/installed
	$(PIP) --require-hashes --upgrade --target .old-duckdb -r $<
	touch $@

# Programs that read what is published, for the tests that they do.
other-programs: .other-programs/installed

.other-programs/installed: tests/other_programs.lock
	$(PYTHON) -m venv .other-programs
	.other-programs/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	touch $@

# One model with what it stands on, its tests and its rows: make model M=early_warning (docs/how-to/extending.md).
model: setup
	@$(BIN)/python -m pipelines.cli.developer.try_model $(M)

# Compile the models after a change of the dbt project, which the next build would do else.
models: setup
	@$(BIN)/python -m pipelines.cli.developer.compile_models

# After a change of contracts or models: the pages that test_dictionary.py compares with.
dictionary: setup
	CAMPUS_WRITE_DICTIONARY=1 $(BIN)/pytest tests/warehouse/models/quality/test_dictionary.py

# After a change of a command's help: the page that tests/house/test_commands_page.py compares with.
commands-page: setup
	CAMPUS_WRITE_COMMANDS=1 $(BIN)/pytest tests/house/test_commands_page.py

# After a change of the catalogue of measures: the page that tests/warehouse/test_metrics.py compares with.
metrics-page: setup
	CAMPUS_WRITE_METRICS=1 $(BIN)/pytest tests/warehouse/test_metrics.py

# The documentation as a site, without a network: open site/index.html.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# After a change of keys or references in core, or of imports: the diagrams that tests/house/test_diagram.py compares with.
diagram: setup
	$(BIN)/python -m pipelines.cli.developer.diagram
	$(BIN)/python -m tools.import_diagrams

# After a change of requests: the golden files that tests/end_to_end/requests compares with (docs/how-to/extending.md).
requests: setup
	CAMPUS_WRITE_REQUESTS=1 $(BIN)/pytest --numprocesses 0 -m "slow or not slow" tests/end_to_end/requests

# After a change of exported files: the golden files that tests/end_to_end/exports compares with (docs/how-to/extending.md).
golden: setup
	CAMPUS_WRITE_GOLDEN=1 $(BIN)/pytest --numprocesses 0 -m "slow or not slow" tests/end_to_end/exports

# After a new option of the simulator: platforms that hold every pair of choices. Then `make requests`.
pairs: setup
	$(BIN)/python -m tests.kits.readings.pairs

# After a rebuild: what users see differently since a commit, in words: make unchanged BASE=main (CONTRIBUTING.md).
unchanged: setup
	@$(BIN)/python -m tools.unchanged $(BASE)

# What benchmarks/datasets and benchmarks/exports measure this project against has an environment of its own.
bench-setup: .venv-bench/installed

.venv-bench/installed: benchmarks/requirements.lock
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	touch $@

# Needs uv; run after a change of pyproject.toml's dependencies. deploy/ has no development packages.
LOCK := uv pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
  --python-version 3.11
EXTRAS := --extra assistant --extra build --extra district --extra kubernetes
lock:
	$(LOCK) $(EXTRAS) --extra dev --output-file requirements.lock pyproject.toml
	$(LOCK) $(EXTRAS) --no-annotate --constraint requirements.lock --output-file deploy/requirements.lock pyproject.toml
	$(LOCK) --output-file benchmarks/requirements.lock benchmarks/requirements.in
	$(LOCK) --output-file tests/old_duckdb.lock tests/old_duckdb.in
	$(LOCK) --output-file tests/other_programs.lock tests/other_programs.in
