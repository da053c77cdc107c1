"""The only definition of the file formats `optsched/1` and `optsched-network/1`, and the JSON Schemas that follow.

The records below define the fields of a file and their values. The parts in `optsched.core.parts` define which column
of an `Instance` a field becomes. Reading and writing (`files`, `columns`, `diagnosis`, `archive`, `frames`) follow
both, so a new field needs only its record here and its part there. Conditions beyond the type of a value (references,
idle slots within slots) are checked by the nouns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from optsched.core.arrays import LARGEST
from optsched.core.network import FlowNetwork
from optsched.core.parts import Cluster, Column, Shuffle, State, Workload, columns_of

#: The values of `format` that this package reads.
INSTANCE, NETWORK = "optsched/1", "optsched-network/1"

#: Longest id, in characters: ids are held at fixed width.
LONGEST_ID = 256

Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Integer = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Quantity = Annotated[float, Meta(ge=0, le=LARGEST)]
Instant = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Rate = Annotated[float, Meta(gt=0, le=LARGEST)]


class _Record(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A JSON object in which no other key may appear."""


class Node(_Record):
    """A machine that runs tasks.

    id: Name by which tasks refer to it.
    rack: Name of its rack.
    datacenter: Name of its datacenter.
    type: Name of its type of machine; a task's rate_in may depend on it.
    slots: How many map tasks it runs at once; 1 if not given.
    idle_slots: How many of them are free now; all, if not given. Tasks listed as running take none away.
    reduce_slots: How many reduce tasks it runs at once; 1 if not given.
    idle_reduce_slots: How many of them are free now; all, if not given.
    load: Work that waits there, in units of the work of a local task (Agosta et al.'s initial load); 0 if not given.
    capacity: Amount of each resource, by its name.
    rate_process: Rate at which it processes data, MB/s (Hsu and Freeh's R_p).
    rate_in: Rate at which it can take data in, MB/s (Hsu and Freeh's R_in).
    rate_out: Rate at which it can give data out, MB/s (Hsu and Freeh's R_out).
    out_in_use: Rate at which it gives data out now, MB/s (Hsu and Freeh's r_out); 0 if not given.
    running_rates: Input rates of tasks that run there but are not listed as tasks, MB/s each.
    """

    id: Id
    rack: Id | UnsetType = UNSET
    datacenter: Id | UnsetType = UNSET
    type: Id | UnsetType = UNSET
    slots: Count | UnsetType = UNSET
    idle_slots: Count | UnsetType = UNSET
    reduce_slots: Count | UnsetType = UNSET
    idle_reduce_slots: Count | UnsetType = UNSET
    load: Quantity | UnsetType = UNSET
    capacity: dict[Id, Quantity] | UnsetType = UNSET
    rate_process: Quantity | UnsetType = UNSET
    rate_in: Quantity | UnsetType = UNSET
    rate_out: Quantity | UnsetType = UNSET
    out_in_use: Quantity | UnsetType = UNSET
    running_rates: list[Quantity] | UnsetType = UNSET


class Group(_Record):
    """A user, queue or pool between which slots are shared.

    id: Name by which jobs refer to it.
    weight: Its share; shares are divided by their sum.
    running_tasks: How many of its tasks run but are not listed as tasks.
    """

    id: Id
    weight: Quantity | UnsetType = UNSET
    running_tasks: Count | UnsetType = UNSET


class Job(_Record):
    """Tasks that were submitted together.

    id: Name by which tasks refer to it.
    group: Id of its group.
    arrival: Instant of its submission, s.
    goal: Instant by which it should be done, s (Sharmilarani et al.'s T_goal).
    filter_ratio: Output of a map over its input (Sharmilarani et al.'s FP_J).
    map_time: Time that one of its maps takes, s (Sharmilarani et al.'s mu_j).
    """

    id: Id
    group: Id | UnsetType = UNSET
    arrival: Instant | UnsetType = UNSET
    goal: Instant | UnsetType = UNSET
    filter_ratio: Quantity | UnsetType = UNSET
    map_time: Quantity | UnsetType = UNSET


class Times(_Record, kw_only=True):
    """How long a task takes, by its locality, s.

    node: On a node that holds its input block.
    rack: In the rack of such a node; as off_rack if not given.
    off_rack: Anywhere else, and everywhere if no node holds its block.
    """

    node: Quantity
    rack: Quantity | UnsetType = UNSET
    off_rack: Quantity


class Task(_Record):
    """What is placed on a node.

    id: Name by which placements refer to it.
    job: Id of its job.
    kind: map or reduce; map if not given.
    replicas: Ids of the nodes that hold its input block; none means off-rack everywhere.
    size: Size of its input, MB.
    rate_in: Rate at which it takes data in, MB/s: one number, or one for each type of node.
    demand: Amount of each resource that it needs, by name.
    demand_shuffle: Amount of each resource that its shuffle phase needs, by name.
    bytes_read: How much of its input it has read, MB (Shen et al.'s d_j).
    observed: Id of the node on which it ran in the trace.
    state: pending, running or finished; pending if not given.
    node: Id of the node on which it runs or ran.
    start: Instant at which it started, s.
    duration: Time that it takes, s; in a trace, that it took where it ran.
    times: Time that it takes by its locality, s.
    """

    id: Id
    job: Id | UnsetType = UNSET
    kind: Literal["map", "reduce"] | UnsetType = UNSET
    replicas: list[Id] | UnsetType = UNSET
    size: Quantity | UnsetType = UNSET
    rate_in: Quantity | dict[Id, Quantity] | UnsetType = UNSET
    demand: dict[Id, Quantity] | UnsetType = UNSET
    demand_shuffle: dict[Id, Quantity] | UnsetType = UNSET
    bytes_read: Quantity | UnsetType = UNSET
    observed: Id | UnsetType = UNSET
    state: Literal["pending", "running", "finished"] | UnsetType = UNSET
    node: Id | UnsetType = UNSET
    start: Instant | UnsetType = UNSET
    duration: Quantity | UnsetType = UNSET
    times: Times | UnsetType = UNSET


class ShuffleEntry(_Record):
    """What one map sends to one reduce.

    map: Id of the map task.
    reduce: Id of the reduce task.
    size: Size, MB.
    emitted: How much of it the map has given out so far, MB.
    """

    map: Id
    reduce: Id
    size: Quantity
    emitted: Quantity | UnsetType = UNSET


class PairMatrices(_Record):
    """Matrices with a row for each task and a column for each node, in file order.

    cost: Cost of each pair; may be negative.
    demand: For each resource of the nodes' capacity what the task needs of it on that node.
    allowed: Whether the task may run on that node.
    """

    cost: list[list[Instant]] | UnsetType = UNSET
    demand: dict[Id, list[list[Quantity]]] | UnsetType = UNSET
    allowed: list[list[bool]] | UnsetType = UNSET


class Hops(_Record):
    """Distances by rack.

    node: From a node to itself.
    rack: To another node of the same rack.
    off_rack: To a node of another rack.
    """

    node: Quantity
    rack: Quantity
    off_rack: Quantity


class Link(_Record, rename={"from_": "from"}):
    """An undirected link between two nodes or switches.

    from: Id of a node, or name of a switch.
    to: The other end.
    rate: Rate of the link, MB/s; its length is 1/rate.
    """

    from_: Id
    to: Id
    rate: Rate


class TopologyForms(_Record):
    """How far nodes are apart, in exactly one of four forms.

    distance: Matrix in node order, [from][to] in the direction in which data moves, 0 on the diagonal.
    hops: Distances on a node, in a rack and beyond.
    rate: Matrix of rates in MB/s, [from][to]; the cost is the inverse.
    links: Links of the network; the distance is the sum of 1/rate on the shortest path.
    """

    distance: list[list[Quantity]] | UnsetType = UNSET
    hops: Hops | UnsetType = UNSET
    rate: list[list[Quantity]] | UnsetType = UNSET
    links: list[Link] | UnsetType = UNSET


class _Document(_Record, tag_field="format"):
    """What every document may begin with.

    format: Which format this is.
    name: What to call it.
    description: What it shows.
    source: Where it comes from.
    labels: What was generated, inferred or assumed, by topic.
    """

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    labels: dict[str, str] | UnsetType = UNSET


class InstanceDocument(_Document, kw_only=True, tag=INSTANCE):
    """A snapshot of a cluster and its workload at a scheduling decision.

    time: Instant of the snapshot, s; 0 if not given.
    parameters: Parameters of problems that belong to this instance, by problem and name.
    nodes: The machines.
    groups: Between whom slots are shared.
    jobs: What tasks belong to.
    tasks: What is placed.
    shuffle: What maps send to reduces.
    pairs: Costs, demands and permissions for each pair of task and node.
    topology: How far nodes are apart.
    """

    time: Instant | UnsetType = UNSET
    parameters: dict[str, dict[str, Any]] | UnsetType = UNSET
    nodes: list[Node]
    groups: list[Group] | UnsetType = UNSET
    jobs: list[Job] | UnsetType = UNSET
    tasks: list[Task]
    shuffle: list[ShuffleEntry] | UnsetType = UNSET
    pairs: PairMatrices | UnsetType = UNSET
    topology: TopologyForms | UnsetType = UNSET


class NetworkNode(_Record):
    """A node of a flow network.

    id: Name by which arcs refer to it.
    supply: What enters there, or leaves if negative; 0 if not given. The supplies add up to 0.
    """

    id: Id
    supply: Integer | UnsetType = UNSET


class Arc(_Record):
    """A directed arc; several may join the same two nodes.

    id: Its name; its position in the list (counted from 0) if not given.
    tail: Id of the node that it leaves.
    head: Id of the node that it enters.
    lower: Least flow; 0 if not given.
    capacity: Greatest flow; null or absent means that there is no limit.
    cost: Cost of one unit of flow; 0 if not given.
    """

    tail: Id
    head: Id
    id: Id | UnsetType = UNSET
    lower: Count | UnsetType = UNSET
    capacity: Count | UnsetType | None = UNSET
    cost: Integer | UnsetType = UNSET


class NetworkDocument(_Document, kw_only=True, tag=NETWORK):
    """A minimum-cost-flow problem.

    nodes: Where flow enters and leaves.
    arcs: Where it goes.
    """

    nodes: list[NetworkNode]
    arcs: list[Arc]


def _columns(part: tuple[type, ...], records: Mapping[str, type[Struct]]) -> dict[str, tuple[Column, ...]]:
    """The columns of each table, in the order of the fields of its records."""
    held = {(column.table, column.field): column for kind in part for column in columns_of(kind)}
    return {
        table: tuple(held[table, name] for name in record.__struct_fields__ if name != "id")
        for table, record in records.items()
    }


#: The tables of an instance in the order of reading, with their records.
RECORDS: dict[str, type[Struct]] = {"nodes": Node, "groups": Group, "jobs": Job, "tasks": Task, "shuffle": ShuffleEntry}

#: The columns of each table, without `id`.
TABLES = _columns((Cluster, Workload, Shuffle, State), RECORDS)

#: The tables of a network, likewise.
NETWORK_TABLES = _columns((FlowNetwork,), {"nodes": NetworkNode, "arcs": Arc})

#: The first fields of both kinds of documents.
HEADER: tuple[str, ...] = _Document.__struct_fields__


def schema(kind: type[InstanceDocument] | type[NetworkDocument]) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a document, with the meaning of each field.

    The schema has the types and limits of single values; `optsched` checks references, sums and shapes.
    """
    body = msgspec.json.schema(kind)
    for definition in body["$defs"].values():
        summary, _, explained = definition.pop("description").partition("\n")
        definition["description"] = summary
        meanings = dict(re.findall(r"^\s*(\w+): (.+)$", f"{_Document.__doc__}\n{explained}", flags=re.MULTILINE))
        for field, value in definition["properties"].items():
            value["description"] = meanings[field]
    tag = INSTANCE if kind is InstanceDocument else NETWORK
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": tag, **body}


def schema_text(kind: type[InstanceDocument] | type[NetworkDocument]) -> str:
    """The schema as published in `optsched/instances/documents/schemas/`."""
    return json.dumps(schema(kind), indent=2) + "\n"


#: The place of each published schema. `python -m optsched.instances.documents.format` writes them again.
SCHEMAS: dict[type[InstanceDocument] | type[NetworkDocument], Path] = {
    InstanceDocument: Path(__file__).with_name("schemas") / "instance.schema.json",
    NetworkDocument: Path(__file__).with_name("schemas") / "network.schema.json",
}

if __name__ == "__main__":
    for document, path in SCHEMAS.items():
        path.write_text(schema_text(document), encoding="utf-8")
