"""How much memory a SWIM day takes that is run in portions, against its length; beside the same day held whole.

    python benchmarks/day_in_portions.py TRACE [--hours H...] [--nodes N] [--policy P] [--jobs N]

Each row is a process of its own: its peak resident memory, and its processor seconds. `most held` are tasks.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from optsched.instance import Instance
from optsched.instances.files import load
from optsched.instances.importers.swim import swim_portions
from optsched.simulating import simulate
from optsched.simulating.streaming import joined, simulate_stream

WAYS = ("in portions", "in portions, not exact", "whole")


def day(given: dict[str, Any], hours: float) -> Iterator[Instance]:
    """The portions of the first hours."""
    for document in swim_portions(given["trace"], jobs=given["jobs"], nodes=given["nodes"], slots=4):
        if document["jobs"][0]["arrival"] >= 3600 * hours:
            return
        yield load(document)


def measured(given: dict[str, Any], hours: float, way: str) -> dict[str, Any]:
    """One run, in this process."""
    begin = time.process_time()
    if way == "whole":
        held = simulate(joined(day(given, hours)), given["policy"]).record_of()
        tasks, most, mean = held["tasks"], held["tasks"], held["mean_job_time"]
    else:
        run = simulate_stream(day(given, hours), given["policy"], exact=way == WAYS[0])
        tasks, most, mean = run.tasks, run.most_held, run.mean_job_time
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"tasks": tasks, "most": most, "mean": mean, "peak": peak, "seconds": time.process_time() - begin}


def main() -> None:
    """Print a row for each length and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--hours", type=float, nargs="+", default=[1, 6, 12, 24])
    parser.add_argument("--nodes", type=int, default=600)
    parser.add_argument("--policy", default="fair")
    parser.add_argument("--jobs", type=int, default=100, help="of a portion")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    if given["one"] is not None:
        print(json.dumps(measured(given, given["hours"][0], given["one"])))
        return
    print(f"{'hours':>5} {'way':24} {'tasks':>9} {'most held':>9} {'peak MB':>8} {'seconds':>8} {'mean job':>9}")
    for hours in given["hours"]:
        for way in WAYS:
            command = [sys.executable, __file__, *sys.argv[1:], "--one", way, "--hours", str(hours)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            told = f"{row['tasks']:>9,} {row['most']:>9,} {row['peak']:>8,} {row['seconds']:>8.1f} {row['mean']:>8.2f}s"
            print(f"{hours:>5g} {way:24} {told}", flush=True)


if __name__ == "__main__":
    main()
