"""The pictures of the pages: each is drawn by a command that a page names, and can be read where it is shown.

Shown half as wide as a screen, on a light and on a dark page, by those who do not tell red from green.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from command_line import run
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from pages import FENCED, shell, texts_of

import optsched
from optsched import showing
from optsched.measuring.decomposing import decompose_all
from optsched.measuring.matrix import gap_matrix, posable
from optsched.measuring.reproducing import figures as records
from optsched.showing.clusters import LOOKS, NEAR
from optsched.showing.figures import look

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
IMAGES = sorted((DOCS / "images").iterdir())

#: Pages without a picture, and why none would help.
WITHOUT = {
    "complete": "no numbers: names that a shell completes",
    "large": "seconds and megabytes of one machine, which readers look up one at a time",
    "limits": "messages and exit codes",
    "package": "code, and a gap as in heuristic.md",
    "properties": "tests that pass or fail",
    "tables": "what a file must have, and a gap of 0",
}

#: The figures of papers on the pages of results, drawn as docs/gallery.md says.
FIGURES = {
    "agosta-6b": "agosta/6b",
    "agosta-frontier": "agosta/frontier",
    "agosta-replicas": "agosta/replicas-labl",
    "guo-4a": "guo-2012/4a",
    "guo-6a": "guo-2012/6a",
    "guo-6h": "guo-2012/6h",
    "ras-lowest-utility": "sharmilarani/lowest-utility",
    "shen-joint": "shen-2016/joint",
}


def blocks() -> Iterator[tuple[str, str]]:
    """The blocks of commands that draw into docs/images: the name of the picture, and the block."""
    for page in (DOCS / "gallery.md", *sorted(DOCS.glob("results-*.md"))):
        for language, _, block in FENCED.findall(page.read_text(encoding="utf-8")):
            if language == "bash" and (drawn := re.search(r"docs/images/([\w-]+)\.svg", block)):
                yield drawn[1], block


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_with_numbers_shows_a_picture(page: Path) -> None:
    """Tests that each page of one task has a picture, save those that need none."""
    assert ("](../images/" in page.read_text(encoding="utf-8")) != (page.stem in WITHOUT)


def test_every_picture_is_drawn_by_a_command() -> None:
    """Tests that each picture has a block, a figure's record, or a page that shows it and draws its name."""
    known = {name for name, _ in blocks()} | set(FIGURES)
    for page in (DOCS / "how-to").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        drawn = {name for _, _, block in FENCED.findall(text) for name in re.findall(r"([\w-]+)\.svg", block)}
        known |= drawn & set(re.findall(r"\.\./images/([\w-]+)\.svg", text))
    assert {picture.stem for picture in IMAGES} == known


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "block"), list(blocks()), ids=[name for name, _ in blocks()])
def test_a_block_draws_its_picture(tmp_path: Path, real_data: Path, name: str, block: str) -> None:
    """Tests that a picture has the texts that the commands above or below it draw today."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    for trace in (real_data / "hadoop").iterdir():
        (tmp_path / trace.name).symlink_to(trace)
    printed = shell(block, tmp_path)
    drawn = tmp_path / "docs" / "images" / f"{name}.svg"
    assert drawn.exists(), printed
    assert texts_of(drawn) == texts_of(DOCS / "images" / drawn.name) != []


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(FIGURES))
def test_a_figure_draws_its_picture(tmp_path: Path, name: str) -> None:
    """Tests that the picture of a paper's figure is of what is stored."""
    drawn = tmp_path / f"{name}.svg"
    assert run("figure", FIGURES[name], "--stored", "--effort", "full", "--plot", str(drawn)).exit_code == 0
    assert texts_of(drawn) == texts_of(DOCS / "images" / drawn.name) != []


# How they look --------------------------------------------------------------------------------------------------------


def sizes(element: ElementTree.Element, scale: float = 1.0) -> Iterator[float]:
    """The sizes of all texts below an element, in units of the picture."""
    for factor in re.findall(r"scale\((-?[\d.]+)", element.get("transform", "")):
        scale *= abs(float(factor))
    if element.tag.endswith("}text"):
        found = re.search(r"font(?:-size)?:[^;]*?([\d.]+)px", element.get("style", ""))
        assert found is not None, "a text without a size"
        assert "matrix" not in element.get("transform", ""), "its scale is not known here"
        yield scale * float(found[1])
    for child in element:
        yield from sizes(child, scale)


def smallest(root: ElementTree.Element) -> float:
    """Pixels of the smallest text of a picture that is shown on 700 pixels: half of a screen."""
    return min(sizes(root)) * 700 / float(root.get("viewBox", "").split()[2])


@pytest.mark.parametrize("picture", IMAGES, ids=lambda picture: picture.stem)
def test_a_picture_is_legible_on_any_page(picture: Path) -> None:
    """Tests that the smallest text has 8 pixels at half width, and that all stands on white, on a dark page as well."""
    root = ElementTree.parse(picture).getroot()
    assert smallest(root) >= 8
    path = next(element for element in root.iter() if element.tag.endswith("}path"))
    width, height = root.get("viewBox", "").split()[2:]
    assert path.get("style") == "fill: #ffffff"
    assert path.get("d", "").split() == f"M 0 {height} L {width} {height} L {width} 0 L 0 0 z".split()


#: What remains of a colour, as linear red, green and blue, for those without one kind of cones (Machado et al. 2009).
SIGHTS = {
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def seen(colours: list[str], sight: str) -> Any:
    """Colours in CIELAB, as they are seen."""
    light = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in colours])
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ np.array(SIGHTS[sight]).T, 0, 1) @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("sight", list(SIGHTS))
@pytest.mark.parametrize(
    "colours", [[look(number)["color"] for number in range(7)], [LOOKS[cell]["facecolor"] for cell in NEAR]]
)
def test_colours_differ_for_colour_blind_readers(colours: list[str], sight: str) -> None:
    """Tests that two colours of lines, or of how near tasks are to their data, are far apart (2 can just be seen)."""
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen(colours, sight), 2)) > 15


# Axes -----------------------------------------------------------------------------------------------------------------

#: Units, as they stand in parentheses at the end of a label.
UNITS = re.compile(
    r"\((%.*|s|MB|GB|MB/s|Mb/s|maps|units|units of work|tasks per unit of work|hundredths|share|level)\)$"
)

#: Labels without a unit, and why they need none.
BARE = {
    **dict.fromkeys(
        ("tasks", "tasks, slots", "servers", "nodes", "replicas of a block", "slots of each node", "maps of a job"),
        "a count",
    ),
    **dict.fromkeys(("maps at once", "jobs that wait", "types", "datacenters", "node-local tasks"), "a count"),
    **dict.fromkeys(("running maps", "running reduces", "waiting maps", "waiting reduces"), "a count"),
    **dict.fromkeys(("map slots", "reduce slots"), "no numbers: a row for each slot"),
    **dict.fromkeys(("idle slots of all slots", "idle slots for each task", "randomness"), "a share"),
    "elapsed time of rand over that of dl": "a ratio",
    "at most x times the best heuristic": "a factor",
    "alpha (DLC)": "a weight: the cost of a task off its data",
    "lowest utility of a job": "a utility, from 0 to 1",
    "P_min": "a probability",
}


INSTANCE, SCHEDULE = "papers/guo-fig2", "examples/order-of-jobs"


@cache
def runs() -> list[Any]:
    """Four runs of one instance over time."""
    return [optsched.simulate(optsched.load(SCHEDULE), policy) for policy in ("fair", "dl", "fifo", "rand")]


@cache
def gaps() -> Any:
    """Gaps of two heuristics: of one problem in per cent, of one above an optimum of 0."""
    return optsched.study(INSTANCE, ["lsap", "latency"], ["dl", "rand"])


def parts(*policies: str) -> Any:
    """What gaps are made of."""
    return decompose_all(optsched.problem("job-times", SCHEDULE), policies, seeds=range(1))


#: Each kind of picture.
KINDS: dict[str, Callable[[], Figure]] = {
    "box_plot": lambda: showing.box_plot(gaps()),
    "distribution": lambda: showing.distribution(gaps(), absolute=True),
    "gaps_picture": lambda: showing.gaps_picture(gaps()),
    "performance_profile": lambda: showing.performance_profile(gaps()),
    "chains_picture": lambda: showing.chains_picture(optsched.explain(optsched.problem("lsap", INSTANCE), "rand")),
    "decomposition_picture": lambda: showing.decomposition_picture(parts("fair")[0]),
    "decompositions_picture": lambda: showing.decompositions_picture(parts("fair", "dl")),
    "draw": lambda: optsched.draw(
        optsched.problem("lsap", optsched.generate("lsap", nodes=50, tasks=60)), "dl", "rand", "fair"
    ),
    "frontier_picture": lambda: showing.frontier_picture(
        optsched.frontier(optsched.problem("latency", "papers/fsy-not-optimal"))
    ),
    "gantt_picture": lambda: showing.gantt_picture(runs()),
    "heat_map": lambda: showing.heat_map(["dl"], ["lsap"], {("dl", "lsap"): ("25 %", 25.0)}),
    "locality_picture": lambda: showing.locality_picture(runs()),
    "matrix_picture": lambda: showing.matrix_picture(gap_matrix(posable(optsched.load(INSTANCE)))),
    "reductions_picture": lambda: showing.reductions_picture(runs()),
    "reproduced_picture": lambda: showing.reproduced_picture(optsched.figure("guo-2012/4b").stored("quick")),
    "running_picture": lambda: showing.running_picture(runs()),
    "times_picture": lambda: showing.times_picture(runs()),
}

#: What draws into other axes, or writes.
NO_KINDS = {"MissingGlyphs", "picture", "reproduced_pgf", "save", "staircase", "write_report"}


@pytest.mark.parametrize("kind", sorted(set(showing.__all__) - NO_KINDS))
def test_axes_name_their_units_and_all_is_legible(kind: str) -> None:
    """Tests the labels of all axes with numbers, of every kind of picture, and its smallest text at half width."""
    figure = KINDS[kind]()
    for axes in figure.axes:
        held = [axes.xaxis, axes.yaxis, *(axis for child in axes.child_axes for axis in (child.xaxis, child.yaxis))]
        for axis in held:
            named = isinstance(axis.get_major_locator(), FixedLocator)
            if axes.axison and not named and any(tick.label1.get_visible() for tick in axis.get_major_ticks()):
                label = axis.get_label_text().partition("\n")[0]
                assert UNITS.search(label) or label in BARE, f"{kind}: {label!r} has no unit"
    assert smallest(ElementTree.fromstring(showing.picture(figure))) >= 8


def test_records_name_their_units() -> None:
    """Tests the labels of the papers' figures."""
    labels: set[str] = set()
    for record in records():
        numbers = record.x is not None and not isinstance(record.x.quick[0], str)
        labels |= {record.y, record.across or "", record.x.name if numbers else ""}
    assert [label for label in labels - {""} if not UNITS.search(label) and label not in BARE] == []
