"""Tests of reading and writing: round trips, bytes, what each kind of file may hold."""

import gzip
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from input_files import outcome
from strategies import FULL, NETWORK, documents, network_documents

from optsched.core.errors import InputError, printable
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.network import FlowNetwork
from optsched.instances.documents import storing
from optsched.instances.files import from_document, load, parse, save, to_document, to_json

SUFFIXES = (".json", ".json.gz", ".npz")


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
@settings(max_examples=15)
@given(document=documents())
def test_any_instance_survives(tmp_path_factory: pytest.TempPathFactory, suffix: str, document: dict[str, Any]) -> None:
    """Tests that any valid instance comes back from each kind of file with every column, replica order and digest."""
    instance = from_document(document)
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    save(instance, path)
    again: Any = load(path)
    assert pickle.loads(pickle.dumps(again)) == again == instance
    assert to_document(again) == to_document(instance)
    for part in (again.cluster, again.workload, again.state):
        assert not any(isinstance(held, np.ndarray) and held.flags.writeable for held in vars(part).values())


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=20)
@given(document=network_documents())
def test_any_network_survives(tmp_path_factory: pytest.TempPathFactory, suffix: str, document: dict[str, Any]) -> None:
    """Tests that any valid flow network comes back from each kind of file."""
    network = from_document(document)
    path = tmp_path_factory.getbasetemp() / f"network{suffix}"
    save(network, path)
    assert to_document(load(path)) == to_document(network)


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


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that files past the size limit are refused before they fill the memory, packed or not."""
    monkeypatch.setattr(storing, "LARGEST_FILE", 10_000)
    monkeypatch.setattr(storing, "LARGEST_UNPACKED", 1000)
    monkeypatch.setattr(storing, "LARGEST_RATIO", 1)
    (tmp_path / "one.json").write_bytes(b" " * 10_001)
    (tmp_path / "one.json.gz").write_bytes(gzip.compress(b" " * 10**6))
    np.savez_compressed(tmp_path / "one.npz", header=np.zeros(10**6))
    for suffix in SUFFIXES:
        with pytest.raises(InputError, match=r"than \d+ bytes; so much is not read|at most \d+ are read"):
            load(tmp_path / f"one{suffix}")
    many = Instance(Cluster([f"n{row}" for row in range(400)]), Workload([]))
    with pytest.raises(InputError, match=r"packs like a bomb; save it as \.npz"):
        save(many, tmp_path / "many.json.gz")


def test_missing_and_strange_files(tmp_path: Path) -> None:
    """Tests that a missing file, a folder, an unknown suffix and a name that cannot be are refused by name."""
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "text.txt").write_text("{}")
    for name, expected in (
        ("none.json", "cannot be read: No such file or directory"),
        ("folder.json", "cannot be read: Is a directory"),
        ("text.txt", "unknown kind of file; the name must end in .json, .json.gz, .npz, .csv, .parquet"),
        ("nul\0.json", "cannot be read: embedded null byte"),
    ):
        assert outcome(tmp_path / name) == printable(f"{tmp_path / name}: {expected}")


def test_packed_bombs_are_quick(tmp_path: Path) -> None:
    """Tests that small files that unpack to hundreds of megabytes are refused before they do."""
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 2**25, 1, mtime=0) * 5)
    assert outcome(path) == f"{path}: unpacks to more than 134217728 bytes; so much is not read"
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in range(5):
            archive.writestr(f"{name}.npy", bytes(2**25))
    assert outcome(path) == f"{path}: unpacks to 167772160 bytes; at most 134217728 are read"


def test_names_of_the_library_by_their_last_part() -> None:
    """Tests that a name that tables print is one, and that what fits several names them all, and none."""
    whole = to_json(load("papers/guo-fig2"))
    assert to_json(load("guo-fig2")) == to_json(load("guo-fig2*")) == whole
    assert isinstance(load("negative-cycle"), FlowNetwork)
    with pytest.raises(InputError, match=r"^examples/weights-\*: fits 2 .*: .*weights-decimal, .*weights-whole$"):
        load("examples/weights-*")
    with pytest.raises(InputError, match=r"^\*: fits \d\d instances of the library, .*, \.\.\.$"):
        load("*")


def test_text_is_for_people() -> None:
    """Tests that defaults are left out, integers are integers, and each record has a line of its own."""
    instance = Instance(Cluster(["n1", "n2"], slots=[1, 2]), Workload(["t1"], size=[64.0]))
    assert to_json(instance).decode() == (
        '{"format": "optsched/1",\n"nodes": [\n  {"id":"n1"},\n  {"id":"n2","slots":2}],\n'
        '"tasks": [\n  {"id":"t1","size":64}]}\n'
    )
    assert json.loads(to_json(from_document(FULL))) == FULL


@pytest.mark.parametrize(
    "text",
    [
        '{"tasks": [], "nodes": [], "format": "optsched/1"}',
        '{ "format"\t:\n"optsched/1" , "nodes" : [ ] , "tasks" :[]}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "a \\"quoted\\": name"}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "space :"}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "time": 9007199254740992}',
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
