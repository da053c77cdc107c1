"""Notes that a command prints before its figures: silent defaults, waiting tasks, problems that were left out.

One line each on stderr, each once, whether or not stderr is a terminal; for many instances one line for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from optsched.cli import arguments
from optsched.core.brief import assumed, assumed_in_words
from optsched.core.errors import InputError, MissingField
from optsched.core.instance import KINDS, MAP, Instance
from optsched.core.network import FlowNetwork
from optsched.core.schedule import Schedule
from optsched.problems import AnyProblem
from optsched.problems.base import TaskProblem

__all__ = ["Notes", "pose", "tell_assumed"]

#: Up to this many instances have a note each; more share one line.
_MOST_SHOWN = 3

#: How to see what was assumed.
_HOW = "the labels say how (optsched describe)"

_INDEX = re.compile(r"\[\d+\]")
_INDEXED = re.compile(r"(nodes|tasks|jobs|groups)\[\d+\]")


#: How the note on a problem that is left out begins.
_LEFT_OUT = "{} left out: "

#: MB from which a task's data, a terabyte, was hardly meant so: a block of 128 MB has 134,217,728 bytes.
_LARGE = 1_000_000

#: An importer with this in its label of sizes has converted them; a terabyte is then what the trace says.
_MEGABYTE = "10^6 bytes"


class Notes:
    """Collects notes on some instances, and prints each once."""

    def __init__(self) -> None:
        #: For each sort of note, the instance and words, and the problems.
        self._found: dict[str, dict[tuple[str, str], dict[str, None]]] = {}
        self._all: list[tuple[str, str, str]] = []

    def add(self, sort: str, instance: Instance | FlowNetwork, words: str, problem: str = "") -> None:
        """One thing; the same of several problems is one line, with their names where `words` has {}."""
        problems = self._found.setdefault(sort, {}).setdefault((instance.name, words), {})
        problems[problem] = None
        self._all.append((instance.name, problem, words))

    def recorded(self, instance: str, problem: str) -> list[str]:
        """The notes on a problem on an instance, and on the instance: for records."""
        found = [
            (of, words)
            for name, of, words in self._all
            if name == instance and (of in ("", problem) or words.startswith(_LEFT_OUT))
        ]
        return list(dict.fromkeys(words.replace("{}: ", "").replace("{}", of) for of, words in found))

    def of(self, problem: AnyProblem) -> None:
        """All that there is to say of a problem."""
        if not isinstance(problem, TaskProblem):
            return
        instance, name = problem.instance, problem.name
        what = f"{KINDS[problem.kinds[0]]}s" if len(problem.kinds) == 1 else "tasks"
        count = len(problem.tasks)
        if not count:
            self.add(
                "nothing",
                instance,
                f"{{}}: no {what.removesuffix('s')} is pending: there is nothing to place",
                name,
            )
            return
        if problem.offered and problem.due < count:
            self.add("waits", instance, f"{{}}: {count - problem.due} of {count} {what} wait: no slot is idle", name)
        if problem.by_replicas:
            maps = instance.workload.kind[problem.tasks] == MAP
            bare = int(np.count_nonzero(maps & (instance.workload.replicas.lengths[problem.tasks] == 0)))
            if bare:
                self.add(
                    "bare",
                    instance,
                    f"{{}}: {bare} of {int(maps.sum())} maps have no replica, and are remote everywhere",
                    name,
                )
        arrival = np.append(instance.workload.arrival, np.nan)[instance.workload.job[problem.tasks]]
        later = int(np.count_nonzero(arrival > instance.time))
        if later and problem.decided is not Schedule:  # over time no policy runs what has not arrived
            words = (
                f"{{}}: {later} of {count} {what} arrive after the snapshot; the optimum and batch heuristics know them"
            )
            self.add("later", instance, words, name)
        if problem.remark is not None:
            self.add("remark", instance, problem.remark)
        large = _large_size(instance)
        if large and _MEGABYTE not in instance.labels.get("size", ""):
            self.add("bytes", instance, f"sizes look like bytes ({large}); they are read as MB")

    def of_labels(self, noun: Instance | FlowNetwork) -> None:
        """The notes on assumed or inferred labels; generated instances had that note when they were drawn."""
        if assumed := assumed_in_words([noun]):
            self.add("assumed", noun, f"{assumed}; {_HOW}")

    def left_out(self, instance: Instance, problem: str, error: InputError) -> None:
        """A problem that was not asked for by name and cannot be posed, unless its fields just are not there."""
        if isinstance(error, MissingField) and not _nearly(instance, error):
            return
        shown, more = error.faults[0], len(error.faults) - 1
        reason = str(shown).replace(f"{problem} needs", "needs") + (f"; and {more} more" if more else "")
        self.add(f"left out: {_INDEX.sub('', reason)}", instance, f"{_LEFT_OUT}{reason}", problem)

    def tell(self) -> None:
        """Put it all on stderr."""
        for found in self._found.values():
            lines = [f"{name}: {words.replace('{}', ', '.join(problems))}" for (name, words), problems in found.items()]
            others = len({name for name, _ in found}) - 1
            if others >= _MOST_SHOWN:
                lines = [f"{lines[0]}; likewise in {others} other instances"]
            for line in lines:
                arguments.note(line)
        self._found.clear()


def pose(argument: str, problem_name: str, params: Sequence[str]) -> tuple[AnyProblem, list[str]]:
    """Like `arguments.pose`, with the notes on the problem, which are printed here: for the record."""
    posed = arguments.pose(argument, problem_name, params)
    notes = Notes()
    notes.of(posed)
    notes.of_labels(posed.instance)
    notes.tell()
    return posed, notes.recorded(posed.instance.name, posed.name)


def _nearly(instance: Instance, error: MissingField) -> bool:
    """Whether a field is missing in some records only, or belongs to groups that there are: the problem was meant."""
    sizes = {
        "nodes": len(instance.cluster),
        "tasks": len(instance.workload),
        "jobs": len(instance.workload.job_ids),
        "groups": len(instance.workload.group_ids),
    }
    counts: dict[tuple[str, str], int] = {}
    for fault in error.faults:
        match = _INDEXED.match(fault.place)
        if fault.place.startswith("groups") and sizes["groups"]:
            continue
        if match is None:
            return False
        key = (match[1], fault.place[match.end() :])
        counts[key] = counts.get(key, 0) + 1
    return all(count < sizes[collection] for (collection, _), count in counts.items())


def _large_size(instance: Instance) -> str:
    """The first size that is rather one in bytes than in MB, with its place; empty where there is none."""
    shuffle = instance.workload.shuffle
    columns = {
        "tasks[{}].size": instance.workload.size,
        "tasks[{}].bytes_read": instance.state.bytes_read,
        "shuffle[{}].size": np.zeros(0) if shuffle is None else shuffle.size,
    }
    for place, sizes in columns.items():
        rows = np.flatnonzero(sizes >= _LARGE)
        if len(rows):
            return f"{place.format(rows[0])} is {sizes[rows[0]]:.0f}"
    return ""


def tell_assumed(nouns: Iterable[Instance | FlowNetwork]) -> None:
    """A line for what is labelled as assumed or inferred in what was made."""
    found = dict.fromkeys(name for noun in nouns for name in assumed(noun))
    if found:
        arguments.note(f"assumed or inferred: {', '.join(found)}; {_HOW}")
