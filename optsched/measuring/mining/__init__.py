"""Mining: the worst instance for a heuristic, or one that breaks a claim, shrunk to a minimal one.

Instances are plain documents while they are changed and shrunk (`documents`). `walking` judges how bad each is and
searches for the worst. Here is the find: in words, as a file with its proved optimum, and as a test; and the claims of
the registry that one instance can break. Values and optima come only from `gaps`.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from optsched.certificates import certify
from optsched.core.arrays import plain
from optsched.core.brief import as_argument, brief, counted
from optsched.core.deadline import deadline
from optsched.core.errors import Fault, HeuristicFailed, InputError, OutOfTime, UsageError
from optsched.core.instance import Instance
from optsched.core.processes.containing import in_force
from optsched.core.processes.limits import Limits
from optsched.heuristics import AnyHeuristic
from optsched.instances.documents.storing import write_whole
from optsched.instances.families.base import optimum_label
from optsched.instances.files import from_document, to_json
from optsched.measuring.gaps import GapReport
from optsched.measuring.judging import Check, claim
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.judging.judges import ORDERED, answers
from optsched.measuring.judging.quantities import OF_SNAPSHOTS
from optsched.measuring.mining.documents import MINIMAL
from optsched.measuring.mining.walking import (
    OVER_ZERO,
    SEARCHED,
    Aim,
    Judge,
    Judged,
    Search,
    is_broken,
    starts_of,
)
from optsched.measuring.studies.choices import Choice, chosen, parted, seeds_of, users_function
from optsched.measuring.studies.commands import profile_argument
from optsched.measuring.studies.limits import differing
from optsched.measuring.studies.runs import check_served
from optsched.problems import problem_class
from optsched.problems.parameters import resolve
from optsched.solvers.profiles import Profile, load_profile

__all__ = ["Find", "Statement", "default_name", "free_files", "is_broken", "margin", "mine", "statement"]


def default_name(choice: Choice, problem: str) -> str:
    """The default name of a find.

    >>> from optsched.measuring.studies.choices import chosen
    >>> default_name(chosen("dl,reading=heartbeat"), "lsap")
    'mined-lsap-dl-reading-heartbeat'
    """
    return re.sub(r"[^a-z0-9]+", "-", f"mined-{problem}-{choice.label}".lower()).strip("-")


def free_files(folder: str | Path, name: str) -> tuple[Path, Path]:
    """The files of the instance and the test; UsageError if one is there already, which is not replaced."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise UsageError(f'"{name}" is no name for files; take letters, digits, "-", "_" and "."')
    files = Path(folder) / f"{name}.json", Path(folder) / f"test_{_identifier(name)}.py"
    for path in files:
        if path.exists():
            raise UsageError(f"{path} is there already; choose another --name")
    return files


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name)


@dataclass(frozen=True, repr=False)
class Find(Judged):
    """The worst instance that was found.

    Attributes
    ----------
    document, report, runs, score
        The instance, its worst run and all runs, and how bad that is: the kind of failure, and the gap.
    problem, parameters, choice
        The problem posed, and the heuristic.
    aim, claim
        The aim of the search; the name of the broken claim, if it was given by name.
    profile, limits
        Profile of the solver, and limits of each run; with limits a run had its own process.
    tried, command
        How many instances were tried, including those of shrinking, and the command that finds it again.
    minimal
        Whether no single step of `optsched.measuring.mining.documents.smaller` leaves it as bad. False if the search
        was stopped.
    interrupted
        Whether an interrupt stopped the search.
    """

    problem: str
    parameters: Mapping[str, Any]
    choice: Choice
    aim: Aim
    claim: str | None
    profile: str | Path | Profile
    limits: Limits
    tried: int
    command: str
    minimal: bool
    interrupted: bool

    def __repr__(self) -> str:
        return brief(f"Find: {self}")

    @cached_property
    def rests_on(self) -> tuple[str, ...]:
        """The unproved basis of the optimum, as found by `optsched certify`: `solver`, `enumeration`, nothing."""
        report = certify(self.report.problem, self.report.reference.solution)
        return tuple(sorted({str(claim.kind) for claim in report.claims}))

    def __str__(self) -> str:
        tasks, nodes = (len(self.document[table]) for table in ("tasks", "nodes"))
        sizes = f"{counted(tasks, 'task')} and {counted(nodes, 'node')}"
        return f"{self.choice.label} on {self.problem}: {self.compared}, on {sizes}"

    def words(self) -> str:
        """The find in words: a line on the heuristic, where it differs from an optimum, and the effort."""
        lines = [f"{'the claim is broken: ' * (self.aim.claim is not None)}{self}"]
        if self.report.feasible and self.aim.claim is None:
            sort, gap = self.score
            beyond = self.aim.worst == "absolute" or sort == OVER_ZERO
            shown = f"{gap} beyond the optimum" if beyond else f"{100 * float(gap):.4g} % of the optimum"
            over = "" if len(self.runs) == 1 else f" ({self.aim.limit.over} of {len(self.runs)} runs)"
            lines.append(f"gap: {shown}{over}")
        if isinstance(self.aim.claim, Statement):
            region = f"; the claim is about: {self.aim.claim.region}" * bool(self.aim.claim.region)
            lines.append(f"false here: {self.aim.claim.check.says}{region}")
        lines += differing(self.report)
        shrunk = f"minimal: each change makes it less bad: {MINIMAL}"
        lines.append(shrunk if self.minimal else "not minimal: it was cut short before it was shrunk")
        lines.append(f"the optimum {_proof(self.rests_on)}")
        lines.append(f"{self.tried} instances were tried; the same again: {self.command}")
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The find in JSON's types: the gap's record, the effort, and the instance."""
        gap = self.score[1] if self.aim.claim is None and self.report.feasible else self.aim.gap(self.report)
        return {
            "found": True,
            "broken": self.aim.claim is not None,
            "claim": self.claim,
            "gap": None if gap is None else str(Fraction(gap)),
            "over": str(self.aim.limit.over),
            "seeds": [run.seed for run in self.runs],
            "rests_on": list(self.rests_on),
            "minimal": self.minimal,
            "interrupted": self.interrupted,
            "tried": self.tried,
            "command": self.command,
            "report": self.report.record(),
            "instance": json.loads(to_json(self.instance())),
        }

    def instance(self, name: str | None = None) -> Instance:
        """The instance with a name, what it shows, its source, the problem's parameters and the optimum."""
        optimum = self.report.reference.solution.objective
        assert optimum is not None
        broken = "" if self.aim.claim is None else f" The claim {self.claim or 'that was given'} is broken."
        shrunk = "minimal" if self.minimal else "not shrunk to the end"
        document = {
            **self.document,
            "name": name or default_name(self.choice, self.problem),
            "description": f"{self}.{broken}",
            "source": f"mined by {self.command}",
            "labels": {
                "mined": f"by {self.command}; {shrunk}; the optimum {_proof(self.rests_on)}",
                f"optimum.{self.problem}": optimum_label(*optimum),
            },
        }
        if self.parameters:
            values = {
                key: str(held) if isinstance(held, Fraction) else plain(held) for key, held in self.parameters.items()
            }
            document["parameters"] = {self.problem: values}
        loaded = from_document(document)
        assert isinstance(loaded, Instance)
        return loaded

    def save(self, folder: str | Path, name: str | None = None) -> tuple[Path, Path]:
        """Write the instance, `NAME.json`, and `test_NAME.py`, which holds the heuristic to its present result.

        The folder is made if it does not exist.

        Raises
        ------
        UsageError
            If one of them exists already, or the heuristic or the claim has no name by which a test could find it.
        InputError
            If they cannot be written.
        """
        name = name or default_name(self.choice, self.problem)
        files = free_files(folder, name)
        if "<" in self.choice.label or (self.aim.claim is not None and self.claim is None):
            raise UsageError("a test finds heuristic and claim by name: give them as package.module:function")
        test = self.test(name)
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError([Fault("", f"cannot be made: {error.strerror}")], str(folder)) from None
        write_whole(str(files[0]), to_json(self.instance(name)))
        write_whole(str(files[1]), test.encode())
        return files

    def test(self, name: str) -> str:
        """The text of a test: the gap must not grow; a broken claim stays broken, and a failure a failure."""
        claim, seeds = "the gap is no larger than when the instance was mined", f"seeds=[{self.report.seed}]"
        imports, mark = ["from pathlib import Path"], []
        if self.aim.claim is not None:
            claim = "the claim is still broken; where it holds by now, take this test away"
            of_paper = isinstance(self.aim.claim, Statement)
            imports += ["", f"from optsched.measuring.mining import is_broken{', statement' * of_paper}"]
            imports += [] if of_paper else ["from optsched.measuring.studies.choices import users_function"]
            named, of = json.dumps(self.claim), json.dumps(self.choice.label)
            lines = [
                f"reports = {self._call(name, seeds)}",
                f"claim = statement({named}, {of})" if of_paper else f'claim = users_function({named}, "claim")',
                "assert is_broken(claim(reports.measured[0].report))",
            ]
        elif not self.report.feasible:
            claim = "there is a feasible placement: once there is, take the mark away"
            imports += ["", "import pytest"]
            mark = ['@pytest.mark.xfail(strict=True, raises=AssertionError, reason="there is a feasible placement")']
            lines = [self._call(name, seeds)]
        else:
            lines = [self._call(name, self._limit())]
        said = str(self).replace("\\", "\\\\").replace('"""', "'''")
        text = [f'"""Mined: {said}."""', "", *imports, "", "", *mark]
        text += [f"def test_{_identifier(name)}(optsched_gap):", f'    """Tests that {claim}."""']
        return "\n".join([*text, *(f"    {line}" for line in lines)]) + "\n"

    def _call(self, name: str, arguments: str) -> str:
        options = [f"certify={list(self.rests_on) or True}"]
        if (profile := profile_argument(self.profile)) != "exact":
            options.append(f'profile="{profile}"')
        for option, limit in (("run_limit", self.limits.seconds), ("memory_limit", self.limits.memory_mb)):
            if limit is not None:
                options.append(f"{option}={limit:g}")
        called = f'{json.dumps(self.choice.label)}, Path(__file__).with_name("{name}.json"), "{self.problem}"'
        return f"optsched_gap({called}, {arguments}, {', '.join(options)})"

    def _limit(self) -> str:
        """The present limit, as arguments of `optsched_gap`."""
        sort, gap = self.score
        component = self.aim.component
        runs = f"seeds=[{self.report.seed}]"
        if sort == OVER_ZERO:
            # Other runs may differ from the optimum in another component: only the worst is held to its value.
            names = [part.name for part in self.report.problem.components]
            deciding = next(at for at, beyond in enumerate(self.report.absolute_gap or ()) if beyond)
            limit, component = f'max_absolute="{self.aim.gap(self.report)}"', component or names[deciding]
        else:
            relative = self.aim.worst == "relative"
            limit_text = f"{100 * gap}%" if relative and gap.denominator == 1 else f"{gap}"
            limit = f'{"max_gap" if relative else "max_absolute"}="{limit_text}"'
            over = f'over="{self.aim.limit.over}", ' if len(self.runs) > 1 and self.aim.over != "worst" else ""
            feasible = "" if all(run.feasible for run in self.runs) else ", feasible=False"
            runs = f"{over}seeds={[run.seed for run in self.runs]}{feasible}"
        return ", ".join([limit, *([] if component is None else [f'component="{component}"']), runs])


def _proof(kinds: Sequence[str]) -> str:
    return f"rests on {' and '.join(kinds)}" if kinds else "is proved, as optsched certify shows"


# The search -----------------------------------------------------------------------------------------------------------


#: The default number of instances that are tried.
BUDGET = 2000

#: The default limits on the size of instances.
MOST = {"tasks": 12, "nodes": 6}

#: Defaults that the command line need not repeat.
DEFAULTS = {
    "worst": "relative",
    "over": "worst",
    "run-seeds": "0",
    "most-tasks": MOST["tasks"],
    "most-nodes": MOST["nodes"],
    "profile": "exact",
}


def mine(
    heuristic: AnyHeuristic | Choice | None = None,
    problem: str | None = None,
    *,
    budget: int | None = None,
    seed: int = 0,
    run_seeds: int | str | Iterable[int] = (0,),
    over: Any = "worst",
    worst: str = "relative",
    component: str | None = None,
    claim: str | Callable[..., Any] | None = None,
    failures: bool = True,
    parameters: Mapping[str, Any] | None = None,
    family: str | None = None,
    family_parameters: Mapping[str, Any] | None = None,
    most_tasks: int = MOST["tasks"],
    most_nodes: int = MOST["nodes"],
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> Find | None:
    """Search the instance on which a heuristic is worst, or on which a claim is broken, and shrink it.

    Parameters
    ----------
    heuristic
        As for `optsched.gap`, or a text with parameters (`"dl,reading=heartbeat"`).
    problem
        Its name. A claim's id determines heuristic and problem, so that neither is needed.
    budget
        The instances to try, by default 2000, or with a `time_limit` as many as it allows. Shrinking, which ends by
        itself, is not counted.
    seed
        Seed of the search: the same arguments find the same instance, unless `time_limit` stops the search.
    run_seeds
        Seeds of the heuristic's runs on each instance, as for `optsched.study`.
    over
        Which gap of these runs counts: `worst`, `mean`, `median`, or a quantile between 0 and 1.
    worst
        `relative` gaps, of which any gap over 0 (the optimum is 0) is worse than every share; or `absolute` ones.
    component
        Component of the objective; by default the first that differs.
    claim
        Instead of a gap: a function, or `package.module:function`, called with the `GapReport` of each feasible
        placement. True or False says whether the claim holds; a number says how far it is from being broken, and is
        negative if it is broken. A number guides the search; return a large one for instances that the claim does not
        cover. One run that breaks it is enough. Or the id of a claim of a paper (`agosta/3.4-theorem-1`), whose check
        the search tries to make false.
    failures
        Whether a run that fails or has no feasible placement is worse than every gap.
    parameters
        Parameters of the problem.
    family, family_parameters
        Where the search starts; by default at the problem's own family, at small sizes, or at `mixed` if the heuristic
        needs fields that the family's instances lack. Numbers stay within the range that the family draws, or 0 to 10.
    most_tasks, most_nodes
        The largest size of instances.
    profile
        Solver profile, by name or path.
    time_limit
        Total seconds; three tenths are kept for shrinking; the best instance so far is the answer.
    step
        Called with each instance that is tried.

    Returns
    -------
    Find or None
        The worst instance; None if every instance is solved to the optimum, or keeps the claim. An interrupt
        (KeyboardInterrupt) gives the best so far, `Find.interrupted`, if there is any.

    Raises
    ------
    UsageError
        For an unknown problem, heuristic, family, parameter or component, if no instance of the family can be posed, or
        if no tried instance could be judged.

    Examples
    --------
    >>> found = mine("dl,reading=heartbeat", "lsap", claim=lambda report: report.absolute_gap == (0,))
    >>> print(found)
    dl,reading=heartbeat on lsap: locality-cost 1 against the optimum 0, on 1 task and 2 nodes
    """
    function: Any = claim
    named = claim if isinstance(claim, str) else None
    if named is not None and "/" in named:
        function = stated = statement(named, None if heuristic is None else chosen(heuristic).label)
        if problem not in (None, stated.problem):
            raise UsageError(f"{stated.claim} is about {stated.problem}, not {problem}")
        heuristic, problem, parameters = stated.heuristic, stated.problem, parameters or stated.parameters
    elif named is not None:
        function = users_function(named, "claim")
    if heuristic is None or problem is None:
        raise UsageError("give a heuristic and a problem, or the id of a claim")
    choice, name = chosen(heuristic), problem_class(problem).name
    check_served([choice], [name])
    resolved = resolve(name, problem_class(name).parameter_table, parameters or {})
    given = {key: resolved[key] for key in parameters or {}}
    aim = Aim(worst, component, function, failures, over)
    aim.check(name)
    if budget is None and time_limit is None:
        budget = BUDGET
    for what, number in {"budget": budget, "most_tasks": most_tasks, "most_nodes": most_nodes}.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise UsageError(f"{what}={number!r}: give a whole number, 1 or more")
    most = {"tasks": most_tasks, "nodes": most_nodes}
    judge = Judge(name, given, choice, seeds_of(run_seeds), aim, load_profile(profile))
    starts = starts_of(judge, family, family_parameters or {}, most)
    search = Search(judge, starts, most, budget, seeds_of([seed])[0], step)
    interrupted = _spent(search, time_limit)
    if search.best is None:
        why = judge.passed or judge.refused
        if search.tried and not search.posed and why is not None:
            none = f"none of {search.tried} instances from family {starts.family} could be judged"
            raise UsageError(f"{none}: {str(why).splitlines()[0]}")
        return None
    spent = search.searched if budget is None or time_limit is not None else budget
    start = {"family": family, "most-tasks": most_tasks, "most-nodes": most_nodes}
    start |= {"profile": profile_argument(profile), "budget": spent, "seed": seed}
    command = _command(judge, claim, family_parameters or {}, start)
    return Find(
        **vars(search.best),
        problem=name,
        parameters=given,
        choice=choice,
        aim=aim,
        claim=named,
        profile=profile,
        limits=in_force() or Limits(),
        tried=search.tried,
        command=command,
        minimal=search.minimal,
        interrupted=interrupted,
    )


def _spent(search: Search, time_limit: float | None) -> bool:
    """Search and shrink as long as budget and time allow; returns whether an interrupt stopped it after a find."""
    try:
        with suppress(OutOfTime), deadline(time_limit):
            with suppress(OutOfTime), deadline(None if time_limit is None else SEARCHED * time_limit):
                search.run()
            search.shrink()
    except KeyboardInterrupt:
        if search.best is None:
            raise
        return True
    return False


def _command(judge: Judge, claim: Any, drawn_with: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The command line of a search: what differs from the defaults, with `options` last."""
    aim, limits = judge.aim, in_force() or Limits()
    named = claim if isinstance(claim, str) else getattr(claim, "__qualname__", "claim")
    options = {
        "claim": None if claim is None else named,
        "worst": aim.worst,
        "component": aim.component,
        "over": aim.over,
        "run-seeds": ",".join(map(str, judge.seeds)),
        "no-failures": not aim.failures,
        "run-limit": limits.seconds,
        "memory-limit": limits.memory_mb,
        **options,
    }
    words = ["optsched", "mine", "--problem", judge.name, "--heuristic", judge.choice.label]
    for option, values in (("--param", judge.parameters), ("--set", drawn_with)):
        for key, value in values.items():
            words += [option, f"{key}={as_argument(value)}"]
    for key, value in options.items():
        if value is not None and value is not False and value != DEFAULTS.get(key):
            words += [f"--{key}"] + ([] if value is True else [str(value)])
    return shlex.join(words)


# Claims of the registry: a check's statement about each single draw, and how far it is from false ---------------------


#: Functions of an expression that take numbers of one draw; all others combine draws.
_OF_ONE_DRAW = {"abs", "max", "min", "exp", "log", "floor", "ceil"}

#: The margin of a statement outside its region.
_UNSAID = 1000


@dataclass(frozen=True)
class Statement:
    """A check of a claim, called with a `GapReport` like a claim of your own.

    Attributes
    ----------
    claim, check, region
        The id, the check that should become false, and where the claim holds. The search only uses the check.
    problem, parameters, heuristic
        What the check is about.
    """

    claim: str
    check: Check
    problem: str
    parameters: Mapping[str, Any]
    heuristic: str
    region: str

    def __call__(self, report: GapReport) -> Any:
        """How far the statement is from being false on the instance; True if something in it cannot be measured."""
        try:
            ask = answers(report.problem, report.seed or 0)  # its parameters may differ from the check's
            measured = {name: ask(text) for name, text in self.check.measure.items()}
        except (HeuristicFailed, InputError):
            return True
        return margin(self.check.says, measured)


def statement(name: str, heuristic: str | None = None) -> Statement:
    """The statement of a claim that one instance can break.

    Parameters
    ----------
    name
        The id of the claim.
    heuristic
        The heuristic that it should be about; by default that of its first false check, else of its first one.

    Raises
    ------
    UsageError
        If there is no such claim, or no check of it is about this heuristic and about each draw alone.

    Examples
    --------
    >>> statement("agosta/3.4-corollary-1").heuristic
    'labl,lbar=inf'
    """
    one = claim(name)
    found = [(check, text, chosen(text)) for check in one.checks if _of_one_draw(check) for text in _heuristics(check)]
    wanted = None if heuristic is None else chosen(heuristic)
    fitting = [
        (check, text)
        for check, text, choice in found
        if wanted is None or (choice.entry, choice.parameters) == (wanted.entry, wanted.parameters)
    ]
    if not fitting:
        known = ", ".join(dict.fromkeys(choice.label for _, _, choice in found))
        why = f"its statements are about {known}" if found else "none of its checks is about each instance alone"
        raise UsageError(f"{name}: no statement that one instance could break; {why}")
    check, text = min(fitting, key=lambda entry: entry[0].holds)
    problem, parameters = parted(check.problem, "problem")
    return Statement(name, check, problem, parameters, text, one.region)


def _heuristics(check: Check) -> Iterator[str]:
    """The heuristics that a check measures."""
    for text in check.measure.values():
        source = text.rpartition(" of ")[2]
        if source != "optimum" and source not in OF_SNAPSHOTS and "@" not in source:
            yield source


def _of_one_draw(check: Check) -> bool:
    """Whether a check states something about each draw by itself, on a snapshot."""
    if check.judge != "snapshots":
        return False
    nodes = list(ast.walk(ast.parse(check.says, mode="eval")))
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    return called <= _OF_ONE_DRAW and not any(isinstance(node, ast.Subscript) for node in nodes)


def margin(text: str, measured: Mapping[str, Any]) -> Any:
    """How far an expression is from being false: negative exactly if it is false.

    For a comparison it is the difference of the sides, for `a & b` the smaller margin. `a | b` states b where a is
    false, and nothing elsewhere. Any other expression, such as an equation, is a truth value.

    Examples
    --------
    >>> margin("a < b", {"a": 2, "b": 5}), margin("(a > 2) | (b < a)", {"a": 2, "b": 5})
    (Fraction(3, 1), Fraction(-3, 1))
    """
    values = {name: np.array([[value]], dtype=object) for name, value in measured.items()}

    def taken(node: ast.expr) -> Any:
        return np.asarray(evaluated(ast.unparse(node), values), dtype=object).item()

    def of(node: ast.expr) -> Any:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            return min(of(node.left), of(node.right))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return _UNSAID if taken(node.left) else of(node.right)
        truth = bool(taken(node))
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ORDERED)):
            return truth
        difference = abs(Fraction(taken(node.left)) - Fraction(taken(node.comparators[0])))
        return difference if truth else min(-difference, Fraction(-1))

    return of(ast.parse(text, mode="eval").body)
