"""How large the house is: lines, modules, floors of imports, what a small command loads, words of the documents.

python benchmarks/house_size.py
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import time
import tokenize
from contextlib import redirect_stdout, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from types import CodeType, FrameType

from prose import handwritten, words_of_sentences

ROOT = Path(__file__).resolve().parents[1]

#: Rooms in which the mathematics of a problem is written.
MATHEMATICS = ("problems", "searches", "models", "certificates", "routes")

#: A small command.
COMMAND = ["gap", "papers/labl-figure2", "--problem", "latency", "--heuristic", "labl"]


def code_lines(text: str) -> int:
    """Lines with code: neither blank, nor of comments or docstrings alone."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = chain.from_iterable(range(one.start[0], one.end[0] + 1) for one in tokens if one.type not in nothing)
    return len(set(held) - docstrings)


def package() -> dict[str, Path]:
    """The files of the package by the names of their modules."""
    files = sorted((ROOT / "optsched").rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imports(modules: dict[str, Path], top: bool) -> dict[str, set[str]]:
    """What each module imports of the others, at the top of its file or anywhere; the package's own file names all."""
    below = {name: set[str]() for name in modules if name != "optsched"}
    line = re.compile(f"^{'' if top else ' *'}from ([\\w.]+) import (\\([^)]*\\)|.*)", re.MULTILINE)
    for name, found in below.items():
        for module, names in line.findall(modules[name].read_text(encoding="utf-8")):
            parts = (f"{module}.{part}" for part in re.findall(r"\w+", names))
            found |= {part if part in below else module for part in parts} & below.keys() - {name}
    return below


def floors(below: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each name, above all that it imports; what is in a circle, or imports one, has none."""
    height: dict[str, int] = {}
    while ready := [name for name in below if name not in height and below[name] <= height.keys()]:
        height |= {name: 1 + max((height[other] for other in below[name]), default=0) for name in ready}
    return height


def in_circles(modules: dict[str, Path]) -> list[str]:
    """Modules whose imports, those within functions too, come back to them, or lead to such a circle."""
    below = imports(modules, top=False)
    return sorted(below.keys() - floors(below).keys())


def rooms_below(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Which folders and files at the top of the package each of these imports at the top of files."""
    below: dict[str, set[str]] = {}
    for name, others in imports(modules, top=True).items():
        rooms = {".".join(other.split(".")[:2]) for other in (name, *others)}
        below.setdefault(".".join(name.split(".")[:2]), set()).update(rooms)
    return {room: others - {room} for room, others in below.items()}


def loaded() -> tuple[int, float]:
    """How many modules of the package a small command loads, and its seconds (the least of five)."""
    program = (
        "import sys; from optsched.cli import cli\n"
        f"try: cli({COMMAND!r})\n"
        "except SystemExit: pass\n"
        "print(sum(name.partition('.')[0] == 'optsched' for name in sys.modules), file=sys.stderr)"
    )
    seconds, text = [], ""
    for _ in range(5):
        began = time.perf_counter()
        text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr
        seconds.append(time.perf_counter() - began)
    return int(text.split()[-1]), min(seconds)


def switches() -> int:
    """Pairs of functions in two rooms, `core` apart, of which the small command has one call the other."""
    found: set[tuple[CodeType, CodeType]] = set()
    room_of = cache(lambda code: room(Path(code.co_filename)))

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_back is not None:
            pair = frame.f_back.f_code, frame.f_code
            rooms = set(map(room_of, pair))
            if len(rooms) == 2 and not {"", "core"} & rooms and "<module>" not in {code.co_name for code in pair}:
                found.add(pair)

    from optsched.cli import cli

    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        sys.setprofile(called)
        try:
            cli(COMMAND)
        finally:
            sys.setprofile(None)
    return len(found)


def room(path: Path) -> str:
    """The folder or file at the top of the package that a file is in; empty for files elsewhere."""
    inside = path.is_relative_to(ROOT / "optsched")
    return path.relative_to(ROOT / "optsched").parts[0].removesuffix(".py") if inside else ""


def main() -> None:
    """Print the figures as a table."""
    modules = package()
    files = {path: path.read_text(encoding="utf-8") for path in modules.values()}
    lines = {path: len(text.splitlines()) for path, text in files.items()}
    mathematics = sum(n for path, n in lines.items() if path.parts[-2] in MATHEMATICS)
    top = [path for path in (ROOT / "optsched").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    tests = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py"))
    pages = [path.read_text(encoding="utf-8") for path in handwritten()]
    sentences = [count for page in pages for count in words_of_sentences(page)]
    count, seconds = loaded()
    rooms = rooms_below(modules)
    rows: list[tuple[str, object]] = [
        ("lines of optsched/", sum(lines.values())),
        ("modules", len(modules)),
        ("of the lines code", sum(map(code_lines, files.values()))),
        (" + ".join(MATHEMATICS), mathematics),
        ("entries at the top", len(top)),
        ("pairs of these of which one imports the other", sum(map(len, rooms.values()))),
        ("floors of rooms, by imports at the top of files", max(floors(rooms).values())),
        ("floors of files, by the same", max(floors(imports(modules, top=True)).values())),
        ("files in circles of imports, within functions too", len(in_circles(modules))),
        ("lines of tests/", tests),
        (f"modules that `{' '.join(COMMAND[:2])} ...` loads", count),
        ("its seconds, least of five", f"{seconds:.2f}"),
        ("its calls between rooms other than core, pairs of functions", switches()),
        ("words of Markdown", sum(len(page.split()) for page in pages)),
        ("words a sentence", f"{sum(sentences) / len(sentences):.1f}"),
        ("share of sentences over 30 words", f"{sum(n > 30 for n in sentences) / len(sentences):.1%}"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value:>8}")


if __name__ == "__main__":
    main()
