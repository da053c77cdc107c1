"""How far a data-locality scheduler is from the proved optimum: the public names, and nothing else.

Each name is imported from its module when it is first used (PEP 562), so `import optsched` and `optsched --help` load
no solver and no numpy. Code inside the package imports from the modules themselves, never from here.

Examples
--------
>>> import optsched
>>> "solve" in dir(optsched)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from optsched.deprecated import find_former_modules

if TYPE_CHECKING:
    from optsched.certificates import certify
    from optsched.decomposing import Decomposition, decompose
    from optsched.drawing import draw
    from optsched.errors import InputError, OptschedError, UsageError
    from optsched.explaining import Explanation, explain
    from optsched.gaps import GapReport, gap
    from optsched.instance import Instance, State
    from optsched.instances.files import load, save
    from optsched.instances.generate import generate
    from optsched.mining import Find, mine
    from optsched.network import FlowNetwork
    from optsched.placement import Placement
    from optsched.problems import problem
    from optsched.reporting import write_report
    from optsched.results import Certificate, Limit, Proof, Solution, Termination
    from optsched.routes import bounds, frontier, solve
    from optsched.schedule import Schedule
    from optsched.simulating import Simulation, simulate
    from optsched.studies.choices import Family
    from optsched.studies.tables import GapReports, study
    from optsched.sweeping import Sweep, load_sweep, sweep

__all__ = [
    "Certificate",
    "Decomposition",
    "Explanation",
    "Family",
    "Find",
    "FlowNetwork",
    "GapReport",
    "GapReports",
    "InputError",
    "Instance",
    "Limit",
    "OptschedError",
    "Placement",
    "Proof",
    "Schedule",
    "Simulation",
    "Solution",
    "State",
    "Sweep",
    "Termination",
    "UsageError",
    "__version__",
    "bounds",
    "certify",
    "decompose",
    "draw",
    "explain",
    "frontier",
    "gap",
    "generate",
    "load",
    "load_sweep",
    "mine",
    "problem",
    "save",
    "simulate",
    "solve",
    "study",
    "sweep",
    "write_report",
]

__version__ = "0.2.0.dev0"

find_former_modules()

#: Module of each public name. The block under TYPE_CHECKING says the same to type checkers; a test holds them together.
_MODULES = {
    name: f"optsched.{module}"
    for module, names in {
        "certificates": ["certify"],
        "decomposing": ["Decomposition", "decompose"],
        "drawing": ["draw"],
        "errors": ["InputError", "OptschedError", "UsageError"],
        "explaining": ["Explanation", "explain"],
        "gaps": ["GapReport", "gap"],
        "instance": ["Instance", "State"],
        "instances.files": ["load", "save"],
        "instances.generate": ["generate"],
        "mining": ["Find", "mine"],
        "network": ["FlowNetwork"],
        "placement": ["Placement"],
        "problems": ["problem"],
        "reporting": ["write_report"],
        "results": ["Certificate", "Limit", "Proof", "Solution", "Termination"],
        "routes": ["bounds", "frontier", "solve"],
        "schedule": ["Schedule"],
        "simulating": ["Simulation", "simulate"],
        "studies.choices": ["Family"],
        "studies.tables": ["GapReports", "study"],
        "sweeping": ["Sweep", "load_sweep", "sweep"],
    }.items()
    for name in names
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'optsched' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
