"""Tests of reading and writing: round trips, bytes, what each kind of file may hold."""

from __future__ import annotations

import copy
import gzip
import json
import os
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from instance_documents import FULL, NETWORK, documents, network_documents

from optsched.errors import InputError
from optsched.instance import Cluster, Instance, Workload
from optsched.instances import files
from optsched.instances.documents import columns
from optsched.instances.documents.columns import MOST_RESOURCES
from optsched.instances.documents.format import SCHEMAS, InstanceDocument, NetworkDocument, schema, schema_text
from optsched.instances.files import from_document, load, parse, save, to_document, to_json
from optsched.network import FlowNetwork

SUFFIXES = (".json", ".json.gz", ".npz")
DATA = Path(__file__).resolve().parent.parent / "data" / "instances"


def plain(instance: Instance) -> Instance:
    """The same content from a document, to see that nothing but the content counts."""
    noun = from_document(to_document(instance))
    assert isinstance(noun, Instance)
    return noun


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("document", [FULL, NETWORK], ids=["instance", "network"])
def test_every_field_survives(tmp_path: Path, suffix: str, document: dict[str, Any]) -> None:
    """Tests that a document with every field comes back as it was from each kind of file, and writes the same bytes."""
    noun = from_document(document)
    save(noun, tmp_path / f"one{suffix}")
    again = load(tmp_path / f"one{suffix}")
    assert to_document(again) == document
    assert again.sha256 == noun.sha256
    save(again, tmp_path / f"two{suffix}")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=60)
@given(document=documents())
def test_any_instance_survives(tmp_path_factory: pytest.TempPathFactory, suffix: str, document: dict[str, Any]) -> None:
    """Tests that any valid instance comes back from each kind of file with every column, replica order and digest."""
    instance = from_document(document)
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    save(instance, path)
    again = load(path)
    assert isinstance(instance, Instance)
    assert isinstance(again, Instance)
    assert again.sha256 == instance.sha256
    assert to_document(again) == to_document(instance)
    for part in ("cluster", "workload", "state"):
        one, other = getattr(instance, part), getattr(again, part)
        for name, values in vars(one).items():
            if isinstance(values, np.ndarray):
                np.testing.assert_array_equal(values, getattr(other, name))
                assert not getattr(other, name).flags.writeable
    np.testing.assert_array_equal(instance.replicas.values, again.replicas.values)
    np.testing.assert_array_equal(instance.replicas.starts, again.replicas.starts)
    assert again.parameters == instance.parameters


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=40)
@given(document=network_documents())
def test_any_network_survives(tmp_path_factory: pytest.TempPathFactory, suffix: str, document: dict[str, Any]) -> None:
    """Tests that any valid flow network comes back from each kind of file."""
    network = from_document(document)
    path = tmp_path_factory.getbasetemp() / f"network{suffix}"
    save(network, path)
    again = load(path)
    assert isinstance(again, FlowNetwork)
    assert again.sha256 == network.sha256
    assert to_document(again) == to_document(network)


@settings(max_examples=60)
@given(document=documents())
def test_schema_agrees_with_reader(document: dict[str, Any]) -> None:
    """Tests that what is read and what is written satisfy the published schema."""
    validator = jsonschema.Draft202012Validator(schema(InstanceDocument))
    validator.validate(document)
    validator.validate(to_document(from_document(document)))


@pytest.mark.parametrize("kind", [InstanceDocument, NetworkDocument])
def test_published_schema_is_current(kind: type[InstanceDocument] | type[NetworkDocument]) -> None:
    """Tests that the schemas that ship are current; `python -m optsched.instances.documents.format` writes them."""
    assert SCHEMAS[kind].read_text(encoding="utf-8") == schema_text(kind)
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def test_schema_refuses_what_the_reader_refuses() -> None:
    """Tests that the schema knows types, limits and unknown fields."""
    validator = jsonschema.Draft202012Validator(schema(InstanceDocument))
    for path, value in (("slots", "2"), ("slots", -1), ("colour", 1), ("load", -0.5), ("running_rates", 3)):
        document = copy.deepcopy(FULL)
        document["nodes"][0][path] = value
        assert not validator.is_valid(document)


def test_text_is_for_people() -> None:
    """Tests that defaults are left out, integers are integers, and each record has a line of its own."""
    instance = Instance(Cluster(["n1", "n2"], slots=[1, 2]), Workload(["t1"], size=[64.0]), time=0.0)
    assert to_json(instance).decode() == (
        '{"format": "optsched/1",\n"nodes": [\n  {"id":"n1"},\n  {"id":"n2","slots":2}],\n'
        '"tasks": [\n  {"id":"t1","size":64}]}\n'
    )
    assert json.loads(to_json(from_document(FULL))) == FULL


def test_documents_are_not_kept() -> None:
    """Tests that changing a document afterwards, or what `to_document` gave, changes no instance."""
    document = copy.deepcopy(FULL)
    instance = from_document(document)
    digest = to_json(instance)
    document["parameters"]["lsap"]["levels"].append(9)
    to_document(instance)["parameters"]["lsap"]["levels"].append(9)
    assert to_json(instance) == digest


def test_numbering_of_racks_does_not_count() -> None:
    """Tests that an instance whose racks are numbered otherwise has the digest of its file."""
    cluster = Cluster(["a", "b"], rack=[2, 0], rack_ids=["x", "unused", "y"], type=[1, 0], type_ids=["p", "q"])
    instance = Instance(cluster, Workload(["t"], rate_in_by_type=np.array([[1.0, 2.0]])))
    assert plain(instance).sha256 == instance.sha256
    assert to_document(plain(instance)) == to_document(instance)


def test_idle_slots_are_what_is_said() -> None:
    """Tests that idle slots default to all slots, and that a running task takes none of them away."""
    instance = parse(
        '{"format": "optsched/1", "nodes": [{"id": "a", "slots": 3}, {"id": "b", "slots": 2, "idle_slots": 0}],'
        ' "tasks": [{"id": "t", "state": "running", "node": "a"}]}'
    )
    assert isinstance(instance, Instance)
    assert instance.state.idle_slots.tolist() == [3, 0]


@pytest.mark.parametrize(
    "text",
    [
        '{"tasks": [], "nodes": [], "format": "optsched/1"}',
        '{ "format"\t:\n"optsched/1" , "nodes" : [ ] , "tasks" :[]}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "a \\"quoted\\": name"}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "space :"}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "time": 9007199254740992}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "time": 9007199254740992.0}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "\\u0000"}',
        b'{"format": "optsched/1", "nodes": [], "tasks": []}\n\n',
    ],
)
def test_doubts_are_resolved(text: str | bytes) -> None:
    """Tests that text that only looks suspicious to the fast path (quoted keys, odd spacing, 2^53) is read."""
    assert isinstance(parse(text), Instance)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"format": "optsched/1", "nodes": [{"id": "a", "slots": 1, "slots": 1}], "tasks": []}', "nodes[0].slots"),
        ('{"format": "optsched/1", "nodes": [{"id" : "a", "slots": 1, "slots": 1}], "tasks": []}', "nodes[0].slots"),
        ('{"format": "optsched/1", "nodes": [], "tasks": [], "tasks": []}', "tasks"),
        ('{"format": "optsched/1", "nodes": [], "tasks": [], "labels": {"a": "", "a": ""}}', "labels.a"),
        (
            '{"format": "optsched/1", "nodes": [], "tasks": [], "parameters": {"p": {"q": [{"a": 1, "a": 1}]}}}',
            "parameters.p.q[0].a",
        ),
        ('{"format": "optsched/1", "format": "optsched/1", "nodes": [], "tasks": []}', "format"),
    ],
)
def test_doubled_keys_are_found_on_the_fast_path(text: str, place: str) -> None:
    """Tests that a key given twice is found wherever it stands, though the typed decoder does not mind."""
    with pytest.raises(InputError) as caught:
        parse(text)
    assert [fault.place for fault in caught.value.faults] == [place]


def test_hand_written_files_load() -> None:
    """Tests that the small files beside the tests load, whatever their spacing and order of keys."""
    paths = sorted(DATA.glob("*.json"))
    assert len(paths) >= 3
    for path in paths:
        assert load(path).name == path.stem


def test_archives_are_plain_numpy(tmp_path: Path) -> None:
    """Tests that NumPy itself reads an archive, with pickling forbidden, and that one made by NumPy is read."""
    save(from_document(FULL), tmp_path / "full.npz")
    with np.load(tmp_path / "full.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    assert arrays["tasks.replicas"].tolist() == [2, 0]
    assert arrays["nodes.id"].tolist() == [b"n1", b"n2", b"n3"]
    for writer in (np.savez, np.savez_compressed):
        writer(tmp_path / "numpy.npz", **arrays | {"pairs.cost": np.asfortranarray(arrays["pairs.cost"])})
        assert to_document(load(tmp_path / "numpy.npz")) == FULL


def test_archive_by_hand(tmp_path: Path) -> None:
    """Tests that a few columns and a header make an instance."""
    header = np.array(b'{"format": "optsched/1", "time": 2}')
    np.savez(tmp_path / "own.npz", **{"header": header, "nodes.id": np.array(["é", "b"]), "tasks.id": np.array(["t"])})
    instance = load(tmp_path / "own.npz")
    assert isinstance(instance, Instance)
    assert instance.cluster.node_ids.tolist() == ["é", "b"]
    assert instance.time == 2


def test_saving_leaves_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a failed save leaves the old file and no other."""
    path = tmp_path / "one.json"
    save(from_document(FULL), path)
    before = path.read_bytes()

    def refuse(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(InputError, match=r"one\.json: cannot be written: No space left"):
        save(from_document(NETWORK), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["one.json"]


def test_saving_where_nothing_can_be() -> None:
    """Tests that a missing folder and an unknown suffix are named."""
    with pytest.raises(InputError, match="cannot be written"):
        save(from_document(FULL), "no/such/folder/one.json")
    with pytest.raises(InputError, match=r"the name must end in \.json, \.json\.gz, \.npz"):
        save(from_document(FULL), "one.yaml")


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that files past the size limit are refused before they fill the memory, packed or not."""
    monkeypatch.setattr(files, "LARGEST_FILE", 10_000)
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 1000)
    monkeypatch.setattr(files, "LARGEST_RATIO", 1)
    (tmp_path / "one.json").write_bytes(b" " * 10_001)
    (tmp_path / "one.json.gz").write_bytes(gzip.compress(b" " * 10**6))
    np.savez_compressed(tmp_path / "one.npz", header=np.zeros(10**6))
    for suffix in SUFFIXES:
        with pytest.raises(InputError, match=r"than \d+ bytes; so much is not read|at most \d+ are read"):
            load(tmp_path / f"one{suffix}")
    many = Instance(Cluster([f"n{row}" for row in range(400)]), Workload([]))
    with pytest.raises(InputError, match=r"packs like a bomb; save it as \.npz"):
        save(many, tmp_path / "many.json.gz")


def test_dense_columns_are_limited() -> None:
    """Tests that a small file cannot ask for a huge table by naming many resources."""
    nodes = [{"id": str(row), "capacity": {f"r{row}": 1}} for row in range(MOST_RESOURCES + 1)]
    with pytest.raises(InputError, match=r"nodes\.capacity: has more than 100 different names"):
        from_document({"format": "optsched/1", "nodes": nodes, "tasks": []})


def test_rates_by_type_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a table of tasks by node types past the limit is refused before it is made."""
    monkeypatch.setattr(columns, "MOST_CELLS", 8)
    with pytest.raises(InputError, match=r"tasks\.rate_in: 3 tasks by 3 types is past 8 rates"):
        from_document(
            {
                "format": "optsched/1",
                "nodes": [{"id": name, "type": name} for name in "abc"],
                "tasks": [{"id": name, "rate_in": {"a": 1}} for name in "abc"],
            }
        )


def test_rewriting_the_schemas(tmp_path: Path) -> None:
    """Tests that the module, run as a program, writes the schemas beside itself."""
    source = SCHEMAS[InstanceDocument].parent.with_name("format.py")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "format.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    runpy.run_path(str(tmp_path / "format.py"), run_name="__main__")
    for path in SCHEMAS.values():
        assert (tmp_path / "schemas" / path.name).read_bytes() == path.read_bytes()


def test_network_arcs_keep_their_names() -> None:
    """Tests that arcs without an id are named by position, and null means no limit."""
    network = parse(
        '{"format": "optsched-network/1", "nodes": [{"id": "a"}],'
        ' "arcs": [{"tail": "a", "head": "a", "capacity": null}, {"tail": "a", "head": "a", "id": "x"}]}'
    )
    assert isinstance(network, FlowNetwork)
    assert network.arc_ids.tolist() == ["0", "x"]
    assert to_document(network)["arcs"][0] == {"tail": "a", "head": "a"}
