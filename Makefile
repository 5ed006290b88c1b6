# make demo: installs, then makes invented patients, trains a model on half of them and audits it.
# make test: installs, then runs every test.   make check: the static checks.
# make bench: installs, then measures speed and memory beside other tools, and writes docs/performance.md.
.PHONY: demo test check bench install install-dev clean

demo: install
	.venv/bin/clinaudit demo demo

test: install-dev
	.venv/bin/python -m pytest -n 2 --dist loadscope

check: install-dev
	scripts/check

bench: install-dev
	.venv/bin/python benchmarks/bench.py --write

install:
	scripts/install-cpu

install-dev:
	scripts/install-cpu dev

clean:
	rm -rf demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
