# `make demo` shows the result, `make quick` tests a change, `make test` tests everything. All set up .venv on first use.
PYTHON ?= python3
VENV   ?= .venv
ARGS   ?= -n auto
BIN     = $(VENV)/bin
# durable-rules 2.0.28 calls a function that Python 3.13 removed; this name for its successor makes it build there.
export CPPFLAGS += -DPyEval_CallObject=PyObject_CallObject
# where a machine forbids Python to write bytecode, every worker would compile all tests again, and every process the package
export PYTHONDONTWRITEBYTECODE =
DEMO    = sample_captures/gpu-trace/demo_frame

.PHONY: demo test quick check lint docs site golden bench hard readme clean

$(BIN)/triage: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e . --group test || $(BIN)/python -m pip install --quiet -e . --no-deps
	-$(BIN)/python -m pip install --quiet 'durable-rules==2.0.28'
	@touch $@

demo: $(BIN)/triage  ## triage a bundled frame, show the ranked result, write out/demo.html
	$(BIN)/triage diagnose $(DEMO)
	@mkdir -p out && $(BIN)/triage diagnose $(DEMO) -f html -o out/demo.html && echo "the same as a page: out/demo.html"

# what tests use beside the package itself; at once or else one by one, so that what cannot be had skips its own tests only
EXTRAS  = zstd,parquet,dask,trackers,mcp

$(VENV)/.extras: $(BIN)/triage pyproject.toml
	@$(BIN)/python -m pip install --quiet -e ".[$(EXTRAS)]" --group docs || { \
	  for extra in $$(echo $(EXTRAS) | tr , ' '); do $(BIN)/python -m pip install --quiet -e ".[$$extra]" || echo "make: without $$extra, whose tests are skipped"; done; \
	  $(BIN)/python -m pip install --quiet --group docs || echo "make: without mkdocs, whose tests are skipped"; }
	@touch $@

test: $(VENV)/.extras  ## all tests, with everything they can use
	$(BIN)/python -m pytest $(ARGS)

quick: $(VENV)/.extras  ## the tests for each change: all but the slow ones, two minutes on two cores
	$(BIN)/python -m pytest $(ARGS) -m "not slow"

check: $(BIN)/triage  ## tests of every rule
	$(BIN)/triage check --coverage

lint: $(BIN)/triage  ## ruff, mypy --strict, the import contract, dependencies, workflows, and commit subjects
	@$(BIN)/python -c 'import ruff, mypy, importlinter, deptry' 2>/dev/null || $(BIN)/python -m pip install --quiet --group lint
	$(BIN)/ruff check triage tests benchmarks docs skills
	$(BIN)/ruff format --check triage tests benchmarks docs skills
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry . 2>/dev/null || $(BIN)/deptry .
	$(BIN)/zizmor --offline --quiet .
	$(BIN)/python tests/commit_subjects.py

docs: $(BIN)/triage  ## write the generated pages (rules, causes, metrics, cli ...) into docs/; git ignores them
	$(BIN)/python docs/generate.py

site: $(VENV)/.extras  ## all pages, generated ones too, as a site in out/site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "open out/site/index.html"

golden: $(BIN)/triage  ## rewrite tests/golden from today's output; read the diff before committing
	$(BIN)/python tests/regolden.py

bench: $(BIN)/triage  ## ratios against pandas.read_csv and friends, one run, table and JSON
	$(BIN)/python benchmarks/bench.py

hard: $(BIN)/triage  ## damaged exports, fuzz totals, fault matrix, engine agreement (minutes, bounded)
	$(BIN)/python benchmarks/hard.py

readme: $(BIN)/triage  ## refresh the pictures that README shows
	$(BIN)/python docs/readme.py

clean:
	rm -rf $(VENV) out dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
