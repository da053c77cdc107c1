"""What the papers' own figures allow: bounds on what a better placement can have gained in their runs.

    python benchmarks/paper_ceilings.py

Only arithmetic on what the papers print, in fractions; nothing is run. Where a bound needs an assumption, its row says
so. `docs/results-runs.md` quotes them.
"""

from __future__ import annotations

from fractions import Fraction

from placement_study import TABLE_3, locality_cap
from study_tables import table

from optsched.instances.families.hsu import JOB_TYPES, MAP_RATES, OUT_RATE, PROCESS_RATES
from optsched.instances.families.shen import MAPS, REDUCES

__all__ = [
    "FIGURE_5",
    "FIGURE_6",
    "area",
    "ceilings",
    "gained_by_cluster",
    "grep_map",
    "less_time",
    "most_off_node",
    "other_jobs",
    "processing",
    "readers_of_a_link",
    "slow_on_node",
    "storage",
]

PNA = "probabilistic"

#: Shen et al. 2016, III-A, on Figure 5(a): against each scheduler, % by which job times fall on average, and the % of
#: jobs whose time falls by more than so many %.
FIGURE_5 = {"coupling": (17, 28, 47), "fair": (46, 24, 43)}

#: Shen et al. 2016, III-B, on Figure 6: the seconds within which all maps (reduces) of PNA end, and which % of each
#: other scheduler's do.
FIGURE_6 = {"map": (493, {"coupling": 76, "fair": 48}), "reduce": (574, {"coupling": 65, "fair": 85})}

#: Hsu and Freeh, section 5.2: jobs of 1 GB of each type; section 5.1: compute nodes of each cluster, storage nodes.
HSU_JOBS = {"wordcount": 4, "terasort": 4, "grep": 1}
HSU_NODES, HSU_STORAGE = (6, 5), 3

#: Map slots of a node of Hsu and Freeh: assumed.
HSU_SLOTS = 4

#: Hsu and Freeh, abstract: "improve the system throughput by up to 30%".
HSU_THROUGHPUT = Fraction(13, 10)

#: Sharmilarani et al., section III: "up to 18% improvement in resource utilization while allowing jobs to complete up
#: to 1.3 times faster".
RAS_UTILISATION, RAS_FASTER = Fraction(118, 100), Fraction(13, 10)

#: Guo et al. 2012, IV-E: links between clusters in Mb/s, gigabit NICs, and how many times slower runs became.
GUO_LINKS, GUO_NIC, GUO_SLOWER = (1, 10), 1000, (2000, 3000)


def exactly(number: float) -> Fraction:
    """What a paper prints, as a fraction.

    >>> exactly(14.41)
    Fraction(1441, 100)
    """
    return Fraction(str(number))


def tasks() -> tuple[int, int]:
    """Maps and reduces of Shen et al.'s Table II.

    >>> tasks()
    (14362, 5212)
    """
    return sum(map(sum, MAPS)), sum(map(sum, REDUCES))


def most_off_node(scheduler: str) -> Fraction:
    """The largest share of a scheduler's maps that were off their data, by Tables II and III: if no reduce was."""
    maps, reduces = tasks()
    return exactly(TABLE_3[scheduler][1]) / 100 * (maps + reduces) / maps


def slow_on_node(scheduler: str) -> Fraction:
    """The least share of a scheduler's maps that ran on their data and took longer than any of PNA's (Figure 6(a))."""
    return max(Fraction(0), 1 - Fraction(FIGURE_6["map"][1][scheduler], 100) - most_off_node(scheduler))


def other_jobs(scheduler: str) -> tuple[Fraction, Fraction]:
    """Between what lies the mean reduction of the jobs that are not among those that gain most (Figure 5), as shares.

    At most what is left where those gain no more than they must, and no more than makes one of these; at least what is
    left where those gain all of their time, and nothing, for each job is faster.
    """
    mean, share, more = (Fraction(number, 100) for number in FIGURE_5[scheduler])
    return max(Fraction(0), (mean - share) / (1 - share)), min(more, (mean - share * more) / (1 - share))


def grep_map(block: int) -> tuple[Fraction, Fraction]:
    """Seconds that a map of Grep takes alone on a node of cluster 2, and of cluster 1, by Hsu and Freeh's Table 3."""
    first, second = (exactly(rate) for rate in MAP_RATES[JOB_TYPES.index("grep")].tolist())
    return block / second, block / first


def area(megabytes: int) -> Fraction:
    """Seconds that all maps take at least on all slots, each at the rate of the faster cluster; jobs of so many MB."""
    work = Fraction(0)
    for name, jobs in HSU_JOBS.items():
        work += jobs * megabytes / exactly(max(MAP_RATES[JOB_TYPES.index(name)].tolist()))
    return work / (HSU_SLOTS * sum(HSU_NODES))


def storage(megabytes: int) -> Fraction:
    """Seconds in which the storage nodes give out all input."""
    return sum(HSU_JOBS.values()) * megabytes / (HSU_STORAGE * exactly(OUT_RATE))


def processing(megabytes: int) -> Fraction:
    """Seconds in which the compute nodes process all input."""
    first, second = (count * exactly(each) for count, each in zip(HSU_NODES, PROCESS_RATES, strict=True))
    return sum(HSU_JOBS.values()) * megabytes / (first + second)


def gained_by_cluster() -> Fraction:
    """The share of its time that a map of Grep saves in cluster 2: what placement can save where nothing waits."""
    fast, slow = grep_map(64)
    return 1 - fast / slow


def less_time(faster: Fraction) -> Fraction:
    """The share of the time that is saved by whoever does the same so many times faster.

    >>> less_time(Fraction(13, 10))
    Fraction(3, 13)
    """
    return 1 - 1 / faster


def readers_of_a_link(link: int, slower: int, local: int = GUO_NIC) -> Fraction:
    """How many tasks read over a link at a time, at least, where each then goes so many times slower; rates in Mb/s."""
    return slower * Fraction(link, local)


def percent(share: Fraction) -> str:
    """A share in per cent, to a tenth."""
    return f"{float(100 * share):.1f} %"


def _shen() -> list[list[str]]:
    rows = []
    for name, (mean, share, more) in FIGURE_5.items():
        rest = " to ".join(percent(end) for end in other_jobs(name))
        slow = 100 - FIGURE_6["map"][1][name]
        rows += [
            [
                f"task time that PNA's locality saves against {name}",
                "Table III; a task has one of two times, on its data or in its rack",
                f"at most {locality_cap(name):.1f} %",
                f"job times {mean} % shorter (Figure 5)",
            ],
            [
                f"{name}'s maps on their data that took longer than each of PNA's",
                "Tables II and III, Figure 6(a), if that is of all batches",
                f"at least {percent(slow_on_node(name))}",
                f"{slow} % took longer; {percent(most_off_node(name))} of all can have been off their data",
            ],
            [
                f"mean reduction against {name} of the {100 - share} % of jobs that gain least",
                f"Figure 5: {mean} % on average, {share} % of the jobs above {more} %",
                rest,
                "PNA is faster in each job",
            ],
        ]
    return rows


def _hsu() -> list[list[str]]:
    fast, slow = (f"{float(seconds):.0f}" for seconds in grep_map(64))
    return [
        [
            "elapsed time of any scheduler",
            "Table 3: one map of Grep, blocks of 64 MB (twice that for 128)",
            f"at least {fast} s (cluster 2), {slow} s (cluster 1)",
            "Flow before FIFO, Fair, Capacity, Balancing (Figure 6)",
        ],
        [
            "elapsed time by the slots",
            f"Table 3, each map at its faster rate; {HSU_SLOTS} slots a node are assumed; 1 GB is 1000 MB",
            f"at least {float(area(1000)):.0f} s",
            "",
        ],
        ["elapsed time by storage", "Table 2, 9 GB from three nodes", f"at least {float(storage(1000)):.0f} s", ""],
        [
            "elapsed time by processing",
            "Table 2, 9 GB on 6 + 5 nodes",
            f"at least {float(processing(1000)):.0f} s",
            "",
        ],
        [
            "elapsed time that placement saves, if Grep ends last and none of its maps waits",
            "Table 3; shares are max-min fair, so that a map of Grep always gets its rate",
            f"at most {percent(gained_by_cluster())}",
            f"throughput up to 30 % higher, which is {percent(less_time(HSU_THROUGHPUT))} less time",
        ],
    ]


def _ras() -> list[list[str]]:
    return [
        [
            "time of a whole batch that better utilisation saves",
            "18 % more of the same capacity does the same work",
            f"at most {percent(less_time(RAS_UTILISATION))}",
            f"jobs up to 1.3 times faster, which is {percent(less_time(RAS_FASTER))} less time",
        ],
        ["time of one job", "none: another order of jobs needs no utilisation", "no bound", ""],
    ]


def _guo() -> list[list[str]]:
    rows = []
    for link in GUO_LINKS:
        least, most = (readers_of_a_link(link, slower) for slower in GUO_SLOWER)
        rows.append(
            [
                f"tasks that read at a time over a link of {link} Mb/s",
                "a task on its data reads no faster than a gigabit (assumed)",
                f"at least {float(least):g} to {float(most):g}",
                "2000 to 3000 times slower (Figure 9(b))",
            ]
        )
    return rows


def ceilings() -> dict[str, str]:
    """A table for each paper."""
    header = ["what", "from", "the paper's figures allow", "the paper reports"]
    parts = {"Shen et al. 2016": _shen, "Hsu and Freeh": _hsu, "Sharmilarani et al.": _ras, "Guo et al. 2012": _guo}
    return {paper: table(header, rows(), text_columns=4) for paper, rows in parts.items()}


def main() -> None:
    """Print the tables."""
    for paper, told in ceilings().items():
        print(f"### {paper}\n\n{told}\n")


if __name__ == "__main__":
    main()
