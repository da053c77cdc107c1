"""The importers: they convert records of other tools to the instance format; one module for each format.

A record has an importer's name, its options, and the reader of its files; `optsched import` has a command for each. The
reader is imported when it is first used. `foreign` has what the readers share.

Other packages add importers as entry points of the group `optsched.importers`; these come after the shipped ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from optsched.core.errors import OptschedError, UsageError, described, nearest
from optsched.core.outside import Listed, raised

__all__ = ["GROUP", "IMPORTERS", "Imported", "Importer", "Option"]

#: Entry points of this group are importers.
GROUP = "optsched.importers"

#: The options of every importer's command.
_OF_ALL = ("file", "name", "output", "split", "folder", "help")


@dataclass(frozen=True, slots=True)
class Imported:
    """Documents in the instance format, and notes on oddities of the files, one sentence each."""

    documents: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """An option of an importer.

    Attributes
    ----------
    name
        The reader's parameter for its value.
    doc
        One line, for the help.
    default
        Its default value; the help shows it unless it is None.
    choices
        The allowed texts; empty: any.
    lowest
        The least number if it is a whole number; None: it is a text.
    several
        Whether it may be repeated; the reader gets a tuple.
    flag
        Its name on the command line; by default `--` and the name.
    metavar
        The name of its value in the help.
    """

    name: str
    doc: str
    default: str | int | None = None
    choices: tuple[str, ...] = ()
    lowest: int | None = None
    several: bool = False
    flag: str | None = None
    metavar: str | None = None

    @property
    def written(self) -> str:
        """The option as on the command line."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    def check(self, value: Any) -> None:
        """Raise UsageError for an invalid value; None means not given.

        >>> Option("nodes", "Nodes.", 20, lowest=1).check(20)
        """
        if self.several or value is None:
            return
        if self.choices and value not in self.choices:
            raise UsageError(f"{self.name}={value!r}: {nearest(str(value), self.choices)}")
        if self.lowest is not None:
            if isinstance(value, bool) or not isinstance(value, int):
                raise UsageError(f"{self.name} is {value!r}; it must be a whole number")
            if value < self.lowest:
                raise UsageError(f"{self.name} is {value}; it must be {self.lowest} or more")


@dataclass(frozen=True, slots=True)
class Importer:
    """A format that is imported.

    Attributes
    ----------
    name
        The command: `optsched import NAME FILE`.
    title
        What it does, in a sentence; paragraphs after it have the rest of its help.
    reader
        `(file, *, name, **options) -> Imported`, or its place: `package.module:function`. `name` is that of the
        instance, None for the file's. If it `splits`, it also takes `split`.
    options
        Its own options, in the order of the help.
    splits
        Whether it can make a document of each job (`--split-jobs`, which sets `split`); else it makes one document.

    Raises
    ------
    UsageError
        If two options have the same name, or one has the name of a common option.
    """

    name: str
    title: str
    reader: str | Callable[..., Imported]
    options: tuple[Option, ...] = ()
    splits: bool = False

    def __post_init__(self) -> None:
        named = [*_OF_ALL, *(option.name for option in self.options)]
        flags = [f"--{name}" for name in _OF_ALL] + [option.written for option in self.options]
        for names in (named, flags):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise UsageError(f'importer "{self.name}": there are two options {twice}; rename one')

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise UsageError for an option with an invalid value; readers check, too, as they may be called directly."""
        for option in self.options:
            option.check(values.get(option.name))

    def read(self, file: str | os.PathLike[str], **options: Any) -> Imported:
        r"""The documents of a file; of `splits` with `split=True` any number, else one.

        InputError for any fault of the file; UsageError for invalid values of options, or options that cannot be
        combined; OptschedError, with the place, if the reader of another package raised something else, or returned no
        documents.
        """
        self.check(options)
        if isinstance(self.reader, str):
            module, _, function = self.reader.partition(":")
            found: Imported = getattr(import_module(module), function)(file, **options)
            return found
        try:
            found = self.reader(file, **options)
        except OptschedError:
            raise
        except Exception as error:
            raise OptschedError(f'importer "{self.name}" raised {raised(error)}') from error
        documents = found.documents if isinstance(found, Imported) else None
        if documents is None or not all(isinstance(document, dict) for document in documents):
            raise OptschedError(f'importer "{self.name}" answered {described(found)}; give an Imported of documents')
        if len(documents) != 1 and not options.get("split"):
            raise OptschedError(f'importer "{self.name}" answered {len(documents)} documents; give one')
        return found


_SENSE = Option(
    "sense", "Whether the total cost is to be least or most: the file does not say.", "min", choices=("min", "max")
)

_SHIPPED = {
    entry.name: entry
    for entry in (
        Importer(
            "rumen",
            "Import a Hadoop Rumen trace (.json, .json.gz).\n\n"
            "What the trace leaves open is labelled in the instance; what is odd in it is reported on stderr.",
            "optsched.instances.importers.rumen:import_rumen",
            (
                Option("topology", "Rumen's file of racks and hosts.", metavar="FILE"),
                Option("jobs", "Only this job; several are pooled.", several=True, flag="--job", metavar="ID"),
                Option(
                    "slots",
                    "Slots of each node: those that the jobs used, the most ever used at once, or N.",
                    "observed",
                    metavar="observed|inferred|N",
                ),
                Option(
                    "shuffle",
                    "What maps send to reduces: nothing, or assumed in proportion to what they gave out; with hops by "
                    "rack.",
                    "none",
                    choices=("none", "proportional"),
                ),
                Option(
                    "maps",
                    "Whether the maps wait, or have run where the trace says, so that only reduces wait.",
                    "waiting",
                    choices=("waiting", "finished"),
                ),
                Option(
                    "unsuccessful",
                    "Whether tasks that never succeeded wait, or are left out; with observed slots they are left out.",
                    "keep",
                    choices=("keep", "leave-out"),
                ),
            ),
            splits=True,
        ),
        Importer(
            "dimacs",
            "Import a DIMACS minimum-cost-flow file as a flow network.",
            "optsched.instances.importers.libraries:import_dimacs",
        ),
        Importer(
            "orlib-gap",
            "Import an OR-Library generalized-assignment file.",
            "optsched.instances.importers.libraries:import_orlib_gap",
            (
                _SENSE,
                Option("number", "Which set of a file with several.", lowest=1, flag="--set", metavar="N"),
            ),
        ),
        Importer(
            "orlib-assign",
            "Import an OR-Library assignment file: every item to a place of its own.",
            "optsched.instances.importers.libraries:import_orlib_assign",
            (_SENSE,),
        ),
        Importer(
            "sls",
            "Import a job file of Hadoop's Scheduler Load Simulator.\n\n"
            "What is inferred or assumed is labelled in the instance; what is odd is reported on stderr.",
            "optsched.instances.importers.sls:import_sls",
            (
                Option("nodes", "SLS's file of nodes; by default the hosts that the jobs name.", metavar="FILE"),
                Option("queues", "A Fair Scheduler allocation file, for the queues' weights.", metavar="FILE"),
                Option(
                    "slots",
                    "Slots of each node: the most of a kind that ran at once on any node, or N.",
                    "inferred",
                    metavar="inferred|N",
                ),
            ),
        ),
        Importer(
            "swim",
            "Import a SWIM workload: arrivals and sizes are recorded, the rest is generated and labelled so.",
            "optsched.instances.importers.swim:import_swim",
            (
                Option("nodes", "Nodes of the generated cluster.", 20, lowest=1),
                Option("slots", "Slots of each.", 2, lowest=0),
                Option("replicas", "Of each map's block.", 3, lowest=0),
                Option("block", "Input of a map.", 128, lowest=1, metavar="MB"),
                Option("first", "Only the first N jobs.", lowest=1, metavar="N"),
                Option("seed", "Of the replicas.", 0, lowest=0),
                Option("rate", "MB that a task goes through in a second: tasks have times.", lowest=1, metavar="MB"),
                Option("remote", "Percent that a map then takes longer off its data.", 20, lowest=0),
            ),
        ),
    )
}

#: Every importer by its name, those of other packages last.
IMPORTERS: Mapping[str, Importer] = Listed(GROUP, Importer, _SHIPPED, _SHIPPED.__getitem__)
