"""The four methods of unlearning on the demo: who is forgotten, at what price, and the patterns of AMNESIA.

    make bench-unlearning                      all of it: about an hour on two cores, 200 MB of disk
    python benchmarks/unlearning.py --report   the tables alone, of what is finished

Every model is trained, made to forget, and evaluated by the commands of docs/forgetting.md. A stopped run goes on with
the same command. Prints the tables of which docs/unlearning.md, "Results on the demo", was written, and keeps them in
the folder. `make demo` runs none of it.
"""

import argparse
import datetime
import os
import platform
from pathlib import Path

from measuring import processor
from unlearning_results import read_results
from unlearning_steps import Folder, Grid, plan_steps, run_steps
from unlearning_tables import report_lines


def main() -> None:
    """Read the command line, measure, print."""
    usual = Grid()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/bench-unlearning"), help="where everything is kept")
    parser.add_argument("--report", action="store_true", help="measure nothing more")
    parser.add_argument("--at-once", type=int, default=2, help="commands at once (default 2)")
    parser.add_argument("--percents", type=int, nargs="+", default=usual.percents, help="shares that are forgotten")
    parser.add_argument("--tried", type=int, nargs="+", default=usual.tried, help="those with the tests of robustness")
    parser.add_argument("--category", default=usual.category, help="the disease of the splits by disease")
    args = parser.parse_args()
    grid = Grid(
        percents=tuple(args.percents),
        tried=tuple(args.tried),
        category=args.category,
    )
    folder = Folder(args.folder.absolute())
    folder.root.mkdir(parents=True, exist_ok=True)
    missing = [] if args.report else run_steps(plan_steps(grid, folder), folder, at_once=args.at_once)
    today = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}"
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    when = f"Written on {today} from finished work" if args.report else f"Measured on {today}, {machine}"
    lines = [
        f"{when}; `make bench-unlearning`.",
        "",
        *report_lines(grid, read_results(folder, grid)),
    ]
    print("\n".join(lines))
    if missing:
        # The file keeps what it has: half a run is no figure of it.
        raise SystemExit(f"without a result: {', '.join(missing)}")
    (folder.root / "tables.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
