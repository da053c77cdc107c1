"""The folders of tests mirror the package: each file belongs to a module, and each module has a file.

The tests of `optsched/problems/latency.py` are `tests/problems/test_latency.py`, and those of a part of it
`tests/problems/test_latency_....py`; `tests/models/test_models_....py` are of the whole folder. At the top of `tests`
are, beside the files of the modules at the top of the package, suites over all of it. `tests/contract` is both: the
files of the modules of `optsched/testing`, and what these modules do to every problem.
"""

import ast
import re
from pathlib import Path

from optsched.core.registry import SHIPPED
from optsched.testing import CHECKS

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"

#: Folders that mirror no folder of the package: the studies of `benchmarks`, other projects.
OTHERS = {"benchmarks", "data"}

#: Folders of tests that are called otherwise than the folder that they mirror, and hold suites beside the files.
NAMED = {"contract": "testing"}

#: Modules without a file of their own: the file that tests each, and why it has none.
COVERED = {
    "testing/__main__": "contract/test_contract.py",  # the report on the checks that the file is about
    # What the registry looks up in, and checks.
    **{f"core/{name}": "core/test_registry.py" for name in ("foreign_records", "problem_record", "shipped_problems")},
    **{
        f"instances/families/{name}": "instances/families/test_families.py"
        for name in ("guo", "hsu", "jobs", "labl", "shen")
    },
    # Checks are tests themselves: this file runs them on every problem, and `test_seeded_faults` sees each fail.
    # Models of single problems: what one has beside the others is in one file, and the contract suite holds them all.
    **{
        str(entry.models).removeprefix("optsched.").replace(".", "/"): "models/test_models_problems.py"
        for entry in SHIPPED
    },
    **{
        check.function.__module__.removeprefix("optsched.").replace(".", "/"): "contract/test_contract.py"
        for check in CHECKS.values()
    },
}


def name_of(module: Path) -> str:
    """The path of a module from the package, without the ending."""
    return module.relative_to(ROOT / "optsched").with_suffix("").as_posix()


def does_something(module: Path) -> bool:
    """Whether a module has more than a docstring and names of other modules, which it passes on."""
    text = module.read_text(encoding="utf-8")
    if re.search(r"^(?:def|class|@)", text, re.MULTILINE):
        return True  # in hundreds of modules this tells it sooner than Python's parser
    names = [ast.unparse(node) for node in ast.parse(text).body]
    return any(not re.match(r"""['"]|import |from |__all__ = |__getattr__ = moved""", name) for name in names)


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
    folder = NAMED.get(folder, folder)
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
    assert module_of("solvers/searches/test_latency_program.py") == "solvers/searches/latency_program"
    assert module_of("solvers/searches/test_latency_at_length.py") == "solvers/searches/latency"
    assert module_of("models/test_models_golden.py") == "models/__init__"
    assert module_of("measuring/test_gaps.py") == "measuring/gaps"
    assert module_of("contract/test_policies.py") == "testing/policies"
    assert module_of("solvers/searches/test_late.py") is None
    assert module_of("models/test_searches.py") is None


def test_every_file_belongs_to_a_module() -> None:
    """Tests that a file in a folder of tests bears the name of a module of that folder, or of the folder."""
    mirroring = [file for file in FILES if "/" in file and file.partition("/")[0] not in {*OTHERS, *NAMED}]
    assert [file for file in mirroring if module_of(file) is None] == [], "no module has the name of these files"
    assert all((ROOT / "optsched" / file).parent.is_dir() for file in mirroring)


def test_every_module_has_a_file() -> None:
    """Tests that each module has a file of its own, or is one of the few above, and not both."""
    own = {module_of(file) for file in FILES}
    assert sorted(MODULES - own - set(COVERED)) == [], "modules without tests: give each a file of its own"
    assert sorted(set(COVERED) & own) == [], "modules that have a file of their own by now"
    assert set(COVERED) <= MODULES
    assert set(COVERED.values()) <= set(FILES)
