"""The site, built by Sphinx from the project's own pages: `sphinx-build -W --keep-going -n -c docs . build/site`.

The source folder is the project's root, so that the pages in `docs`, the model cards and the notebooks are pages of the
site where they lie, and a link that works in the repository works on the site. Nothing is fetched from elsewhere when
the site is read: formulas are MathML.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import pydoc
import re
from functools import cache
from pathlib import Path
from types import ModuleType

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.logging import getLogger

import optsched

LOGGER = getLogger(__name__)

project = "optsched"
author = "The optsched authors"
project_copyright = author
version = release = optsched.__version__

root_doc = "docs/index"
include_patterns = ["docs/**.md", "models/*.md", "notebooks/*", "*/README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = [".*", "**/__pycache__", "build", "dist", "mutants", "optsched", "tests", "notebooks/*.py"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
]

# Pages --------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
#: Notebooks are shown with the outputs that they are committed with; the tests run them and compare.
nb_execution_mode = "off"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Reference ----------------------------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
#: The page of what `import optsched` offers.
PUBLIC = "docs/reference/python"
#: Signatures are shown as they are written: see `as_written`.
autodoc_typehints = "none"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_attr_annotations = False
default_role = "code"
#: Else "--problem" in a help text is shown with a dash.
smartquotes = False

# Looks --------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "optsched"
#: The site's front page is docs/index.html; whoever opens its root is led there.
templates_path = ["_templates"]
html_additional_pages = {"index": "to_index.html"}
html_copy_source = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"

#: The first line of a block that names the file in which it goes: "```python my_scheduler.py".
NAMED_BLOCK = re.compile(r"^```(\w+) (\S+\.\w+)$", re.MULTILINE)


def captioned(app: Sphinx, name: str, source: list[str]) -> None:
    """Show the name of the file above each block that has one."""
    source[0] = NAMED_BLOCK.sub(r"```{code-block} \1\n:caption: \2\n", source[0])


def mathml(translator: nodes.NodeVisitor, node: nodes.math | nodes.math_block) -> None:
    """A formula as MathML, which browsers draw by themselves."""
    block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def shown_elsewhere(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out of the page of a module what `import optsched` offers, which has its page."""
    public = name in optsched.__all__ and getattr(optsched, name) is obj
    return True if public and app.env.docname != PUBLIC else None


#: What stands for a colon while napoleon looks.
NO_COLON = "\N{MODIFIER LETTER COLON}"


def hide_colons(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keep napoleon from reading "Of the class: ..." as "TYPE: ..." in what is said of an attribute."""
    if what in ("attribute", "data", "property"):
        lines[:] = [line.replace(":", NO_COLON) for line in lines]


def show_colons(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Undo `hide_colons`."""
    lines[:] = [line.replace(NO_COLON, ":") for line in lines]


class Text(str):
    """A text that shows itself without quotes."""

    __repr__ = str.__str__


def plain(annotation: str) -> Text:
    """A type as it is written, without what `Annotated` says to the reader of instances."""
    tree = ast.parse(annotation, mode="eval").body
    if isinstance(tree, ast.Subscript) and ast.unparse(tree.value) == "Annotated":
        assert isinstance(tree.slice, ast.Tuple)
        tree = tree.slice.elts[0]
    return Text(ast.unparse(tree))


def as_written(
    app: Sphinx, what: str, name: str, obj: object, options: object, shown: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """A signature with the types as the source has them, and `...` for a default that has no spelling."""
    if shown is None or not callable(obj) or what == "exception":
        return None
    try:
        signature = inspect.signature(obj)
    except ValueError:  # of a builtin
        return None
    given = []
    for parameter in signature.parameters.values():
        if what == "method" and parameter.name == "self":
            continue
        if isinstance(parameter.annotation, str):
            parameter = parameter.replace(annotation=plain(parameter.annotation))
        if parameter.default is not parameter.empty and "<" in repr(parameter.default):
            parameter = parameter.replace(default=Text("..."))
        given.append(parameter)
    result = signature.return_annotation
    bare = signature.replace(parameters=given, return_annotation=inspect.Signature.empty)
    return str(bare), plain(result) if isinstance(result, str) and what != "class" else None


@cache
def imported() -> dict[str, str]:
    """What each name that the package imports anywhere, also for type checkers alone, stands for."""
    found: dict[str, str] = {}
    for path in Path(optsched.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                begins = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                found |= {entry.asname or entry.name: begins + entry.name for entry in node.names}
    return found


@cache
def modules() -> list[ModuleType]:
    """Every module of the package but those of an extra that is not installed."""
    found = []
    for entry in pkgutil.walk_packages(optsched.__path__, "optsched."):
        try:
            found += [importlib.import_module(entry.name)] * (not entry.name.endswith("__main__"))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("optsched"):
                raise
    return found


def exists(target: str) -> bool:
    """Whether a name in a signature or under "Raises" is that of something: of Python, a library, or this package."""
    first, dot, rest = target.partition(".")
    full = imported().get(first, first) + dot + rest
    located = any(pydoc.locate(each) is not None for each in (full, target))
    return located or any(hasattr(module, target) for module in modules())


def exact(app: Sphinx, doctree: nodes.document) -> None:
    """Look for a type where it is written, as two modules may have classes of one name; `resolved` finds the others."""
    for node in doctree.findall(pending_xref):
        if node.get("refdomain") == "py":
            node.attributes.pop("refspecific", None)


def resolved(app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: nodes.TextElement) -> nodes.Node | None:
    """What a type leads to: its place in this reference, however it was written; else nowhere, where there is one.

    A name that nothing bears stays missing, which is a warning.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    name = target.rpartition(".")[2]
    objects = env.domains.python_domain.objects
    documented = [entry for entry, of in objects.items() if entry.rpartition(".")[2] == name and not of.aliased]
    if len(documented) == 1 and target != documented[0]:
        domain, begun = env.domains.python_domain, node["refdoc"]
        return domain.resolve_xref(env, begun, app.builder, "obj", documented[0], node, shown)
    return shown if exists(target) else None


def whole(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of public names that the reference has not."""
    shown = env.domains.python_domain.objects
    for name in optsched.__all__:
        if name != "__version__" and f"optsched.{name}" not in shown:
            LOGGER.warning("optsched.%s is not in the reference", name, location=PUBLIC)


#: What Sphinx and the theme leave out for who reads by ear or keyboard: levels of headings, names of landmarks, and
#: that what scrolls can be reached.
MENDED = (
    (r'<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Pages">'),
    (r'<aside class="toc-drawer', '<aside aria-label="This page" class="toc-drawer'),
    (r"<pre(?! tabindex)", '<pre tabindex="0"'),
    (r'<div class="(math|table)-wrapper', r'<div tabindex="0" class="\1-wrapper'),
)


def unlisted(found: re.Match[str]) -> str:
    """The parameters of a long signature, a line each, which Sphinx makes a list of definitions without terms."""
    lines = found[1].replace("<dd>", '<span style="display: block; margin-left: 2em">').replace("</dd>", "</span>")
    return f"<span>{lines}</span>"


def accessible(app: Sphinx, error: Exception | None) -> None:
    """Put `MENDED` into every page that was written."""
    for path in [] if error else app.outdir.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for pattern, instead in MENDED:
            text = re.sub(pattern, instead, text)
        text = re.sub(r"<dl>\s*(<dd><em class=\"sig-param.*?)</dl>", unlisted, text, flags=re.DOTALL)
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("autodoc-skip-member", shown_elsewhere)
    app.connect("autodoc-process-signature", as_written)
    app.connect("autodoc-process-docstring", hide_colons, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", show_colons, priority=600)  # and after it
    app.connect("doctree-read", exact)
    app.connect("missing-reference", resolved)
    app.connect("env-check-consistency", whole)
    app.connect("source-read", captioned)
    app.connect("build-finished", accessible)
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))


html_math_renderer = "mathml"
