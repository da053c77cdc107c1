"""`optsched describe`, `generate` and `import`: instances as files, read, drawn and imported; nothing is solved."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments
from optsched.errors import Fault, InputError, UsageError, nearest

if TYPE_CHECKING:
    from optsched.instance import Instance
    from optsched.instances.importers.foreign import Imported
    from optsched.network import FlowNetwork

__all__ = ["describe", "generate", "import_"]

#: How many of a problem's missing fields a table shows, and JSON.
SHOWN_IN_TABLE, SHOWN_IN_JSON = 3, 100


# Describe ---------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("instance")
@arguments.format_option("table", "json")
def describe(instance: str, form: str) -> None:
    """Sizes and labels of an instance, which problems apply, and which fields the others miss."""
    from optsched.network import FlowNetwork
    from optsched.report import Table

    loaded = arguments.load_any(instance)
    known = _network(loaded) if isinstance(loaded, FlowNetwork) else _instance(loaded)
    if form == "json":
        arguments.emit_json(known)
        return
    rows: list[tuple[str, str]] = [
        (name, str(known[name])) for name in ("name", "description", "source", "sha256", "time") if name in known
    ]
    rows += [(name, str(size)) for name, size in known["sizes"].items()]
    rows += [(f"label {name}", text) for name, text in known["labels"].items()]
    for problem, given in known.get("parameters", {}).items():
        rows += [(f"parameter {problem}.{name}", str(setting)) for name, setting in given.items()]
    for entry in known.get("problems", ()):
        rows.append((f"problem {entry['name']}", "applies" if entry["applies"] else _missing(entry)))
    arguments.emit_table(Table(("", "value"), [row for row in rows if row[1]]))


def _missing(entry: dict[str, Any]) -> str:
    shown = entry["missing"][:SHOWN_IN_TABLE]
    more = entry["missing_count"] - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _instance(instance: Instance) -> dict[str, Any]:
    """What there is to say of an instance."""
    import numpy as np

    from optsched.instance import KINDS, MAP, PENDING, STATES
    from optsched.problems import PROBLEMS

    cluster, workload, state = instance.cluster, instance.workload, instance.state
    maps = workload.kind == MAP
    sizes = {
        "nodes": len(cluster),
        "racks": len(cluster.rack_ids),
        "datacenters": len(cluster.datacenter_ids),
        "node types": len(cluster.type_ids),
        "slots": int(cluster.slots.sum()),
        "idle slots": int(state.idle_slots.sum()),
        "reduce slots": int(cluster.reduce_slots.sum()),
        "idle reduce slots": int(state.idle_reduce_slots.sum()),
        "tasks": len(workload),
        **{f"{kind}s": int(np.count_nonzero(workload.kind == place)) for place, kind in enumerate(KINDS)},
        **{f"{name} maps": int(np.count_nonzero(maps & (state.status == place))) for place, name in enumerate(STATES)},
        "pending maps without replica": int(
            np.count_nonzero(maps & (state.status == PENDING) & (workload.replicas.lengths == 0))
        ),
        "replicas": int(workload.replicas.lengths.sum()),
        "observed placements": int(np.count_nonzero(workload.observed >= 0)),
        "jobs": len(workload.job_ids),
        "groups": len(workload.group_ids),
    }
    problems = []
    for name, problem in PROBLEMS.items():
        if not isinstance(instance, problem.posed_on):
            continue
        faults = problem.applies(instance)
        shown = [str(fault) for fault in faults[:SHOWN_IN_JSON]]
        problems.append({"name": name, "applies": not faults, "missing_count": len(faults), "missing": shown})
    return {
        "name": instance.name,
        "description": instance.description,
        "source": instance.source,
        "sha256": instance.sha256,
        "time": instance.time,
        "sizes": sizes,
        "labels": dict(instance.labels),
        "parameters": {problem: dict(given) for problem, given in instance.parameters.items()},
        "problems": problems,
    }


def _network(network: FlowNetwork) -> dict[str, Any]:
    """What there is to say of a flow network."""
    from optsched.problems import PROBLEMS

    problems = [
        {"name": name, "applies": True, "missing_count": 0, "missing": []}
        for name, problem in PROBLEMS.items()
        if isinstance(network, problem.posed_on)
    ]
    return {
        "name": network.name,
        "description": network.description,
        "source": network.source,
        "sha256": network.sha256,
        "sizes": {"nodes": len(network), "arcs": network.arcs, "supply": int(network.supply[network.supply > 0].sum())},
        "labels": dict(network.labels),
        "problems": problems,
    }


# Generate ---------------------------------------------------------------------------------------------------------


class _Generate(click.Command):
    """A command whose help lists the families; they are loaded for that, or to draw, and not before."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from optsched.instances.generate import FAMILIES

        named = next((FAMILIES[text] for text in ctx.meta.get("family", ()) if text in FAMILIES), None)
        for family in [named] if named else FAMILIES.values():
            with formatter.section(f"{family.name}: {family.description} {family.paper}".strip()):
                formatter.write_dl(
                    [
                        (f"--{name.replace('_', '-')}", f"{parameter.doc} ({_default(parameter.default)})")
                        for name, parameter in family.parameters.items()
                    ]
                    or [("", "no parameters but --seed")]
                )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["family"] = tuple(args)
        return super().parse_args(ctx, args)


def _default(default: Any) -> str:
    if isinstance(default, tuple):
        return ",".join(f"{entry:g}" for entry in default)
    return f"{default:g}" if isinstance(default, float) else str(default)


@click.command(cls=_Generate, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("family")
@click.option("--seed", default="0", show_default=True, help="The same seed gives the same instance.")
@click.option("--output", metavar="FILE", help="A .json, .json.gz or .npz file; by default JSON goes to stdout.")
@click.pass_context
def generate(ctx: click.Context, family: str, seed: str, output: str | None) -> None:
    """Draw an instance of a FAMILY.

    The family's own parameters are options too, as shown below (`generate FAMILY --help`: of that one only).
    """
    from optsched.cli.notes import tell_assumed
    from optsched.instances.generate import FAMILIES, generate

    if family not in FAMILIES:
        raise UsageError(f'there is no family "{family}"; {nearest(family, list(FAMILIES))}')
    drawn = generate(family, seed, **_pairs(family, ctx.args, list(FAMILIES[family].parameters)))
    _emit(drawn, output)
    tell_assumed([drawn])


def _pairs(family: str, rest: list[str], known: list[str]) -> dict[str, str]:
    """Values from `--name value` and `--name=value`; UsageError with the nearest name."""
    values: dict[str, str] = {}
    words = iter(rest)
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name:
            raise UsageError(f'generate {family}: what is "{word}"? write parameters as --name value')
        parameter = name.replace("-", "_")
        if parameter not in known:
            options = [f"--{entry.replace('_', '-')}" for entry in [*known, "seed", "output"]]
            raise UsageError(f"generate {family}: there is no option --{name}; {nearest(f'--{name}', options)}")
        if parameter in values:
            raise UsageError(f"generate {family}: --{name} is given twice")
        given = value if equals else next(words, None)
        if given is None:
            raise UsageError(f"generate {family}: --{name} needs a value")
        values[parameter] = given
    return values


def _emit(instance: Instance | FlowNetwork, output: str | None) -> None:
    """The instance or network as a file, or as JSON on stdout."""
    from optsched.instances.files import save, to_json

    if output is None:
        arguments.emit(to_json(instance).decode())
    else:
        save(instance, output)


# Import -----------------------------------------------------------------------------------------------------------


@click.group("import", cls=arguments.Commands)
def import_() -> None:
    """Make instances of what other tools recorded."""


name_option = click.option("--name", metavar="TEXT", help="Name of the instance; by default after the file.")
output_option = click.option(
    "--output", metavar="FILE", help="A .json, .json.gz or .npz file; by default JSON goes to stdout."
)
sense_option = click.option(
    "--sense",
    type=click.Choice(["min", "max"]),
    default="min",
    show_default=True,
    help="Whether the total cost is to be least or most: the file does not say.",
)


def _emit_imported(imported: Imported, source: str, output: str | None) -> None:
    """The one document of a file, and what was odd in it."""
    from optsched.cli.notes import tell_assumed
    from optsched.instances.files import from_document

    (document,) = imported.documents
    made = from_document(document, f"{source}: {document['name']}")
    _emit(made, output)
    for text in imported.notes:
        arguments.note(text)
    tell_assumed([made])


@import_.command()
@click.argument("trace", metavar="FILE")
@click.option("--topology", metavar="FILE", help="Rumen's file of racks and hosts.")
@click.option("--job", "jobs", multiple=True, metavar="ID", help="Only this job; several are pooled.")
@click.option(
    "--slots",
    default="observed",
    show_default=True,
    metavar="observed|inferred|N",
    help="Slots of each node: those that the jobs used, the most ever used at once, or N.",
)
@click.option(
    "--shuffle",
    default="none",
    show_default=True,
    metavar="none|proportional",
    help="What maps send to reduces: nothing, or assumed in proportion to what they gave out; with hops by rack.",
)
@click.option(
    "--maps",
    default="waiting",
    show_default=True,
    metavar="waiting|finished",
    help="Whether the maps wait, or have run where the trace says, so that only reduces wait.",
)
@name_option
@output_option
@click.option("--split-jobs", "split", metavar="DIR", help="Write each job as DIR/<name>.json instead.")
def rumen(
    trace: str,
    topology: str | None,
    jobs: tuple[str, ...],
    slots: str,
    shuffle: str,
    maps: str,
    name: str | None,
    output: str | None,
    split: str | None,
) -> None:
    """Import a Hadoop Rumen trace (.json, .json.gz).

    What the trace leaves open is labelled in the instance; what is odd in it is told on stderr.
    """
    from optsched.cli.notes import tell_assumed
    from optsched.instance import Instance
    from optsched.instances.files import from_document, save
    from optsched.instances.importers.rumen import import_rumen

    if output is not None and split is not None:
        raise UsageError("--output and --split-jobs exclude each other: one file, or one a job")
    imported = import_rumen(trace, topology, jobs, slots, name, split is not None, shuffle, maps)
    instances = [from_document(document, f"{trace}: {document['name']}") for document in imported.documents]
    if split is not None:
        _make_folder(split)
    written = 0
    try:
        for instance in instances:
            assert isinstance(instance, Instance)
            if split is None:
                _emit(instance, output)
            else:
                save(instance, Path(split, re.sub(r"[^\w.-]+", "_", instance.name) + ".json"))
            written += 1
    except (KeyboardInterrupt, InputError):
        if split is not None:
            arguments.note(f"{written} of {len(instances)} jobs are written to {split}", "warning")
        raise
    for text in imported.notes:
        arguments.note(text)
    tell_assumed(instances)


@import_.command()
@click.argument("file")
@name_option
@output_option
def dimacs(file: str, name: str | None, output: str | None) -> None:
    """Import a DIMACS minimum-cost-flow file as a flow network."""
    from optsched.instances.importers.dimacs import import_dimacs

    _emit_imported(import_dimacs(file, name), file, output)


@import_.command("orlib-gap")
@click.argument("file")
@sense_option
@click.option("--set", "number", type=click.IntRange(1), metavar="N", help="Which set of a file with several.")
@name_option
@output_option
def orlib_gap(file: str, sense: str, number: int | None, name: str | None, output: str | None) -> None:
    """Import an OR-Library generalized-assignment file."""
    from optsched.instances.importers.orlib import import_orlib_gap

    _emit_imported(import_orlib_gap(file, sense, number, name), file, output)


@import_.command("orlib-assign")
@click.argument("file")
@sense_option
@name_option
@output_option
def orlib_assign(file: str, sense: str, name: str | None, output: str | None) -> None:
    """Import an OR-Library assignment file: every item to a place of its own."""
    from optsched.instances.importers.orlib import import_orlib_assign

    _emit_imported(import_orlib_assign(file, sense, name), file, output)


@import_.command()
@click.argument("jobs", metavar="FILE")
@click.option("--nodes", metavar="FILE", help="SLS's file of nodes; by default the hosts that the jobs name.")
@click.option("--queues", metavar="FILE", help="A Fair Scheduler allocation file, for the queues' weights.")
@click.option(
    "--slots",
    default="inferred",
    show_default=True,
    metavar="inferred|N",
    help="Slots of each node: the most of a kind that ran at once on any node, or N.",
)
@name_option
@output_option
def sls(jobs: str, nodes: str | None, queues: str | None, slots: str, name: str | None, output: str | None) -> None:
    """Import a job file of Hadoop's Scheduler Load Simulator.

    What is inferred or assumed is labelled in the instance; what is odd is told on stderr.
    """
    from optsched.instances.importers.sls import import_sls

    _emit_imported(import_sls(jobs, nodes, queues, slots, name), jobs, output)


@import_.command()
@click.argument("file")
@click.option("--nodes", type=click.IntRange(1), default=20, show_default=True, help="Nodes of the generated cluster.")
@click.option("--slots", type=click.IntRange(0), default=2, show_default=True, help="Slots of each.")
@click.option("--replicas", type=click.IntRange(0), default=3, show_default=True, help="Of each map's block.")
@click.option("--block", type=click.IntRange(1), default=128, show_default=True, metavar="MB", help="Input of a map.")
@click.option("--first", type=click.IntRange(1), metavar="N", help="Only the first N jobs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the replicas.")
@name_option
@output_option
def swim(
    file: str,
    nodes: int,
    slots: int,
    replicas: int,
    block: int,
    first: int | None,
    seed: int,
    name: str | None,
    output: str | None,
) -> None:
    """Import a SWIM workload: arrivals and sizes are recorded, the rest is generated and labelled so."""
    from optsched.instances.importers.swim import import_swim

    _emit_imported(import_swim(file, nodes, slots, replicas, block, first, seed, name), file, output)


def _make_folder(path: str) -> None:
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError([Fault("", f"is no folder to write to: {reason}")], path) from None
