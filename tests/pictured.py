"""Clusters for tests of pictures, and what is read off a figure."""

from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg

import optsched
from optsched.core.instance import Instance

#: Names with signs that matplotlib would obey, long ones, and such as are written from right to left.
ODD = ("$x_1$", "_hidden", "узел", "a" * 200, "100 %", "שרת")


def racked(**more: Any) -> Instance:
    """Two racks and a node without; six maps, one of which runs, and a load."""
    document = {
        "format": "optsched/1",
        "name": "racked",
        "nodes": [
            {"id": "n1", "rack": "r1", "slots": 3, "idle_slots": 1},
            {"id": "n2", "rack": "r1", "slots": 2, "load": 4},
            {"id": "n3", "rack": "r2", "slots": 1},
            {"id": "n4", "slots": 1},
        ],
        "tasks": [
            {"id": "t1", "replicas": ["n1"]},
            {"id": "t2", "replicas": ["n1"]},
            {"id": "t3", "replicas": ["n3"]},
            {"id": "t4", "replicas": ["n1"]},
            {"id": "t5", "replicas": ["n2"]},
            {"id": "run", "state": "running", "node": "n1"},
        ],
    }
    loaded = optsched.load(document | more)
    assert isinstance(loaded, Instance)
    return loaded


def odd() -> Instance:
    """A cluster whose nodes, racks and tasks have odd names."""
    nodes = [{"id": name, "rack": f"rack {name}"[:250]} for name in ODD]
    tasks = [{"id": name, "replicas": [ODD[0]]} for name in ODD]
    return racked(name="odd $x$ _name_", nodes=nodes, tasks=tasks)


def texts(figure: Any) -> list[str]:
    """All texts of a figure: its own, those of axes and of legends."""
    held = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend() is not None)]
    return [text.get_text() for text in held] + [text.get_text() for legend in legends for text in legend.get_texts()]


def outside(figure: Any) -> list[str]:
    """The texts that reach beyond the edge of the figure."""
    FigureCanvasAgg(figure).draw()
    across, down = figure.bbox.width, figure.bbox.height
    held = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    held += [text for legend in figure.legends for text in legend.get_texts()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in held if text.get_text()]
    return [name for name, box in boxes if box.x0 < -1 or box.y0 < -1 or box.x1 > across + 1 or box.y1 > down + 1]
