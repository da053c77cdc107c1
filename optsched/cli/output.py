"""The output of a command: results as they come, on stdout or into files, and notes on stderr.

No finished result is lost. A complete file replaces the old one; an incomplete one stays next to it, under a name that
says so. Before any figure, notes report silent defaults, waiting tasks and problems that were left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeAlias, TypeVar

from optsched.cli import arguments
from optsched.core.brief import assumed, assumed_in_words
from optsched.core.errors import InputError, MissingField, UsageError, printable
from optsched.core.resources import code_version
from optsched.measuring.printing import to_csv, to_json

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.heuristics import Heuristic
    from optsched.instances.documents.storing import GrowingFile
    from optsched.problems import AnyProblem
    from optsched.problems.base import TaskProblem

Entry = TypeVar("Entry")

#: Writes a text at once.
Write = Callable[[str], None]

#: Makes the texts of entries, each as soon as possible.
Texts: TypeAlias = Callable[[Iterable[Any]], Iterable[str]]


@contextmanager
def destination(output: str | None) -> Iterator[Write]:
    """The destination of data: stdout, or a file (`replacing`)."""
    if output is not None:
        with replacing(output) as file:
            yield lambda text: file.write(text.encode("utf-8", "backslashreplace"))
        return
    stdout = sys.stdout

    def write(text: str) -> None:
        stdout.write(text)
        stdout.flush()

    yield write


@contextmanager
def replacing(output: str) -> Iterator[GrowingFile]:
    """The successor of the file `output`, which replaces it at the end; a message says if there is none.

    InputError if the file cannot be written, if possible before the work begins.
    """
    from optsched.instances.documents.storing import GrowingFile

    file = GrowingFile(output)
    try:
        yield file
    except BaseException:
        kept = file.abandon()
        if kept is not None:
            arguments.note(f"{output} is not written; what was finished is in {kept}", "warning")
        raise
    file.finish()


@contextmanager
def picturing(path: str | None) -> Iterator[Callable[..., None]]:
    """Draws into a file (`replacing`) by the name of a function of `optsched.showing`; no path, no picture."""
    with nullcontext() if path is None else replacing(path) as file:

        def draw(name: str, *of: Any) -> None:
            if path is not None and file is not None:
                from optsched import showing
                from optsched.showing.figures import check_kind

                file.write(showing.picture(getattr(showing, name)(*of), check_kind(path)))

        yield draw


@contextmanager
def working(steps: int | None = None) -> Iterator[Progress]:
    """Progress on stderr. Output of a user's heuristic goes there, too: it must not mix with the data."""
    with progress(sys.stderr, steps) as step, redirect_stdout(sys.stderr):
        yield step


class _Measured:
    """The entries as they are measured. An error that ends the measuring waits until all finished texts are written.

    `done` are the entries so far, `ended` is that error. One before the first entry is raised at once: it is printed
    alone.
    """

    def __init__(self, entries: Iterable[Any]) -> None:
        self._entries = entries
        self.done: list[Any] = []
        self.ended: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            for entry in self._entries:
                self.done.append(entry)
                yield entry
                if self.ended is not None:
                    return
        except BaseException as error:
            if not self.done and not isinstance(error, KeyboardInterrupt):
                raise
            self.ended = error


def collected(
    measure: Callable[[Progress], Iterable[Entry]],
    texts: Texts,
    output: str | None,
    total: str,
    steps: int | None = None,
) -> list[Entry]:
    """Write results to `output` or stdout as they arrive. After an interrupt the output is still valid.

    `measure` makes the entries with a function that reports each step; `texts` makes their output. `total` and `steps`
    are the expected number of entries, in words, and as a number if known.
    """
    with destination(output) as write, working(steps) as step:
        measured = _Measured(measure(step))
        made = iter(texts(measured))

        def put() -> None:
            for text in made:
                with step.aside():
                    write(text)

        try:
            put()
        except BaseException as error:  # while a text was made or written: the texts that end the whole follow
            measured.ended = error
            put()
        if isinstance(measured.ended, KeyboardInterrupt):
            with step.aside():
                arguments.note(f"interrupted after {len(measured.done)} {total}", "warning")
        if measured.ended is not None:
            raise measured.ended
    return measured.done


def at_end(text: Callable[[list[Any]], str]) -> Texts:
    """One text of all entries together."""
    return lambda entries: map(text, [list(entries)])


def records(form: str, fields: Sequence[str], record: Callable[[Any], Mapping[str, Any]]) -> Texts:
    """A record of each entry, as CSV with these columns or as a list in JSON; what there is at the end is valid."""

    def texts(entries: Iterable[Any]) -> Iterator[str]:
        count = 0
        try:
            for entry in entries:
                made = record(entry)
                if form == "csv":
                    yield to_csv([made], fields, header=not count)
                else:  # as `to_json` writes the list: the text between its brackets
                    yield (",\n" if count else "[\n") + to_json([made]).removeprefix("[\n").removesuffix("\n]\n")
                count += 1
        except (Exception, KeyboardInterrupt) as error:
            if count or isinstance(error, KeyboardInterrupt):
                yield end(count)
            raise
        yield end(count)

    def end(count: int) -> str:
        if form == "csv":
            return "" if count else to_csv([], fields)
        return "\n]\n" if count else "[]\n"

    return texts


def gap_records(
    form: str,
    problems: Iterable[TaskProblem[Any]],
    heuristics: Iterable[Heuristic],
    record: Callable[[Any], Mapping[str, Any]],
    further: Sequence[str] = (),
    placements: bool = False,
) -> Texts:
    """Records of gaps in some problems, with the version first in each and `further` fields last."""
    from optsched.measuring.records import record_fields

    policies = any(entry.online for entry in heuristics)
    fields = record_fields(problems, policies=policies, placements=placements)
    return records(form, ["version", *fields, *further], lambda entry: {"version": code_version(), **record(entry)})


# Progress on stderr ---------------------------------------------------------------------------------------------------


class Progress:
    """Called with the next step; this one shows nothing."""

    def __call__(self, text: str) -> None:
        """Begin the next step."""

    def within(self, share: float) -> None:
        """Report a part of the present step as done: `share`, from 0 to 1."""

    def aside(self) -> AbstractContextManager[None]:
        """Hide the progress while something is printed."""
        return nullcontext()


@contextmanager
def progress(stream: TextIO, total: int | None = None) -> Iterator[Progress]:
    """Show progress on a terminal, and nowhere else; yields a function to call with each step before it begins.

    `total` is the number of steps; None for one step of unknown length.
    """
    if not stream.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    counted = [BarColumn(), MofNCompleteColumn()] if total is not None else []
    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), *counted, TimeElapsedColumn()]
    with RichProgress(*columns, TextColumn("{task.fields[left]}"), console=Console(file=stream), transient=True) as bar:
        yield _Bar(bar, total)


def time_left(elapsed: float, done: float, total: float) -> str:
    """The remaining time, in words, if the remaining steps take as long as those that are done.

    >>> time_left(8, 4, 8), time_left(600, 4, 5), time_left(36000, 1, 2), time_left(8, 0, 8)
    ('about 8 s left', 'about 2 min left', 'about 10 h left', 'time left unknown yet')
    """
    if not done:
        return "time left unknown yet"
    left = elapsed * (total - done) / done
    for unit, seconds in (("h", 3600), ("min", 60)):
        if left >= 2 * seconds:
            return f"about {round(left / seconds)} {unit} left"
    return f"about {round(left)} s left"


class _Bar(Progress):
    """Shows the step on a bar of rich."""

    def __init__(self, bar: RichProgress, total: int | None) -> None:
        self._bar, self._task = bar, bar.add_task("", total=total, left="")
        self._done = -1

    def __call__(self, text: str) -> None:
        self._done += 1
        self._update(self._done, description=printable(text))

    def within(self, share: float) -> None:
        self._update(max(0, self._done) + min(max(share, 0.0), 1.0))

    def _update(self, done: float, **changed: Any) -> None:
        """Move the bar, and say how much time is left."""
        (task,) = self._bar.tasks
        left = "" if not done or task.total is None else time_left(task.elapsed or 0, done, task.total)
        self._bar.update(self._task, completed=done, left=left, **changed)

    @contextmanager
    def aside(self) -> Iterator[None]:
        self._bar.stop()  # it clears the bar
        try:
            yield
        finally:
            self._bar.start()


# Notes on stderr ------------------------------------------------------------------------------------------------------
#
# One line each, and each once, with or without a terminal; for many instances one line for all of them.

#: Up to this many instances get a note each; more share one line.
_MOST_SHOWN = 3

#: How to see the assumptions.
_HOW = "the labels say how (optsched describe)"

_INDEX = re.compile(r"\[\d+\]")
_INDEXED = re.compile(r"(nodes|tasks|jobs|groups)\[\d+\]")


#: The beginning of the note on a problem that is left out.
_LEFT_OUT = "{} left out: "

#: MB from which the data of a task, a terabyte, are hardly meant so: a block of 128 MB has 134,217,728 bytes.
_LARGE = 1_000_000

#: An importer with this text in its label of sizes has converted them; then the trace itself says a terabyte.
_MEGABYTE = "10^6 bytes"


class Notes:
    """Collects notes on instances, and prints each once."""

    def __init__(self) -> None:
        #: For each sort of note, the instance and words, and the problems.
        self._found: dict[str, dict[tuple[str, str], dict[str, None]]] = {}
        self._all: list[tuple[str, str, str]] = []

    def add(self, sort: str, instance: Instance | FlowNetwork, words: str, problem: str = "") -> None:
        """Add a note; the same note on several problems is one line, with their names in place of {} in `words`."""
        problems = self._found.setdefault(sort, {}).setdefault((instance.name, words), {})
        problems[problem] = None
        self._all.append((instance.name, problem, words))

    def recorded(self, instance: str, problem: str) -> list[str]:
        """The notes on a problem on an instance, and on the instance, for records."""
        found = [
            (of, words)
            for name, of, words in self._all
            if name == instance and (of in ("", problem) or words.startswith(_LEFT_OUT))
        ]
        return list(dict.fromkeys(words.replace("{}: ", "").replace("{}", of) for of, words in found))

    def of(self, problem: AnyProblem) -> None:
        """All notes on a problem."""
        import numpy as np

        from optsched.core.instance import KINDS, MAP
        from optsched.core.placement import Schedule
        from optsched.problems.base import TaskProblem

        if not isinstance(problem, TaskProblem):
            return
        instance, name = problem.instance, problem.name
        what = f"{KINDS[problem.kinds[0]]}s" if len(problem.kinds) == 1 else "tasks"
        count = len(problem.tasks)
        if not count:
            words = f"{{}}: no {what.removesuffix('s')} is pending: there is nothing to place"
            self.add("nothing", instance, words, name)
            return
        if problem.offered and problem.due < count:
            self.add("waits", instance, f"{{}}: {count - problem.due} of {count} {what} wait: no slot is idle", name)
        if problem.by_replicas:
            maps = instance.workload.kind[problem.tasks] == MAP
            bare = int(np.count_nonzero(maps & (instance.workload.replicas.lengths[problem.tasks] == 0)))
            if bare:
                words = f"{{}}: {bare} of {int(maps.sum())} maps have no replica: no node is near their data"
                self.add("bare", instance, words, name)
        arrival = np.append(instance.workload.arrival, np.nan)[instance.workload.job[problem.tasks]]
        later = int(np.count_nonzero(arrival > instance.time))
        if later and problem.decided is not Schedule:  # over time no policy runs a task before its arrival
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
        """The notes on assumed or inferred labels; generated instances got this note when they were drawn."""
        if assumed := assumed_in_words([noun]):
            self.add("assumed", noun, f"{assumed}; {_HOW}")

    def left_out(self, instance: Instance, problem: str, error: InputError) -> None:
        """Note a problem that was not requested by name and cannot be posed, unless its fields are simply absent."""
        if isinstance(error, MissingField) and not _nearly(instance, error):
            return
        shown, more = error.faults[0], len(error.faults) - 1
        reason = str(shown).replace(f"{problem} needs", "needs") + (f"; and {more} more" if more else "")
        self.add(f"left out: {_INDEX.sub('', reason)}", instance, f"{_LEFT_OUT}{reason}", problem)

    def tell(self) -> None:
        """Print all notes on stderr."""
        for found in self._found.values():
            lines = [f"{name}: {words.replace('{}', ', '.join(problems))}" for (name, words), problems in found.items()]
            others = len({name for name, _ in found}) - 1
            if others >= _MOST_SHOWN:
                lines = [f"{lines[0]}; likewise in {others} other instances"]
            for line in lines:
                arguments.note(line)
        self._found.clear()


@dataclass(frozen=True)
class Asked:
    """A problem on an instance, as the command line names them."""

    instance: arguments.OneInstance
    problem_name: Annotated[str, arguments.Option("See `list problems`.", "--problem")]
    params: arguments.Params = ()

    def pose(self) -> tuple[AnyProblem, list[str]]:
        """The problem on the instance or network. Its notes are printed, and returned for records.

        Wrong usage is reported before the file is read.
        """
        from optsched.problems import problem

        values = arguments.parameters_for(self.problem_name, self.params)
        posed = problem(self.problem_name, arguments.load_any(self.instance), **values)
        notes = Notes()
        notes.of(posed)
        notes.of_labels(posed.instance)
        notes.tell()
        return posed, notes.recorded(posed.instance.name, posed.name)


Posed = Annotated[Asked, arguments.Together(Asked)]


def check_noun(path: str, decision: Any, problem: AnyProblem, otherwise: str = "") -> None:
    """Raise UsageError if a file holds another noun than the problem decides; `otherwise` names an alternative."""
    if decision.noun != problem.decided.noun:
        mismatch = f"holds a {decision.noun}, and {problem.name} decides a {problem.decided.noun}"
        mend = ", or ".join(filter(None, ["give a solution of such a problem", otherwise]))
        raise UsageError(f"{path}: {mismatch}; {mend}")


def _nearly(instance: Instance, error: MissingField) -> bool:
    """Whether only some records lack a field, or it belongs to existing groups: then the problem was meant."""
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
    """The first size that is probably in bytes, not MB, with its place; empty if there is none."""
    import numpy as np

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
    """Print a line for each label that says a part was assumed or inferred."""
    found = dict.fromkeys(name for noun in nouns for name in assumed(noun))
    if found:
        arguments.note(f"assumed or inferred: {', '.join(found)}; {_HOW}")
