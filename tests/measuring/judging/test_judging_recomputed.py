"""Seven claims again, from the papers alone: nothing here is of optsched but the verdicts that are compared.

Each function recomputes what a paper's sentence says, on an instance that is written out here, by trying every
placement or by the definition.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest

from optsched.measuring.judging import claim


def pna_example() -> bool:
    """Shen et al., Figure 2: maps cost 256 and reduces 200, by (1) and (2)."""
    hops = [[0, 4, 2, 8], [4, 0, 10, 4], [2, 10, 0, 6], [8, 4, 6, 0]]
    maps = 128 * hops[2][0] + 128 * hops[1][1]
    sent, at, reduces = [[10, 5], [20, 10]], [2, 1], [0, 2]
    cost = sum(sent[m][f] * hops[at[m]][reduces[f]] for m in range(2) for f in range(2))
    return (maps, cost) == (256, 200)


def flow_rate_is_largest() -> bool:
    """Hsu and Freeh, 3: the cheapest placement of two WordCount maps by R (1 + f_c) + R has the largest total rate."""
    rates = {"c1": 3.04, "c2": 3.20}  # both blocks in the segment of c1, slots of either cluster idle
    distance = {"c1": 0.1, "c2": 1}
    placements = list(product(rates, repeat=2))
    cost = {chosen: sum(rates[c] * (2 + distance[c]) for c in chosen) for chosen in placements}
    total = {chosen: sum(rates[c] for c in chosen) for chosen in placements}
    return total[min(cost, key=lambda chosen: cost[chosen])] == max(total.values())


def most_local(tasks: Sequence[set[int]], idle: Sequence[int]) -> int:
    """Most tasks that run on their data, by augmenting paths on idle nodes with one slot each."""
    holds: dict[int, int] = {}

    def placed(task: int, seen: set[int]) -> bool:
        for node in tasks[task] & set(idle) - seen:
            seen.add(node)
            if node not in holds or placed(holds[node], seen):
                holds[node] = task
                return True
        return False

    return sum(placed(task, set()) for task in range(len(tasks)))


def sweep_local(tasks: Sequence[set[int]], idle: Sequence[int], draw: random.Random) -> int:
    """Tasks that dl-sched runs on their data: slots in random order, each takes a random local task."""
    waiting, local = set(range(len(tasks))), 0
    for node in draw.sample(list(idle), len(idle)):
        if fitting := sorted(task for task in waiting if node in tasks[task]):
            waiting.remove(draw.choice(fitting))
            local += 1
    return local


def drawn(seed: int, nodes: int, idle: int, tasks: int, replicas: int) -> Iterator[int]:
    """What the best assignment runs locally and what dl-sched does, on one draw."""
    draw = random.Random(seed)
    blocks = [set(draw.sample(range(nodes), replicas)) for _ in range(tasks)]
    slots = draw.sample(range(nodes), idle)
    yield most_local(blocks, slots)
    yield sweep_local(blocks, slots, draw)


def gains_grow() -> bool:
    """Guo et al., III.C: the gain grows with idle slots: 25 nodes, 13 tasks, 3 replicas, 200 draws of each."""
    gains = []
    for idle in (4, 13, 25):
        results = [tuple(drawn(seed, 25, idle, 13, 3)) for seed in range(200)]
        gains.append(sum(best - swept for best, swept in results))
    return gains == sorted(gains)


def one_slot_is_level() -> bool:
    """Guo et al., III.C: with one idle slot both run as many local tasks."""
    return all(len(set(drawn(seed, 8, 1, 4, 2))) == 1 for seed in range(300))


def expected_locality() -> bool:
    """Guo et al., (3): the mean over every draw of 2 tasks on 4 nodes, 2 idle, is IS (1 - (1 - 1/N)^T)."""
    counts = [
        most_local([{first}, {second}], idle)
        for idle in combinations(range(4), 2)
        for first, second in product(range(4), repeat=2)
    ]
    return Fraction(sum(counts), comb(4, 2) * 16) == 2 * (1 - Fraction(3, 4) ** 2)


def flow_at_most_opt() -> bool:
    """Agosta et al., 4.1: grown covers on tasks {2},{2},{1,2},{1,3},{2},{1,2},{2} end at the least latency, 3."""
    tasks = [{2}, {2}, {1, 2}, {1, 3}, {2}, {1, 2}, {2}]

    def latency(servers: Sequence[int]) -> int:
        return max(
            sum(1 if server in task else 3 for task, chosen in zip(tasks, servers, strict=True) if chosen == server)
            for server in (1, 2, 3)
        )

    return min(map(latency, product((1, 2, 3), repeat=7))) == 4  # where the algorithm ends


def replicas_help_round_robin() -> bool:
    """Fischer et al., Theorem 4.1: round robin ends at 3 with t1 on s1 and s2, t2 on s1; at 1 without t1 on s1."""

    def ends(tasks: Sequence[set[int]]) -> int:
        loads, waiting = [0, 0], list(range(len(tasks)))
        for turn in range(len(tasks)):
            server = turn % 2
            chosen = next((task for task in waiting if server in tasks[task]), waiting[0])
            waiting.remove(chosen)
            loads[server] += 1 if server in tasks[chosen] else 3
        return max(loads)

    return (ends([{0, 1}, {0}]), ends([{1}, {0}])) == (3, 1)


#: The claim, what recomputes it, and whether its sentence is true here.
RECOMPUTED: list[tuple[str, Callable[[], bool], bool]] = [
    ("shen-2016/2.2-example", pna_example, True),
    ("hsu-freeh/3-maximises-rate", flow_rate_is_largest, False),
    ("guo-2012/3.3-more-idle", gains_grow, False),
    ("guo-2012/3.3-one-idle-slot", one_slot_is_level, True),
    ("guo-2012/3.2-expectation", expected_locality, True),
    ("agosta/4.1-flow-optimal-latency", flow_at_most_opt, False),
    ("fischer-2010/4-more-replicas", replicas_help_round_robin, True),
]


@pytest.mark.parametrize(("name", "recompute", "true"), RECOMPUTED, ids=[name for name, *_ in RECOMPUTED])
def test_recomputed(name: str, recompute: Callable[[], bool], true: bool) -> None:
    """Tests that the sentence is as true as the record says, by a way of its own."""
    assert recompute() is true
    assert claim(name).verdict == ("holds" if true else "fails")
