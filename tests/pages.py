"""Pages of the documents and cards of the models: their blocks, tables and parts, as the tests hold and write them."""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from optsched.core.resources import folder

ROOT = Path(__file__).resolve().parent.parent
#: Every page of the project, so that none can be left out.
PAGES = sorted(page.relative_to(ROOT) for pattern in ("*.md", "[!.]*/**/*.md") for page in ROOT.glob(pattern))
FENCED = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BORROWED = re.compile(r"^<!-- files of: (\S+) -->$", re.MULTILINE)

#: What the commands are in the environment that runs the tests, installed or not.
COMMANDS = """
optsched() { "$PYTHON" -m optsched "$@"; }
python() { "$PYTHON" "$@"; }
pytest() { "$PYTHON" -m pytest -p no:cacheprovider "$@"; }
"""


def shell(command: str, folder: Path, *further: Path) -> str:
    """Everything that a command prints in a folder, where the project and `further` folders are found."""
    ours = ("COV_", "PYTEST_", "COLUMNS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {
        "PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *further))),
    }
    done = subprocess.run(
        ["bash", "-c", COMMANDS + command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


def texts_of(picture: Path) -> list[str]:
    """The texts of an SVG."""
    return re.findall(r"<text [^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8"))


def matches(expected: str, found: str) -> bool:
    """Whether an output is the one shown, where "..." stands for anything and white space does not count."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.DONT_ACCEPT_BLANKLINE
    return doctest.OutputChecker().check_output(expected, found, flags)


def steps(text: str) -> Iterator[tuple[str, str]]:
    """What a page tells to do, in order: (file name, content) or ("$ command", output)."""
    for language, file, block in FENCED.findall(text):
        if language == "console":
            if not file:
                yield from sessions(block)
        elif file:
            yield file, block


def sessions(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a session and its output."""
    for session in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
        if session:
            command, _, output = session.partition("\n")
            yield command, output


def borrowed(page: Path) -> Iterator[tuple[str, str]]:
    """The files that a page has from other pages: (file name, content)."""
    for name in BORROWED.findall(page.read_text(encoding="utf-8")):
        other = page.parent / name
        found = [(what, content) for what, content in steps(other.read_text(encoding="utf-8")) if what[:2] != "$ "]
        assert found, f"{page}: {name} writes no file"
        yield from found


def write_files(page: Path, folder: Path) -> None:
    """Write into a folder every file that a page needs: those of other pages, and its own as they are at its end."""
    for what, content in [*borrowed(page), *steps(page.read_text(encoding="utf-8"))]:
        if not what.startswith("$ "):
            (folder / what).write_text(content, encoding="utf-8")


#: A block of code, and the block of output after it where it prints something.
_BLOCKS = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)


def path_of(card: str) -> Path:
    """Where a card lies."""
    return folder("models") / f"{card}.md"


@cache
def run_card(card: str) -> tuple[str, dict[str, Any]]:
    """The card's text with the output that its code prints today, and what the code defined."""
    names: dict[str, Any] = {}

    def executed(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], f"{card}.md", "exec"), names)
        output = printed.getvalue()
        return f"```python\n{block['code']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return _BLOCKS.sub(executed, path_of(card).read_text(encoding="utf-8")), names


CONTRACT = Path(__file__).resolve().parents[1] / "docs" / "contract.md"


def shows(name: str, text: str) -> bool:
    """Whether the page has a text between the comments of a name. OPTSCHED_WRITE_GOLDEN=1 writes it there."""
    whole = CONTRACT.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n\n", f"\n<!-- /{name} -->"
    before, _, rest = whole.partition(begin)
    held, found, after = rest.partition(end)
    assert found, f"the page has no part {name}"
    if os.environ.get("OPTSCHED_WRITE_GOLDEN") == "1":
        CONTRACT.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
        return True
    return held == text
