"""The names of the shipped heuristics and families of instances, by the module that holds each.

So they can be listed, and completed in a shell, before anything that computes is loaded. Problems have their registry.
"""

from __future__ import annotations

__all__ = ["FAMILIES", "HEURISTICS"]

#: Modules of `optsched.heuristics`, each with its heuristics, in the order in which they are listed.
HEURISTICS = {
    "dl": ("dl", "rand"),
    "lsap_sched": ("lsap-sched", "lsap-fair-sched"),
    "flow_sched": ("flow-sched", "flow-greedy", "balancing"),
    "fifo": ("fifo", "larts"),
    "fair": ("delay", "fair", "capacity"),
    "probabilistic": ("probabilistic", "least-cost", "coupling"),
    "quincy": ("quincy",),
    "sequential": ("sequential",),
    "flow_based": ("round-robin", "flow-based"),
    "labl": ("labl",),
    "joss": ("joss-t", "joss-j"),
    "ras": ("ras", "fair-sharing"),
    "observed": ("observed",),
}

#: Modules of `optsched.instances.families`, each with its families of instances, those of a paper's model first.
FAMILIES = {
    "guo": (
        "lsap",
        "fair-lsap",
        "lsap-fairness",
        "worst-group",
        "skewed-lsap",
        "guo-fig4",
        "guo-table3",
        "guo-table3-delay",
        "guo-fairness",
    ),
    "hsu": ("flow", "hsu-table3", "hsu-run"),
    "labl": ("latency", "labl", "skewed-latency", "hot-server"),
    "shen": ("transmission", "shen-table2", "shen-run"),
    "ras": ("utility", "ras-run"),
    "joss": ("traffic",),
    "mixed": ("mixed",),
    "over_time": ("makespan", "job-times", "day"),
    "others": ("generalized-assignment", "min-cost-flow"),
    "planted": ("planted-lsap", "planted-fair-lsap", "planted-latency", "planted-flow"),
}
