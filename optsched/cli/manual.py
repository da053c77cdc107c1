"""`optsched docs`: the pages of the documentation that come with the package."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from optsched.cli import arguments
from optsched.errors import UsageError, nearest

__all__ = ["docs", "pages"]

#: What only the site's builder fills in: a page with such a block is for the site alone.
_OF_THE_SITE = re.compile(r"^```\{(include|eval-rst|toctree)\}", re.MULTILINE)


def pages() -> dict[str, Path]:
    """The file of each page by its name, such as `how-to/explain`.

    Examples
    --------
    >>> pages()["how-to/explain"].name
    'explain.md'
    """
    from optsched.resources import folder

    root = folder("docs")
    files = {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.md"))}
    return {name: path for name, path in files.items() if not _OF_THE_SITE.search(path.read_text(encoding="utf-8"))}


@click.command()
@click.argument("page", required=False)
@click.option("--path", is_flag=True, help="Print where the page's file is, to open it elsewhere.")
def docs(page: str | None, path: bool) -> None:
    """Show the documentation, which comes with the package.

    Without PAGE the names and titles of all pages. With one its text: drawn on a terminal, elsewhere as Markdown.
    """
    found = pages()
    if page is None:
        from optsched.printing import page_width

        titles = [file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for file in found.values()]
        lines = click.HelpFormatter(width=page_width())
        lines.write_dl(list(zip(found, titles, strict=True)))
        arguments.emit(lines.getvalue())
        return
    wanted = page.removesuffix(".md")
    named = [file for name, file in found.items() if wanted in (name, name.rpartition("/")[2])]
    if not named:
        known = {name.rpartition("/")[2]: name for name in found} if "/" not in wanted else found
        raise UsageError(f'there is no page "{page}"; {nearest(wanted, list(known))}; optsched docs lists all')
    if path:
        arguments.emit(f"{named[0]}\n")
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(named[0].read_text(encoding="utf-8")))
    else:
        arguments.emit(named[0].read_text(encoding="utf-8"))
