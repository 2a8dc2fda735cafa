# make demo    set everything up and serve a game with bots on port 5000, or make demo PORT=5001
# make test    set everything up and run the tests
# make lint    ruff, mypy and luacheck
# make bench   the benchmarks: tables, and JSON in benchmarks/results*.json
# make model   100,000 random steps against the model
# make chaos   200 rounds of killing Redis and players while they play
# make lua     build lua/dist from lua/src

PYTHON ?= python3
VENV ?= .venv
PORT ?= 5000
PIP_FLAGS ?= --quiet --disable-pip-version-check
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_VENV ?= $(VENV)-demo
DEMO_READY := $(DEMO_VENV)/.ready

.PHONY: demo test lint format bench model chaos lua clean

demo: $(DEMO_READY)
	@$(DEMO_VENV)/bin/python examples/arcade/demo.py --port $(PORT)

test: $(READY)
	$(BIN)/python -m pytest -n 2 $(PYTEST_FLAGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python lua/build.py --check
	@command -v luacheck > /dev/null || { echo "luacheck is not here: install your system's package (Debian: lua-check)"; exit 1; }
	luacheck --quiet --config lua/luacheckrc lua/dist

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks.engine --json benchmarks/results.json
	$(BIN)/python -m benchmarks.web --json benchmarks/results-web.json
	$(BIN)/python -m benchmarks.live --json benchmarks/results-live.json
	$(BIN)/python -m benchmarks.log --json benchmarks/results-log.json
	$(BIN)/python -m benchmarks.fallback --json benchmarks/results-fallback.json
	$(BIN)/python -m benchmarks.log_rebuild --json benchmarks/results-log-rebuild.json

model: $(READY)
	$(BIN)/python -m pytest tests/test_model.py -k "scripts and valkey9" --examples 3400

chaos: $(READY)
	$(BIN)/python -m tests.chaos.harness --rounds 200 --seed 1

lua:
	$(PYTHON) lua/build.py

clean:
	rm -rf $(VENV) $(DEMO_VENV)

$(READY): EXTRA = dev
$(DEMO_READY): EXTRA = demo
$(READY) $(DEMO_READY): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --upgrade pip
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --editable ".[$(EXTRA)]"
	@touch $@
