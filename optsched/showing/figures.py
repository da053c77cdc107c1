"""What all pictures share: how a figure is begun and written, how it shows names, how lines differ.

Names come from files. They are shown as they are: never as mathematics (`$`), never as a label to be left out (`_`).
Long ones are shortened in the middle.
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.core.errors import UsageError, printable
from optsched.instances.documents.storing import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

__all__ = ["MissingGlyphs", "picture", "save"]

#: Kinds of files for pictures, and the settings that keep the day and the machine out of each.
KINDS: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "optsched"},
    ".png": {"Software": "optsched"},
    ".pdf": {"CreationDate": None, "Creator": "optsched", "Producer": "optsched"},
}

#: Points of the smallest texts, and inches of a picture before panels stand below one another. Shown half as wide as a
#: screen (700 pixels), such a text has 8 pixels, which are readable.
SMALL, WIDEST = 8.0, 9.7

#: Pixels of a PNG for each inch.
_RESOLUTION = 150

#: The same in a notebook.
_ON_A_PAGE = 100

#: The settings of a figure; the user's own do not count. Texts of an SVG stay texts, for searching and for screen
#: readers.
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "optsched",
    "svg.id": None,
    "pdf.fonttype": 42,
    "text.usetex": False,
    "text.parse_math": False,
    "font.size": 9.0,
    "hatch.linewidth": 0.6,
}

#: Colour-blind readers can tell them apart (Okabe and Ito); the darkest is first; each has a marker and a line style.
_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))

#: The fewest letters that all names share and that are then left out.
_SHARED = 3

#: Inches of a character of one point; few characters are wider.
_CHARACTER = 0.0092


class MissingGlyphs(UserWarning):
    """Characters that the font of a picture does not have; an SVG is shown with the fonts of its reader."""


@contextmanager
def begun(width: float, height: float, title: str = "", constrained: bool = True) -> Iterator[Figure]:
    """A new figure of a size in inches, which no global state knows; UsageError if matplotlib is not installed.

    It is made while the context is open: texts are shown as they are. `title` is the text for screen readers. With
    `constrained` matplotlib finds the places of its axes.
    """
    with settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained" if constrained else None)
        # Notebooks show it, without pyplot.
        vars(figure)["_repr_png_"] = partial(_for_notebooks, figure)
        figure.set_label(title)
        yield figure


def _for_notebooks(figure: Figure) -> bytes:
    """A small PNG, with 128 colours: a notebook keeps its pictures."""
    from PIL import Image  # which matplotlib needs, too

    small = io.BytesIO()
    with Image.open(io.BytesIO(picture(figure, ".png", resolution=_ON_A_PAGE))) as image:
        image.convert("RGB").quantize(128).save(small, "png", optimize=True)
    return small.getvalue()


def require() -> None:
    """Raise UsageError before the work is done if pictures cannot be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise UsageError('pictures need matplotlib: pip install "optsched[plots]"') from None


def check_kind(path: str | os.PathLike[str], prefix: str = "", also: Sequence[str] = ()) -> str:
    """The ending of a file for a picture, in small letters; UsageError if pictures have no such ending.

    `prefix` is put before the message, such as the option. `also` are endings that the caller writes itself.

    >>> check_kind("a.SVG")
    '.svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in KINDS:
        wrong = f'no kind of picture ends in "{suffix}"' if suffix else "the name has no ending"
        raise UsageError(f"{prefix}{os.fspath(path)}: {wrong}; it must end in {', '.join([*KINDS, *also])}")
    return suffix


@contextmanager
def settings() -> Iterator[None]:
    """The settings of this package's pictures, for as long as one is made or written."""
    require()
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def picture(figure: Figure, kind: str = ".svg", resolution: int = _RESOLUTION) -> bytes:
    """A figure as the content of a file: the same figure made again gives the same bytes.

    Parameters
    ----------
    figure
        What to write.
    kind
        `.svg`, `.png` or `.pdf`.
    resolution
        Of a `.png`: dots per inch.

    Raises
    ------
    UsageError
        For another kind.

    Warns
    -----
    MissingGlyphs
        For characters that would be invisible.
    """
    metadata = KINDS[check_kind(f"picture{kind}")]
    title = str(figure.get_label())
    if title:
        metadata = {**metadata, "Title": title}
    content = io.BytesIO()
    with settings(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(content, format=kind.removeprefix(".").lower(), dpi=resolution, metadata=metadata)
    missing: dict[str, None] = {}
    for warning in caught:
        glyph = re.match(r"Glyph (\d+) ", str(warning.message))
        if glyph is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        else:
            missing[chr(int(glyph[1]))] = None
    if missing and kind.lower() != ".svg":
        shown = "".join(list(missing)[:20])
        message = f"the font of the picture lacks {shown}: they are shown as boxes; a picture in .svg shows them"
        warnings.warn(MissingGlyphs(message), stacklevel=2)
    return content.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, whose ending says how: `.svg`, `.png` or `.pdf`.

    The file is written next to an old one, and replaces it when it is complete. The same figure made again gives the
    same bytes: no day, no random names.

    Raises
    ------
    UsageError
        For another ending; nothing is written.
    InputError
        If the file cannot be written there, for instance because the folder does not exist.

    Examples
    --------
    >>> import tempfile, optsched
    >>> from optsched.showing import box_plot
    >>> figure = box_plot(optsched.study("papers/guo-table2", "fair-lsap", ["dl", "fair"]).frame())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(figure, f"{folder}/gaps.svg")
    ...     print(Path(folder, "gaps.svg").read_text()[:5])
    <?xml
    """
    kind = check_kind(path)
    write_whole(path, picture(figure, kind))


# Names ------------------------------------------------------------------------------------------------------------


def short(name: str, most: int = 28) -> str:
    """A name in at most `most` characters, cut in its middle; control characters are spelled out.

    >>> short("attempt_200904211745_0002_m_000014_0", 20)
    'attempt_20…_000014_0'
    """
    text = printable(str(name))
    if len(text) <= most:
        return text
    head = math.ceil((most - 1) / 2)
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def trimmed(names: Sequence[str], most: int) -> tuple[list[str], str]:
    """Names without their common beginning and end, if one is longer than `most`; and that common part, in words.

    >>> trimmed(["task_2009_m_000014", "task_2009_m_000015"], 12)
    (['…14', '…15'], 'begin with task_2009_m_0000')
    >>> trimmed(["rack1-a.example.org", "rack2-b.example.org"], 12)
    (['…1-a…', '…2-b…'], 'begin with rack, end in .example.org')
    >>> trimmed(["t1", "t2"], 12)
    (['t1', 't2'], '')
    """
    if len(set(names)) < 2 or max(map(len, names)) <= most:
        return [short(name, most) for name in names], ""
    left = max(0, min(map(len, names)) - 2)  # at least two letters of each are shown
    begin = min(left, _alike(names))
    end = min(left - begin, _alike([name[::-1] for name in names]))
    begin, end = (length if length >= _SHARED else 0 for length in (begin, end))
    if not begin and not end:
        return [short(name, most) for name in names], ""
    first = names[0]
    shared = [f"begin with {short(first[:begin], 40)}"] if begin else []
    shared += [f"end in {short(first[len(first) - end :], 40)}"] if end else []
    cut = [name[begin : len(name) - end] for name in names]
    shown = [f"{'…' * bool(begin)}{short(name, most - 2)}{'…' * bool(end)}" for name in cut]
    return shown, ", ".join(shared)


def _alike(names: Sequence[str]) -> int:
    """The number of letters at the beginning that all names share."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def wide(text: str, size: float) -> float:
    """Width in inches of a text in points; East Asian characters are twice as wide."""
    from unicodedata import east_asian_width

    return _CHARACTER * size * sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def headed(figure: Figure, title: str) -> None:
    """A title above all, broken if the figure is too narrow for it."""
    lines = fold(title, figure.get_figwidth(), 9, max_lines=4, placeholder=" ...")
    figure.suptitle("\n".join(lines), fontsize=9)


def fold(text: str, width: float, size: float, **how: Any) -> list[str]:
    """The lines of a text of a size in a width in inches; `how` is `textwrap.wrap`'s."""
    from textwrap import wrap

    return wrap(text, max(12, int(width / (size * _CHARACTER))), break_on_hyphens=False, **how)


def keyed(
    parent: Axes | Figure, handles: Sequence[Any], names: Sequence[str], fontsize: float = SMALL, **how: Any
) -> Legend:
    """A legend of handles and names, also those that begin with `_`, which matplotlib would leave out."""
    return parent.legend(
        list(handles), list(names), **{"frameon": False, "fontsize": fontsize, "handlelength": 3.0, **how}
    )


def look(number: int) -> dict[str, Any]:
    """Colour, marker and line style of the line of this number: the other two distinguish it in black and white.

    >>> look(0)["marker"], look(1)["marker"], look(0)["linestyle"], look(1)["linestyle"]
    ('o', 's', '-', '--')
    """
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "markersize": 4.5,
        "linewidth": 1.2,
        "markerfacecolor": "white" if number // len(_MARKERS) % 2 else _COLOURS[number % len(_COLOURS)],
    }


def whole_ticks(axis: Axis, values: Sequence[Any], most: int = 6) -> None:
    """Some ticks, only at whole numbers if all values are whole."""
    from matplotlib.ticker import MaxNLocator

    integral = all(value == int(value) for value in values if math.isfinite(value))
    axis.set_major_locator(MaxNLocator(nbins=most, integer=integral, min_n_ticks=1))
