"""How long reading takes: a million tasks with three replicas each on a hundred thousand nodes, as each kind of file.

    python benchmarks/reading.py [--tasks N] [--nodes N]

Prints a line a kind: size, and the seconds that `load` takes until the instance is checked (the best of three).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.files import load, save


def made(tasks: int, nodes: int) -> Instance:
    """An instance with sizes, racks and three distinct random replicas a task."""
    rng = np.random.default_rng(0)
    third = nodes // 3
    replicas = rng.integers(0, third, size=(tasks, 3)) + np.array([0, third, 2 * third])
    cluster = Cluster(
        np.char.add("n", np.arange(nodes).astype(np.str_)),
        rack=np.arange(nodes) // 40,
        rack_ids=np.char.add("r", np.arange(-(-nodes // 40)).astype(np.str_)),
        slots=np.full(nodes, 2),
    )
    workload = Workload(
        np.char.add("t", np.arange(tasks).astype(np.str_)),
        size=rng.integers(1, 129, tasks).astype(np.float64),
        replicas=Ragged(np.arange(tasks + 1) * 3, replicas.ravel()),
    )
    return Instance(cluster, workload, name="reading")


def main() -> None:
    """Write the instance in each form, read it back, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=100_000)
    arguments = parser.parse_args()
    instance = made(arguments.tasks, arguments.nodes)
    print(f"{arguments.tasks} tasks x 3 replicas, {arguments.nodes} nodes")
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".json", ".json.gz", ".npz"):
            path = Path(folder) / f"reading{suffix}"
            started = time.perf_counter()
            save(instance, path)
            saved = time.perf_counter() - started
            seconds = []
            for _ in range(3):
                started = time.perf_counter()
                again = load(path)
                seconds.append(time.perf_counter() - started)
            assert again.sha256 == instance.sha256
            size = path.stat().st_size / 1e6
            print(f"{suffix:9} {size:7.1f} MB   save {saved:5.2f} s   load {min(seconds):5.2f} s")


if __name__ == "__main__":
    main()
