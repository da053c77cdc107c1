"""The list of importers: what each can be told, and what its reader may answer."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from optsched.core.errors import OptschedError, UsageError
from optsched.instances.importers import IMPORTERS, Imported, Importer, Option


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("None", "answered None; give an Imported of documents"),
        ("Imported((5,))", "answered an Imported; give an Imported of documents"),
        ("Imported(({}, {}))", "answered 2 documents; give one"),
        ("[][1]", r'importer "mine" raised IndexError: .*\(.*mine.py, line 3\)'),
    ],
)
def test_importer_that_answers_nonsense(file: Callable[..., Path], answer: str, message: str) -> None:
    """Tests that what a package's reader answers or raises is told with the importer's name, in one line."""
    code = f"from optsched.instances.importers import Imported\ndef read(file, *, name):\n    return {answer}\n"
    reader = runpy.run_path(str(file(code, "mine.py")))["read"]
    with pytest.raises(OptschedError, match=message):
        Importer("mine", "", reader).read("x", name=None)


def test_files_faults_are_the_readers_own() -> None:
    """Tests that bad input and wrong usage are told as the reader says them, without the importer's name."""

    def read(file: str, *, name: str | None) -> Imported:
        raise UsageError(f"{file} needs another slot")

    with pytest.raises(UsageError, match=r"^x needs another slot$"):
        Importer("mine", "", read).read("x", name=None)


@pytest.mark.parametrize("importer", IMPORTERS.values(), ids=list(IMPORTERS))
def test_readers_take_what_is_listed(importer: Importer) -> None:
    """Tests that each reader has just the options that its importer lists, by these names and defaults."""
    assert isinstance(importer.reader, str)
    module, _, function = importer.reader.partition(":")
    taken = {
        name: parameter.default
        for name, parameter in inspect.signature(getattr(import_module(module), function)).parameters.items()
    }
    path, name, *_ = taken
    listed = {option.name: option for option in importer.options}
    assert set(taken) - {path, "name", "split"} == set(listed)
    assert ("split" in taken) == importer.splits
    assert taken["name"] is None
    for name, option in listed.items():
        if option.default is not None:
            assert taken[name] == option.default


def test_importer_may_split() -> None:
    """Tests that a reader that was asked for a document of each job may answer any number."""
    many = Imported(({"name": "a"}, {"name": "b"}))
    assert Importer("mine", "", lambda file, **options: many, splits=True).read("x", name=None, split=True) is many


@pytest.mark.parametrize("option", [Option("output", ""), Option("slots", "", flag="--name")])
def test_options_that_every_importer_has(option: Option) -> None:
    """Tests that an importer cannot have an option that every importer has, nor one twice."""
    with pytest.raises(UsageError, match='importer "mine": there are two options'):
        Importer("mine", "", "module:function", (option,))
    with pytest.raises(UsageError, match="there are two options slots"):
        Importer("mine", "", "module:function", (Option("slots", ""), Option("slots", "", flag="--other")))
    assert list(IMPORTERS) == ["rumen", "dimacs", "orlib-gap", "orlib-assign", "sls", "swim"]


@pytest.mark.parametrize("name", list(IMPORTERS))
def test_bug_readers_called_by_themselves_took_any_value(name: str) -> None:
    """Tests that a reader refuses what its options may not be without the command, too: `sense="most"` was min."""
    entry = IMPORTERS[name]
    module, _, function = str(entry.reader).partition(":")
    for option in entry.options:
        if not option.several and (option.choices or option.lowest is not None):
            with pytest.raises(UsageError, match=option.name):
                getattr(import_module(module), function)("/dev/null", **{option.name: "most"})
