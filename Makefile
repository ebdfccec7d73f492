# Everything runs in .venv, which is made anew from pyproject.toml whenever that has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := tapegrad tests perf docs
DOCS := docs/_build
# Two test processes: more of them compile the same kernels at the same time on a fresh machine. Each takes whole files,
# whose kernels and fixtures are then made once, in the order of tests/conftest.py: the dearest first.
PYTEST_FLAGS ?= -n auto --maxprocesses=2 --dist loadfile --no-loadscope-reorder
# The malloc that tests run on. The checking one is glibc's, which looks for writes past blocks and for bad frees; it is
# for the tests alone.
MALLOC ?= usual
$(if $(filter usual checking,$(MALLOC)),,$(error MALLOC is usual or checking))
MALLOC_checking := LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3
PYTEST := $(MALLOC_$(MALLOC)) $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help run install test test-all test-checked test-rest test-eighth test-numba test-numba-tiny test-guarded \
	test-guarded-half test-tiny test-mutants test-op test-versions test-oldest test-libraries test-times lint gen docs \
	size perf wheel clean
# The tests of what reads and writes memory: compiled code on frames, and programs that are replayed and fused.
# Left out are those of files, processes, messages, and of what Python alone does.
ON_MEMORY := tests/engine tests/program tests/loops tests/autodiff/test_random_programs.py \
	tests/frontend/test_view_machine.py \
	$(patsubst %,--ignore=tests/engine/test_%.py,announcer both_compilers cache definitions late_modules linking \
	operating_system pace plain processors progress upkeep) \
	$(patsubst %,--ignore=tests/program/test_%.py,broken_passes captured_libraries captured_state explanation logs \
	profile static_arguments tape_pictures watching)
# The tests of what processes keep and say, which start many of them: left out where each compiles for long.
ON_PROCESSES := $(patsubst %,--ignore=tests/engine/test_%.py,announcer cache earlier_versions progress upkeep)
# The tests that have cases of each elementwise op, and those that go through all of them at once.
ON_AN_OP := tests/ops tests/engine/test_elementwise_kernels.py tests/engine/test_tangent_kernels.py \
	tests/autodiff/test_second_order.py tests/frontend/test_elementwise_tensors.py tests/program/test_fusion.py
ON_ALL_OPS := $(addprefix tests/ops/test_ops_table.py::test_,rows_are_well_formed oracle_knows_every_function \
	generated_examples_are_those_of_the_table) tests/test_docstrings.py tests/test_typing.py tests/frontend/test_coverage.py

# What both compilers have to agree in: results to the last bit, which the daily selection leaves out, and each room.
ON_BOTH_COMPILERS := tests/test_tiny.py tests/engine/test_both_compilers.py

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## install, then fit the 27 NIST regressions from both starting points
	$(BIN)/tapegrad fit

install: $(VENV)/.installed-test $(VENV)/.installed-docs ## install what the tests and the site need

test: $(VENV)/.installed-test ## install, then run the daily half of the test suite
	$(PYTEST) $(PYTEST_FLAGS)

test-checked: $(VENV)/.installed-test ## the same under glibc's checking malloc (Linux only)
	$(MAKE) test MALLOC=checking

test-all: $(VENV)/.installed-test ## all tests that there are, in every way: hours; then a table of them
	$(PYTHON) tests/stages.py all

# Random programs and properties are drawn anew here; the first lines say the seed.
test-rest: $(VENV)/.installed-test ## the cases that `make test` leaves out, and random programs
	TAPEGRAD_TESTS=rest $(PYTEST) $(PYTEST_FLAGS)

# Eight consecutive seeds have all of them. Here and between guard pages each program is certified at its first replay.
test-eighth: $(VENV)/.installed-test ## an eighth of the cases of `make test-rest`, by the seed, with certificates
	TAPEGRAD_CHECK=derivatives TAPEGRAD_TESTS=rest/8 $(PYTEST) $(PYTEST_FLAGS)

# Both compilers have to give the same bits: kernels are held against the same oracles, of which many are exact.
test-numba: $(VENV)/.installed-test ## the tests of the engine with Numba compiling what the translator does otherwise
	TAPEGRAD_TRANSLATE=0 $(PYTEST) $(PYTEST_FLAGS) tests/engine tests/test_tiny.py $(ON_PROCESSES)

test-numba-tiny: $(VENV)/.installed-test ## the few of them that hold both compilers against each other
	TAPEGRAD_TESTS=all TAPEGRAD_TRANSLATE=0 $(PYTEST) $(PYTEST_FLAGS) -n 1 $(ON_BOTH_COMPILERS)

test-guarded: $(VENV)/.installed-test ## the tests on memory with each block between guard pages, and certificates
	TAPEGRAD_CHECK=derivatives TAPEGRAD_GUARD_PAGES=1 $(PYTEST) $(PYTEST_FLAGS) $(ON_MEMORY)

test-guarded-half: $(VENV)/.installed-test ## a half of them, by the seed
	TAPEGRAD_TESTS=daily/2 $(MAKE) test-guarded

# The first run compiles; the second one measures those cases alone that took long in the first one.
test-times: $(VENV)/.installed-test ## measure the cases that are too dear to be daily, tests/case_times.txt: hours
	TAPEGRAD_CASE_TIMES=1 TAPEGRAD_TESTS=all $(PYTEST) $(PYTEST_FLAGS)
	TAPEGRAD_CASE_TIMES=1 TAPEGRAD_TESTS=costly $(PYTEST) $(PYTEST_FLAGS)

# One process, and one file: collecting the whole suite takes longer than these tests.
test-tiny: $(VENV)/.installed-test ## a test or more of every room of the package, within seconds
	$(PYTEST) -q tests/test_tiny.py

# The first line fails if there is no op of this name: no test is selected.
test-op: $(VENV)/.installed-test ## the tests of one elementwise op, a minute: make test-op NAME=log1p
	@test -n "$(NAME)" || { echo "say which op: make test-op NAME=log1p" >&2; exit 2; }
	$(PYTEST) -q $(PYTEST_FLAGS) -k "$(NAME)" $(ON_AN_OP)
	$(PYTEST) -q $(PYTEST_FLAGS) $(ON_ALL_OPS)

# Each fault takes until a program finds it: seconds to minutes.
test-mutants: $(VENV)/.installed-test ## put faults into copies of the package: which do random programs find? NAME="..." for one
	$(BIN)/python tests/mutants.py $(if $(NAME),"$(NAME)")

# Each environment is 500 MB and compiles into a cache of its own: the first run takes minutes an environment.
test-versions: $(VENV)/.installed-test ## tests of rooms, engine and replays, oldest and newest dependencies, each Python at hand
	$(BIN)/python tests/versions.py

test-oldest: $(VENV)/.installed-test ## test-tiny and a part of the engine's tests with the oldest dependencies
	$(BIN)/python tests/versions.py oldest

test-libraries: $(VENV)/.installed-test ## the tests of tapegrad.interop with PyMC, PyTorch and the others (2 GB)
	$(BIN)/python tests/versions.py libraries

lint: $(VENV)/.installed-test ## check format, style and types
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy tapegrad perf

gen: $(VENV)/.installed-test ## write what follows from tables and signatures: docstrings' examples, stubs, list of functions
	$(BIN)/python -m tapegrad.cli.generate

# Warnings are errors, unknown references are warnings (-n), and every example is run: those of the docstrings by pytest,
# which takes 7 s, the cells of pages and the scripts of the gallery by the build.
docs: $(VENV)/.installed-docs $(VENV)/.installed-test ## build the site, docs/_build/html/index.html, and run all of its examples
	$(PYTEST) -q -n 0 tests/test_docstrings.py -k examples_run
	$(BIN)/python -m sphinx -W --keep-going -n -q -j 2 -b html -d $(DOCS)/doctrees docs $(DOCS)/html

size: ## count files, lines and functions of each room, and show how long and how wide they are
	@$(PYTHON) tests/size.py

perf: $(VENV)/.installed-perf ## install the peers (about 2 GB, see pyproject.toml), then run the benchmarks
	$(BIN)/python -m perf

# Two minutes of both processors a level of x86-64 the first time. PYTHONS are interpreters of other memory layouts, as 3.14
# is beside 3.11: each in an environment with Numba, NumPy and SciPy.
wheel: $(VENV)/.installed-test ## build dist/tapegrad-*.whl with compiled kernels for this platform
	$(BIN)/python tests/wheel.py dist $(PYTHONS)

clean: ## remove the virtual environment and everything that tools leave behind
	rm -rf $(VENV) .venv-versions build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	rm -rf $(DOCS) docs/examples docs/reference/generated
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# A stamp is touched only after its installation succeeded, so an interrupted one is taken up again. pip is quiet.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing tapegrad into $(VENV): about 400 MB, some minutes the first time"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "installing tapegrad[$*] into $(VENV): 500 MB or more, some minutes the first time"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@ $(VENV)/.installed
