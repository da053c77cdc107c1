"""What was measured as Markdown tables: every way of every row, the default against the best of the others, growth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from study_tables import table

from comparing.peers import PEERS
from comparing.running import Comparison, Result
from comparing.stages import WITHOUT
from optsched.core.results import Sense
from optsched.problems import PROBLEMS

#: The default is a bad choice where it takes more than so many times as long as another way that is shipped; below so
#: many seconds a ratio says nothing.
MOST_TIMES = 1.5
LEAST_SECONDS = 0.01

_HEADER = (
    "instance",
    "way",
    "value",
    "proof",
    "load",
    "pose",
    "solve",
    "first",
    "read",
    "certify",
    "wall",
    "MB",
    "times default",
)


def cpu(result: Result, *phases: str) -> float | None:
    """Processor seconds of phases together; None where one was not measured."""
    found = result.get("phases", {})
    return sum(found[name]["cpu"] for name in phases) if all(name in found for name in phases) else None


def _work(result: Result) -> float | None:
    """What ways are compared by: posing and solving, or reading where that is all."""
    posed = cpu(result, "pose", "solve")
    return cpu(result, "load") if posed is None else posed


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}" if value < 0.0995 else f"{value:.3g}"


def _times(value: float | None, base: float | None) -> str:
    return "" if value is None or not base else f"{value / base:.3g}"


def _value(result: Result) -> str:
    """The value; bound / value where it is not proved."""
    if "value" not in result:
        return ""
    value, bound = (
        "none"
        if parts is None
        else ", ".join("open" if part is None else f"{float(Fraction(part)):.10g}" for part in parts)
        for parts in (result["value"], result["bound"])
    )
    return value if result["answer"] is not None else f"{bound} / {value}"


def _line(label: str, way: str, result: Result, default: Result) -> list[str]:
    if "phases" not in result:
        return [label, way, "", result.get("ended", ""), *[""] * 9]
    phases = result["phases"]
    main = "solve" if "solve" in phases else "load"
    proof = result.get("ended") or result.get("proof") or ("bound only" if way in PEERS and PEERS[way].bound else "")
    return [
        label,
        way,
        _value(result),
        proof,
        *(_seconds(cpu(result, name)) for name in ("load", "pose", "solve")),
        _seconds(phases[main]["first"]),
        *(_seconds(cpu(result.get("certificate", {}), name)) for name in ("read", "certify")),
        _seconds(phases[main]["wall"]),
        "" if result["memory_mb"] is None else f"{result['memory_mb']:.0f}",
        _times(_work(result), _work(default)),
    ]


def ways_table(comparisons: Iterable[Comparison]) -> str:
    """Every way of every row: processor seconds of each phase, wall clock of solving, most memory."""
    lines = [
        _line(comparison.row.label if place == 0 else "", way, result, comparison.ways.get("default", {}))
        for comparison in comparisons
        for place, (way, result) in enumerate(comparison.ways.items())
    ]
    return table(_HEADER, lines, text_columns=4)


def stages_table(comparisons: Iterable[Comparison]) -> str:
    """What is lost without each stage of a search, in how many rows; and the seconds of rows that are proved both ways.

    Rows without a figure of the default, or of the way without the stage, do not count.
    """
    header = ("problem", "without", "rows", "open", "other proof", "worse value", "better", "worse bound", "better",
              "s", "s of default")  # fmt: skip
    tallies: dict[tuple[str, str], list[float]] = {}
    for comparison in comparisons:
        default, signs = comparison.ways.get("default", {}), _signs(comparison.row.problem)
        for way, result in comparison.ways.items():
            if not way.startswith(WITHOUT) or "value" not in result or "value" not in default:
                continue
            proved = result["answer"] is not None
            both = proved and default["answer"] is not None
            row = [1, default["answer"] is not None and not proved, both and result["proof"] != default["proof"]]
            for name, sign in (("value", 1), ("bound", -1)):
                mine, its = (_minimised(each.get(name), signs, sign) for each in (result, default))
                row += [mine > its, mine < its]
            row += [_work(each) or 0.0 if both else 0.0 for each in (result, default)]
            key = comparison.row.problem, way.removeprefix(WITHOUT)
            tallies[key] = [sum(pair) for pair in zip(tallies.get(key, [0.0] * len(row)), row, strict=True)]
    lines = [
        [*key, *(f"{count:.0f}" for count in row[:-2]), *(_seconds(spent) for spent in row[-2:])]
        for key, row in tallies.items()
    ]
    return table(header, lines, text_columns=2)


def _signs(problem: str) -> list[int]:
    """1 for each component of a problem that is minimised, -1 for the others."""
    return [1 if component.sense is Sense.MIN else -1 for component in PROBLEMS[problem].components]


def _minimised(value: Sequence[str | None] | None, signs: Sequence[int], sign: int) -> list[float | Fraction]:
    """A value, or with the sign -1 a bound, such that less is better; infinite where there is none."""
    parts = [None] * len(signs) if value is None else value
    pairs = zip(parts, signs, strict=True)
    return [math.inf if part is None else sign * each * Fraction(part) for part, each in pairs]


def _first(result: Result) -> float | None:
    """The first posing and solving in a process, with what is imported and compiled then."""
    found = result.get("phases", {})
    return sum(found[name]["first"] for name in ("pose", "solve")) if {"pose", "solve"} <= set(found) else None


def _least(
    comparison: Comparison, ours: bool, work: Callable[[Result], float | None] = _work
) -> tuple[str, float] | None:
    """The quickest other way that is shipped, or the quickest other tool that finds the optimum."""
    found = [
        (seconds, way)
        for way, result in comparison.ways.items()
        if (way.startswith(("route ", "default, ")) if ours else way in PEERS and not PEERS[way].bound)
        and result.get("answer") is not None and (seconds := work(result)) is not None
    ]  # fmt: skip
    return (min(found)[1], min(found)[0]) if found else None


def standing_table(comparisons: Iterable[Comparison]) -> str:
    """The default against the best other tool: ratios of posing and solving."""
    header = ("problem", "instance", "engine", "solve", "read", "certify", "MB", "best peer", "s", "ours / peer",
              "with certifying")  # fmt: skip
    lines = []
    for comparison in comparisons:
        result = comparison.ways.get("default", {})
        work, checked = _work(result), cpu(result.get("certificate", {}), "certify")
        if comparison.row.kind in ("heuristics", "files", "study"):
            continue
        peer = _least(comparison, ours=False)
        both = None if work is None or checked is None else work + checked
        kind = " (frontier)" if comparison.row.kind == "frontier" else ""
        lines.append([
            comparison.row.problem + kind, comparison.row.label, result.get("engine", ""),
            result.get("ended", "") or _seconds(work),
            _seconds(cpu(result.get("certificate", {}), "read")), _seconds(checked),
            f"{result['memory_mb']:.0f}" if result.get("memory_mb") else "",
            *(("none", "", "", "") if peer is None else
              (peer[0], _seconds(peer[1]), _times(work, peer[1]), _times(both, peer[1]))),
        ])  # fmt: skip
    return table(header, lines, text_columns=3)


def shipped_table(comparisons: Iterable[Comparison]) -> str:
    """For each problem the row where the default is worst against another way that is shipped.

    Rows count where the default takes `LEAST_SECONDS` or more. A default that ends at the limit counts as infinitely
    slow where another way ends. "At first" compares the first solve in a process instead of the least.
    """
    header = ("problem", "rows", f"over {MOST_TIMES}", "at first", "worst row", "s", "best other way", "s",
              "default / other")  # fmt: skip
    judged: dict[str, list[tuple[float, bool, list[str]]]] = {}
    for comparison in comparisons:
        row, other, default = comparison.row, _least(comparison, ours=True), _work(comparison.ways.get("default", {}))
        if row.kind not in ("solve", "frontier") or other is None or (default or math.inf) < LEAST_SECONDS:
            continue
        way, seconds = other
        ratio = math.inf if default is None else default / seconds
        cells = [row.label, _seconds(default), way, _seconds(seconds), f"{ratio:.3g}"]
        began, best = _first(comparison.ways.get("default", {})), _least(comparison, ours=True, work=_first)
        slow = best is not None and (began is None or began > MOST_TIMES * best[1])
        judged.setdefault(row.problem, []).append((ratio, slow, cells))
    lines = []
    for problem, entries in judged.items():
        over = sum(ratio > MOST_TIMES for ratio, _, _ in entries)
        at_first = sum(slow for _, slow, _ in entries)
        lines.append([problem, len(entries), over, at_first, *max(entries, key=lambda entry: entry[0])[2]])
    return table(header, lines, text_columns=1)


def exponent(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Exponent and logarithm of the factor of the power law that fits best (least squares on logarithms).

    >>> exponent([(1, 3), (2, 12), (4, 48)])[0]
    2.0
    >>> exponent([(1, 3), (1, 4)]) is None
    True
    """
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points if size > 0 and seconds > 0]
    if len({size for size, _ in logs}) < 2:
        return None
    middle = [sum(axis) / len(logs) for axis in zip(*logs, strict=True)]
    spread = sum((size - middle[0]) ** 2 for size, _ in logs)
    slope = sum((size - middle[0]) * (value - middle[1]) for size, value in logs) / spread
    return slope, middle[1] - slope * middle[0]


def _series(comparisons: Iterable[Comparison]) -> Iterator[tuple[tuple[str, str], list[Comparison]]]:
    def key(comparison: Comparison) -> tuple[str, str]:
        return comparison.row.problem, comparison.row.series

    for name, found in groupby(comparisons, key):
        yield name, list(found)


def _reached(points: Sequence[tuple[float, float]], limit: float) -> str:
    """The size at which a limit is reached if it grows on as between the two largest sizes."""
    fit = exponent(points[-2:])
    if fit is None or fit[0] <= 0:
        return ""
    size = math.exp(min((math.log(limit) - fit[1]) / fit[0], 100))
    return f"{size:.1g}" if size < 1e15 else ""


def growth_table(comparisons: Iterable[Comparison]) -> str:
    """Growth exponents of posing and solving, and of memory less Python's own, of each way measured at two sizes.

    The sizes of a minute and of 4 GB are estimates, from the growth between the two largest sizes that were run.
    """
    lines = []
    for (problem, series), found in _series(comparisons):
        for way in dict.fromkeys(way for comparison in found for way in comparison.ways):
            result = [(entry.row.size, entry.ways[way]) for entry in found if "phases" in entry.ways.get(way, {})]
            spent = [(size, seconds) for size, entry in result if (seconds := _work(entry)) is not None]
            held = [(size, entry["memory_mb"] - entry["start_mb"]) for size, entry in result if entry["memory_mb"]]
            fits = [fit and f"{fit[0]:.2f}" for fit in (exponent(spent), exponent(held))]
            if fits[0] is None:
                continue
            sizes = ", ".join(f"{size:,}" for size, _ in spent)
            lines.append(
                [problem, series, way, sizes, fits[0], fits[1] or "", _reached(spent, 60), _reached(held, 4096)]
            )
    header = (
        "problem",
        "series",
        "way",
        "sizes",
        "time grows as n to the",
        "memory as n to the",
        "a minute near",
        "4 GB near",
    )
    return table(header, lines, text_columns=4)
