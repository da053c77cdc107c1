"""Archives: plain arrays that NumPy reads, and every way in which one can be wrong."""

import io
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from input_files import changed_bytes, outcome, told_of
from strategies import FULL, NETWORK

from optsched.core.errors import InputError
from optsched.instances.documents.storing import GrowingFile, write_whole
from optsched.instances.files import from_document, load, save, to_document


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_mutants_of_archives(tmp_path: Path) -> None:
    """Tests that archives of which bytes are changed load or are refused."""
    path = tmp_path / "mutant.npz"
    for seed in range(60):
        rng = random.Random(seed)
        save(from_document(rng.choice([FULL, NETWORK])), path)
        path.write_bytes(changed_bytes(rng, path.read_bytes()))
        outcome(path)


def archive_of(path: Path, **entries: bytes) -> Path:
    """An archive with the given bytes as entries."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(f"{name}.npy", data)
    return path


def test_strange_archives(tmp_path: Path) -> None:
    """Tests that archives with pickles, bombs, wrong headers and missing columns are refused, with all their faults."""
    path = tmp_path / "a.npz"
    for data in (b"no zip", b""):
        path.write_bytes(data)
        assert "is no sound .npz archive" in outcome(path)
    assert "header: the column is missing" in outcome(archive_of(path))
    pickled = io.BytesIO()
    np.save(pickled, np.array([{"evil": print}], dtype=object), allow_pickle=True)
    shown = outcome(archive_of(path, header=pickled.getvalue(), other=b"\x93NUMPY", third=b""))
    assert "header: is no sound NumPy array: it holds object" in shown
    assert "other: is no sound NumPy array" in shown
    assert "third: is no sound NumPy array" in shown
    huge = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }".ljust(117) + b"\n"
    assert "does not fit its 0 bytes" in outcome(archive_of(path, header=b"\x93NUMPY\x01\x00v\x00" + huge))
    np.savez(path, header=np.array(b'{"format": "optsched/1", "nodes": [{"id": "a"}]}'))
    assert "header: holds records; in an archive they belong in columns" in outcome(path)
    np.savez(path, header=np.array(b'{"format": "optsched/1", "time": "x", "colour": 1}'))
    assert outcome(path).splitlines() == [
        f'{path}: header.time: expected a number, got "x"',
        f"{path}: header.colour: there is no such field; known: name, description, source, labels, time, parameters, "
        "nodes, groups, jobs, tasks, shuffle, pairs, topology",
    ]
    columns: dict[str, Any] = {"nodes.id": np.array([b"\xff"]), "nodes.rack.names": np.array([b"\xfe"])}
    columns |= {"tasks.id": np.array(["t"]), "topology.rate": np.zeros((1, 1))}
    np.savez(path, header=np.array(b'{"format": "optsched/1", "topology": {"links": []}}'), **columns)
    assert outcome(path).splitlines() == [
        f"{path}: nodes.id: is no UTF-8 text: invalid start byte",
        f"{path}: nodes.rack.names: is no UTF-8 text: invalid start byte",
        f"{path}: topology: is given in more than one form",
    ]
    columns = {"header": np.array(b'{"format": "optsched/1"}'), "nodes.id": np.arange(3)}
    columns |= {"tasks.replicas": np.zeros(3), "tasks.sise": np.zeros(3), "shuffle.map": np.zeros(1, dtype=int)}
    np.savez(path, **columns)
    assert outcome(path).splitlines() == [
        f"{path}: nodes.id: expected fixed-width strings, got int64",
        f"{path}: tasks.id: the column is missing",
        f"{path}: tasks.replicas: expected integers, got float64",
        *(f"{path}: shuffle.{name}: the column is missing" for name in ("reduce", "size", "emitted")),
        f'{path}: tasks.sise: there is no such column; did you mean "tasks.size"?',
    ]


def test_strange_entries(tmp_path: Path) -> None:
    """Tests that doubled, unprintable and oddly packed entries are refused, and strings without width."""
    path = tmp_path / "a.npz"
    header = io.BytesIO()
    np.lib.format.write_array(header, np.array(b'{"format": "optsched/1"}'), version=(2, 0))
    wide = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '|S0', 'fortran_order': False, 'shape': (99999999999,), }".ljust(117)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", header.getvalue())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("header.npy", b"")
        archive.writestr("a\nb.npy", b"")
        archive.writestr("odd.npy", b"", compress_type=zipfile.ZIP_LZMA)
        archive.writestr("wide.npy", wide + b"\n")
    assert outcome(path).splitlines() == [
        f"{path}: header: the column is given more than once",
        f"{path}: 'a\\nb' is no name of a column",
        f"{path}: odd: is encrypted, or compressed in a way that NumPy does not use",
        f"{path}: wide: is no sound NumPy array: its strings have no width",
    ]
    columns: dict[str, Any] = {"nodes.id": np.array(["é", "b"]), "tasks.id": np.zeros(0, "S0")}
    np.savez(path, header=np.array(b'{"format": "optsched/1"}'), **columns)
    assert outcome(path) == "loaded"
    np.savez(path, header=np.array(b"[]"))
    assert "header: expected an object" in outcome(path)


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


#: Columns of `FULL` and `NETWORK` as archives in which a number stands for a record of a table.
INDEX_COLUMNS = (
    *("nodes.rack", "nodes.datacenter", "nodes.type", "jobs.group", "tasks.job", "tasks.kind", "tasks.state"),
    *("tasks.node", "tasks.observed", "tasks.replicas", "tasks.replicas.starts", "nodes.running_rates.starts"),
    *("shuffle.map", "shuffle.reduce", "arcs.tail", "arcs.head"),
)


def arrays_of(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """The columns of a document, as its archive holds them."""
    save(from_document(document), path)
    with np.load(path) as archive:
        return dict(archive)


@pytest.mark.parametrize("name", INDEX_COLUMNS)
def test_indices_past_the_end_in_archives(tmp_path: Path, name: str) -> None:
    """Tests that an index without a record, however large or negative, is a fault of its column and no IndexError."""
    path = tmp_path / "a.npz"
    arrays = arrays_of(NETWORK if name.startswith("arcs") else FULL, path)
    for odd, place in ((7, 0), (3, -1), (-2, -1), (2**31, 0), (2**62, -1), (-(2**63), 0)):
        values = arrays[name].astype(np.int64)
        values[place] = odd
        np.savez(path, **{**arrays, name: values})
        message = told_of(lambda: load(path))
        if not (name == "tasks.replicas.starts" and odd == 3):  # which is where its last row ends
            assert name.partition(".")[0] in message


def test_growing_file(tmp_path: Path) -> None:
    """Tests that the file is there only once it is whole, and until then, or if it is abandoned, a partial one."""
    target = tmp_path / "a.txt"
    target.write_text("old")
    growing = GrowingFile(target)
    growing.write(b"one\n")
    assert (target.read_text(), growing.partial and growing.partial.read_text()) == ("old", "one\n")
    growing.write(b"two\n")
    growing.finish()
    assert target.read_text() == "one\ntwo\n"
    assert list(tmp_path.iterdir()) == [target]
    assert GrowingFile(tmp_path / "b.txt").abandon() is None
    growing = GrowingFile(tmp_path / "b.txt")
    growing.write(b"one")
    assert growing.abandon() == tmp_path / "b.txt.partial"
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_part_is_written_whole_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException) -> None:
    """Tests that a fault, or Ctrl-C, in the middle of a part takes back the whole part, and no other."""
    real, calls = os.write, []

    def write(file: int, data: bytes) -> int:
        calls.append(1)
        if len(calls) == 3:
            raise fault
        return real(file, data[:4] if len(calls) == 2 else data)

    growing = GrowingFile(tmp_path / "a.txt")
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        growing.write(b"first\n")
        with pytest.raises(InputError if isinstance(fault, OSError) else KeyboardInterrupt):
            growing.write(b"second\n")
    growing.write(b"third\n")
    growing.finish()
    assert (tmp_path / "a.txt").read_text() == "first\nthird\n"


def test_links_stay(tmp_path: Path) -> None:
    """Tests that through a link the file is replaced that it leads to."""
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    write_whole(link, b"whole")
    assert (link.is_symlink(), target.read_text()) == (True, "whole")
    growing = GrowingFile(link)
    growing.write(b"grown")
    assert growing.partial == tmp_path / "real" / "a.txt.partial"
    growing.finish()
    assert (link.is_symlink(), target.read_text()) == (True, "grown")


@pytest.mark.parametrize("name", ["", "a\0b", "no/such/folder/a.txt", "."])
def test_names_that_are_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Tests that what cannot be written is reported as bad input, with its name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        GrowingFile(name)
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(name, b"")
