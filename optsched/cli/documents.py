"""`optsched describe`, `generate` and `import`: instances as files, read, drawn and imported; nothing is solved."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments
from optsched.cli.output import tell_assumed
from optsched.core.brief import cited
from optsched.core.errors import Fault, InputError, UsageError
from optsched.core.kinds import expected, imported_by
from optsched.measuring.printing import Table

if TYPE_CHECKING:
    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.instances.importers import Importer, Option

#: How many of a problem's missing fields a table shows, and JSON.
SHOWN_IN_TABLE, SHOWN_IN_JSON = 3, 100


# Describe ---------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("instance", type=arguments.INSTANCE)
@arguments.format_option("table", "json")
def describe(instance: str, form: str) -> None:
    """Sizes and labels of an instance, which problems apply, and which fields the others miss."""
    from optsched.core.instance import Instance

    loaded = arguments.load_any(instance)
    fields = ("name", "description", "source", "sha256", "time")
    known = {name: getattr(loaded, name) for name in fields if hasattr(loaded, name)}
    known |= {"sizes": _sizes(loaded), "labels": dict(loaded.labels)}
    if isinstance(loaded, Instance):
        known["parameters"] = {problem: dict(given) for problem, given in loaded.parameters.items()}
    known["problems"] = list(_problems(loaded))
    if form == "json":
        arguments.emit_json(known)
        return
    rows = [(name, str(known[name])) for name in fields if name in known]
    rows += [(name, str(size)) for name, size in known["sizes"].items()]
    rows += [(f"label {name}", text) for name, text in known["labels"].items()]
    for problem, given in known.get("parameters", {}).items():
        rows += [(f"parameter {problem}.{name}", str(setting)) for name, setting in given.items()]
    for entry in known["problems"]:
        shown = entry["missing"][:SHOWN_IN_TABLE]
        more = entry["missing_count"] - len(shown)
        missing = "; ".join(shown) + (f"; and {more} more" if more else "")
        rows.append((f"problem {entry['name']}", "applies" if entry["applies"] else missing))
    arguments.emit_table(Table(("", "value"), [row for row in rows if row[1]]))


def _sizes(loaded: Instance | FlowNetwork) -> dict[str, int]:
    """How many there are of each thing in an instance or a network."""
    import numpy as np

    from optsched.core.instance import KINDS, MAP, PENDING, STATES, Instance

    if not isinstance(loaded, Instance):
        supply = loaded.supply
        return {"nodes": len(loaded), "arcs": loaded.arcs, "supply": int(supply[supply > 0].sum())}
    cluster, workload, state = loaded.cluster, loaded.workload, loaded.state
    maps = workload.kind == MAP
    return {
        "nodes": len(cluster),
        "racks": len(cluster.rack_ids),
        "datacenters": len(cluster.datacenter_ids),
        "node types": len(cluster.type_ids),
        "slots": int(cluster.slots.sum()),
        "idle slots": int(state.idle_slots.sum()),
        "reduce slots": int(cluster.reduce_slots.sum()),
        "idle reduce slots": int(state.idle_reduce_slots.sum()),
        "tasks": len(workload),
        **{f"{kind}s": int(np.count_nonzero(workload.kind == code)) for code, kind in enumerate(KINDS)},
        **{f"{name} maps": int(np.count_nonzero(maps & (state.status == code))) for code, name in enumerate(STATES)},
        "pending maps without replica": int(
            np.count_nonzero(maps & (state.status == PENDING) & (workload.replicas.lengths == 0))
        ),
        "replicas": int(workload.replicas.lengths.sum()),
        "observed placements": int(np.count_nonzero(workload.observed >= 0)),
        "jobs": len(workload.job_ids),
        "groups": len(workload.group_ids),
    }


def _problems(loaded: Instance | FlowNetwork) -> Iterator[dict[str, Any]]:
    """Which problems can be posed on it, and what the others miss."""
    from optsched.problems import PROBLEMS

    for name, problem in PROBLEMS.items():
        if isinstance(loaded, problem.posed_on):
            faults = problem.applies(loaded)
            shown = [str(fault) for fault in faults[:SHOWN_IN_JSON]]
            yield {"name": name, "applies": not faults, "missing_count": len(faults), "missing": shown}


# Generate ---------------------------------------------------------------------------------------------------------


class _Families(arguments.Commands):
    """A group with a command for each family, made when it is asked for; the family's parameters are its options."""

    title, noun = "Families", "family"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-"):  # options may also stand before the family
            at = next((row for row, word in enumerate(args) if word in self.list_commands(ctx)), 0)
            args = [*args[at : at + 1], *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)

    def names(self) -> Collection[str]:
        from optsched.instances.generate import FAMILIES

        return FAMILIES

    def made(self, name: str) -> click.Command:
        from optsched.instances.generate import FAMILIES

        family = FAMILIES[name]
        helps = {key: f"{cited(known.doc)} ({_default(known.default)})" for key, known in family.parameters.items()}
        helps |= {"seed": "The same seed gives the same instance. (0)", "output": _OUTPUT}
        kinds = {"output": arguments.FILE}  # all others are plain texts
        return click.Command(
            name,
            {"token_normalize_func": lambda token: token.replace("_", "-")},
            params=[
                click.Option([f"--{key.replace('_', '-')}"], help=text, multiple=True, type=kinds.get(key))
                for key, text in helps.items()
            ],
            callback=partial(_generate, name),
            help=cited(f"{family.description} {family.paper}").strip(),
        )


#: The help of `--output` of `generate` and `import`.
_OUTPUT = "A .json, .json.gz or .npz file; by default JSON goes to stdout."


def _default(default: Any) -> str:
    if isinstance(default, tuple):
        return ",".join(f"{entry:g}" for entry in default)
    return f"{default:g}" if isinstance(default, float) else str(default)


@click.group("generate", cls=_Families, subcommand_metavar="FAMILY [OPTIONS]")
def generate() -> None:
    """Draw an instance of a FAMILY; its parameters are the options that `generate FAMILY --help` shows."""


def _generate(family: str, /, **options: tuple[str, ...]) -> None:
    """Draw an instance, to stdout or to a file."""
    from optsched.instances.generate import generate

    for name, texts in options.items():
        if len(texts) > 1:
            raise UsageError(f"generate {family}: --{name.replace('_', '-')} is given twice")
    values = {name: texts[0] for name, texts in options.items() if texts}
    output = values.pop("output", None)
    drawn = generate(family, values.pop("seed", "0"), **values)
    _emit(drawn, output)
    tell_assumed([drawn])


def _emit(instance: Instance | FlowNetwork, output: str | None) -> None:
    """The instance or network as a file, or as JSON on stdout."""
    from optsched.instances.files import save, to_json

    if output is None:
        arguments.emit(to_json(instance).decode())
    else:
        save(instance, output)


# Import -----------------------------------------------------------------------------------------------------------


class _Importers(arguments.Commands):
    """A group with a command for each importer, made when it is asked for."""

    def names(self) -> Collection[str]:
        from optsched.instances.importers import IMPORTERS

        return IMPORTERS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.names())

    def made(self, name: str) -> click.Command:
        from optsched.instances.importers import IMPORTERS

        importer = IMPORTERS[name]
        parameters: list[click.Parameter] = [
            click.Argument(["file"], type=arguments.FILE),
            *map(_option, importer.options),
            click.Option(["--name"], metavar="TEXT", help="Name of the instance; by default after the file."),
            click.Option(["--output"], help=_OUTPUT, type=arguments.FILE),
        ]
        if importer.splits:
            text = "Write each job as DIR/<name>.json instead."
            parameters.append(click.Option(["--split-jobs", "folder"], metavar="DIR", help=text, type=arguments.FOLDER))
        return click.Command(name, params=parameters, callback=partial(_import, importer), help=importer.title)


@click.group("import", cls=_Importers)
def import_() -> None:
    """Make instances of what other tools recorded."""


def _option(option: Option) -> click.Option:
    kind: click.ParamType[Any] = click.STRING
    if option.choices:
        kind = click.Choice(option.choices)
    elif option.lowest is not None:
        kind = click.IntRange(option.lowest)
    elif option.metavar == arguments.FILE.name:
        kind = arguments.FILE
    return click.Option(
        [option.written, option.name],
        type=kind,
        default=option.default,
        show_default=option.default is not None,
        multiple=option.several,
        metavar=option.metavar,
        help=option.doc,
    )


def _import(importer: Importer, /, file: str, output: str | None, folder: str | None = None, **options: Any) -> None:
    """What a file holds, to stdout, to a file, or each job to one of a folder; and what was odd in it."""
    from optsched.instances.files import from_document

    if output is not None and folder is not None:
        raise UsageError("--output and --split-jobs exclude each other: one file, or one a job")
    if importer.splits:
        options["split"] = folder is not None
    paths = [(file, ""), *((path, f"--{name}") for name, path in options.items() if isinstance(path, str))]
    with ExitStack() as readings:  # an error about a file of another kind says what that file is
        for path, option in paths:
            if known := [kind.name for kind in imported_by(importer.name, option)]:
                readings.enter_context(expected(path, known[0], known))
        imported = importer.read(file, **options)
    name = importer.name
    made = [from_document(document, f"{file}: {document.get('name', name)}") for document in imported.documents]
    if folder is None:
        _emit(made[0], output)
    else:
        _save_all(made, folder)
    for text in imported.notes:
        arguments.note(text)
    tell_assumed(made)


def _save_all(made: Sequence[Instance | FlowNetwork], folder: str) -> None:
    """Each as a file of a folder; if writing breaks off, a message says how many files there are."""
    from optsched.instances.files import save

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError([Fault("", f"is no folder to write to: {reason}")], folder) from None
    written = 0
    try:
        for instance in made:
            save(instance, Path(folder, re.sub(r"[^\w.-]+", "_", instance.name) + ".json"))
            written += 1
    except (KeyboardInterrupt, InputError):
        arguments.note(f"{written} of {len(made)} jobs are written to {folder}", "warning")
        raise
