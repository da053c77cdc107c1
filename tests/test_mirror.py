"""The folders of tests mirror the package: each file belongs to a module, and each module has a file or is named here.

The tests of `optsched/searches/latency.py` are `tests/searches/test_latency.py`, and those of a part of it
`tests/searches/test_latency_....py`; `tests/models/test_models_....py` are of the whole folder. At the top of `tests`
are, beside the files of the modules at the top of the package, suites over all of it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"

#: Folders that mirror no folder of the package: the contract suite, the studies of `benchmarks`, other projects.
SUITES = {"benchmarks", "contract", "data"}

#: Modules without a file of their own, by the file that tests them, each with a word of that file that reaches it.
#: They are parts of what that file tests (a noun, a search, a model, a policy), or a command, reached by its name.
COVERED = {
    # What a problem is held against is run on every problem, and on wrong ones.
    "contract/test_contract.py": {
        "testing/__main__": "optsched.testing.__main__",
        "testing/cases": "CHECKS",
        "testing/contract": "CHECKS",
        **{
            f"testing/{part}": "CHECKS"
            for part in (
                "definition",
                "exports",
                "frontiers",
                "neighbours",
                "programs",
                "proofs",
                "schedulers",
                "solutions",
            )
        },
    },
    "contract/test_wrong_problem.py": {"testing/changes": "check_problem", "testing/tampering": "ContractBroken"},
    "explaining/test_explaining.py": {"explaining/explanation": "to_dict"},
}


def name_of(module: Path) -> str:
    """The path of a module from the package, without the ending."""
    return module.relative_to(ROOT / "optsched").with_suffix("").as_posix()


def does_something(module: Path) -> bool:
    """Whether a module has more than a docstring and names of other modules, which it passes on in `__all__`."""
    names = [ast.unparse(node) for node in ast.parse(module.read_text(encoding="utf-8")).body]
    return any(not re.match(r"""['"]|import |from |__all__ = """, name) for name in names)


#: Every module that does something.
MODULES = {
    name_of(module)
    for module in (ROOT / "optsched").rglob("*.py")
    if "_data" not in module.parts and does_something(module)
}
FILES = sorted(file.relative_to(TESTS).as_posix() for file in TESTS.rglob("test_*.py"))


def module_of(file: str) -> str | None:
    """The module that a file of tests belongs to: of its folder, the longest that its name begins with."""
    folder, _, name = f"/{file}".rpartition("/")
    folder, words = folder.removeprefix("/"), name.removeprefix("test_").removesuffix(".py").split("_")
    own = {"main": "__main__", folder.rpartition("/")[2] or "package": "__init__"}
    for length in range(len(words), 0, -1):
        part = "_".join(words[:length])
        module = f"{folder}/{own.get(part, part)}".removeprefix("/")
        if module in MODULES or part == folder.rpartition("/")[2]:
            return module
    return None


def test_what_passes_on_names_does_nothing(tmp_path: Path) -> None:
    """Tests that imports with a docstring and `__all__` are no module to be tested, and that one line more is."""
    module = tmp_path / "module.py"
    for text, does in (('"""Doc."""\nfrom a import b\n__all__ = ["b"]\n', False), ("import a\nLIMIT = 3\n", True)):
        module.write_text(text, encoding="utf-8")
        assert does_something(module) is does


def test_names_tell_the_module() -> None:
    """Tests that the longest name counts, that a folder's own name is the folder, and that nothing else belongs."""
    assert module_of("test_package.py") == "__init__"
    assert module_of("cli/test_cli.py") == "cli/__init__"
    assert module_of("test_main.py") == "__main__"
    assert module_of("searches/test_latency_packing.py") == "searches/latency_packing"
    assert module_of("searches/test_latency_at_length.py") == "searches/latency"
    assert module_of("models/test_models_golden.py") == "models/__init__"
    assert module_of("test_gaps.py") == "gaps"
    assert module_of("searches/test_late.py") is None
    assert module_of("models/test_searches.py") is None


@pytest.mark.parametrize("file", [file for file in FILES if "/" in file and file.partition("/")[0] not in SUITES])
def test_every_file_belongs_to_a_module(file: str) -> None:
    """Tests that a file in a folder of tests bears the name of a module of that folder, or of the folder."""
    assert (ROOT / "optsched" / file).parent.is_dir()
    assert module_of(file) is not None, f"no module of optsched/{Path(file).parent} has the name of tests/{file}"


def test_every_module_has_a_file() -> None:
    """Tests that each module has a file of its own or one that is named above, and not both."""
    own = {module_of(file) for file in FILES}
    named = [module for modules in COVERED.values() for module in modules]
    assert sorted(MODULES - own - set(named)) == [], "modules without tests: give each a file, or name one in COVERED"
    assert sorted(set(named) & own) == [], "modules that have a file of their own by now"
    assert sorted(set(named) - MODULES) == [], "modules that are gone"
    assert len(named) == len(set(named))


@pytest.mark.parametrize("file", COVERED)
def test_named_file_reaches_its_modules(file: str) -> None:
    """Tests that each file that is named for modules without one still says the word by which it reaches each."""
    text = (TESTS / file).read_text(encoding="utf-8")
    missing = {
        module: word for module, word in COVERED[file].items() if not re.search(rf"(?<!\w){re.escape(word)}", text)
    }
    assert missing == {}
