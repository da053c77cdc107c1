"""Replay the flows of inputs.json with SimGrid and write when each of them ends to results.json.

Run by hand with SimGrid 3.32 and its Python bindings (Debian bookworm: python3-simgrid 3.32-2+b2):

    python3 replay.py

Each node of inputs.json is a host with three links that flows share max-min fairly: what it gives out, what it takes
in, what it processes. A flow of a task goes from the node that holds its block over the first of these to the node that
it runs on, over the second and the third of this. There is no latency and no model of TCP, so that only sharing counts.
"""

import json
import sys
from pathlib import Path

import simgrid
from simgrid import Actor, Engine, LinkInRoute, Mailbox, this_actor

HERE = Path(__file__).parent
MB = 10**6


def platform(nodes):
    """Make hosts, links and routes; the hosts by their ids."""
    zone = simgrid.NetZone.create_full_zone("all")
    hosts = {node["id"]: zone.create_host(node["id"], 1e9) for node in nodes}
    links = {}
    for node in nodes:
        for part in ("out", "in", "process"):
            link = zone.create_link(f"{node['id']}-{part}", [node[f"rate_{part}"] * MB])
            link.set_latency(0)  # links are shared unless one says otherwise
            links[node["id"], part] = link.seal()
    for source in nodes:
        for target in nodes:
            if source is not target:
                path = [(source["id"], "out"), (target["id"], "in"), (target["id"], "process")]
                route = [LinkInRoute(links[key]) for key in path]
                ends = hosts[source["id"]].netpoint, hosts[target["id"]].netpoint
                zone.add_route(*ends, None, None, route, False)
    zone.seal()
    return hosts


def send(task):
    """Send what a task reads, once it starts."""
    this_actor.sleep_until(task["start"])
    Mailbox.by_name(task["id"]).put_init(task["id"], task["size"] * MB).set_rate(task["rate"] * MB).wait()


def receive(task, ends):
    """Wait for it, and write down when it is through."""
    Mailbox.by_name(task["id"]).get()
    ends[task["id"]] = Engine.clock


def replay(scenario):
    """Let all tasks run; when each ended, in seconds."""
    hosts = platform(scenario["nodes"])
    ends = {}
    for task in scenario["tasks"]:
        Actor.create(f"{task['id']}-from", hosts[task["source"]], send, task)
        Actor.create(f"{task['id']}-to", hosts[task["node"]], receive, task, ends)
    Engine.instance.run()
    return ends


def main():
    """Read the inputs and write the results."""
    options = ("network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0", "network/weight-S:0")
    exact = ("network/bandwidth-factor:1", "network/latency-factor:1", "maxmin/precision:1e-9", "network/optim:Full")
    Engine([sys.argv[0], *(f"--cfg={option}" for option in (*options, *exact))])
    scenario = json.loads((HERE / "inputs.json").read_text())
    expected = {"simgrid": simgrid.simgrid_version, "options": [*options, *exact], "ends": replay(scenario)}
    (HERE / "results.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
