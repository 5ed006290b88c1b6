# make demo: installs, then makes invented patients, trains a model on half of them and audits it.
# make test: installs, then runs every test but the simulations, the slowest modules first (tests/conftest.py) and with bytecode kept, which
#   each of the many processes that they start would otherwise make again.   make check: the static checks.
# make test-slow: the simulations: power, coverage, twins on random corpora and prompts by the hundred.
# make test-browser: installs a browser and what drives it, then opens and prints every page.
# make docs: installs, then writes the page of the commands, builds the documentation site into site/ and checks it.
# make bench: installs, then measures speed and memory beside other tools, and writes docs/performance.md.
.PHONY: demo test test-slow test-browser check docs bench install install-dev clean

demo: install
	.venv/bin/clinaudit demo demo

test: install-dev
	env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m pytest -m "not simulation" -n 2 --dist loadscope --no-loadscope-reorder
	@echo "left out: simulations (make test-slow), and the tests in a real browser and of its printing (make test-browser)"

test-slow: install-dev
	env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m pytest -m simulation -n 2

test-browser:
	scripts/install-cpu dev
	scripts/test-browser

check: install-dev
	scripts/check

docs:
	scripts/install-cpu docs
	.venv/bin/python scripts/write-command-docs
	NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict
	.venv/bin/python scripts/check_site.py site

bench: install-dev
	.venv/bin/python benchmarks/bench.py --write

install:
	scripts/install-cpu

install-dev:
	scripts/install-cpu dev

clean:
	rm -rf demo build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
