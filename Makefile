# Every verb does its own set-up: a fresh Debian or macOS with Python 3.11+, make and git is enough.
# Written for GNU make 3.81 (macOS) and any POSIX shell. Where packages come from is pip's and uv's own configuration.

SHELL = /bin/sh
VENV  = .venv
BIN   = $(VENV)/bin
READY = $(VENV)/.ready
PY    = $(BIN)/python
ARGS  =
JOBS  = 4
TYPED = src sims/src tests $(wildcard bench)

.PHONY: help setup check test demo bench docs lock format clean
.SILENT:

help:
	echo 'Fairturn: make VERB [ARGS="..."]. Each verb sets up what it needs, in .venv.'
	echo
	sed -n 's/^##  *//p' Makefile

##  setup    make .venv and install what requirements/dev.txt pins
setup: $(READY)

##  check    ruff, mypy and the import contracts: everything but the tests
# All four run, whatever the first of them says: one look shows all there is to mend.
check: $(READY)
	failed=; \
	try() { echo "$$1"; shift; "$$@" >$(VENV)/said 2>&1 || { failed=1; cat $(VENV)/said; }; }; \
	try 'ruff'         $(BIN)/ruff check --quiet --output-format concise .; \
	try 'ruff format'  $(BIN)/ruff format --check --quiet --output-format concise .; \
	try 'mypy'         $(BIN)/mypy --no-error-summary $(TYPED); \
	try 'lint-imports' $(BIN)/lint-imports --no-logo; \
	[ -z "$$failed" ] || { echo 'make format mends what can be mended by itself.'; exit 1; }

##  test     check, then the tests             ARGS="tests/decide -k turn"   JOBS=2
test: check
	echo 'pytest' && $(PY) -m pytest -q -n $(JOBS) --dist loadgroup $(ARGS)

##  demo     everything against simulated CRMs ARGS="--leads 500 --seconds 60 --exit"
demo: $(READY)
	$(BIN)/fairturn demo $(ARGS)

##  bench    the measurements, short           ARGS="race --keep F"   ARGS="page --from F"
bench: $(READY)
	$(PY) -m bench $(ARGS)

##  docs     write the reference pages anew from the program
docs: $(READY)
	[ -f docs/generate.py ] || { echo 'There are no reference pages yet: docs/generate.py is still to be written.'; exit 1; }
	$(PY) docs/generate.py $(ARGS)

##  format   let ruff format and mend what it can
format: $(READY)
	$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

##  lock     resolve the dependencies anew     ARGS="--upgrade"
# No address and no command line gets into the files: they must not tell who made them, or from where.
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
	-p 3.11 $(ARGS)
lock: $(READY)
	$(COMPILE) pyproject.toml sims/pyproject.toml -o requirements/run.txt
	$(COMPILE) pyproject.toml sims/pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) requirements/uv.in -o requirements/uv.txt

##  clean    remove .venv and what the tools left
clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src sims tests -name __pycache__ -type d -prune -exec rm -rf {} +

# A python is tried by running it: a name on the PATH may be a shim for a version that is not there.
FIND_PYTHON = for p in $(PYTHON) python3.13 python3.12 python3.11 python3.14 python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { found=$$p; break; }; done

$(READY): requirements/dev.txt requirements/uv.txt pyproject.toml sims/pyproject.toml
	if ! $(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	  found=; $(FIND_PYTHON); \
	  [ -n "$$found" ] || { echo 'Fairturn needs Python 3.11 or newer, and none was found. Install one, or name it: make setup PYTHON=/path/to/python3' >&2; exit 1; }; \
	  "$$found" -c 'import ensurepip, venv' >/dev/null 2>&1 || \
	    { echo "$$found cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }; \
	  echo "setting up .venv with $$("$$found" -V)"; \
	  "$$found" -m venv --clear $(VENV) || exit 1; \
	fi
	echo 'installing what requirements/dev.txt pins'
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	$(BIN)/uv pip install --quiet -p $(PY) --require-hashes -r requirements/dev.txt
	$(BIN)/uv pip install --quiet -p $(PY) --no-deps --no-build-isolation -e . -e sims
	touch $(READY)
