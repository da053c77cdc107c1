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

from optsched.core.deprecated import find_former_modules

if TYPE_CHECKING:
    from optsched.certificates import certify
    from optsched.core.errors import InputError, OptschedError, UsageError
    from optsched.core.instance import Instance, State
    from optsched.core.network import FlowNetwork
    from optsched.core.placement import Placement, Schedule
    from optsched.core.results import Certificate, Limit, Proof, Solution, Termination
    from optsched.heuristics.simulating import Simulation, simulate
    from optsched.instances.files import load, save
    from optsched.instances.generate import generate
    from optsched.measuring.decomposing import Decomposition, decompose
    from optsched.measuring.explaining import Explanation, explain
    from optsched.measuring.gaps import GapReport, gap
    from optsched.measuring.judging import claims
    from optsched.measuring.mining import Find, mine
    from optsched.measuring.reproducing import figure, figures
    from optsched.measuring.studies.choices import Family
    from optsched.measuring.studies.tables import GapReports, study
    from optsched.measuring.sweeping import Sweep, load_sweep, sweep
    from optsched.problems import problem
    from optsched.routes import bounds, frontier, solve
    from optsched.showing import draw, write_report

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
    "claims",
    "decompose",
    "draw",
    "explain",
    "figure",
    "figures",
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
        "measuring.decomposing": ["Decomposition", "decompose"],
        "core.errors": ["InputError", "OptschedError", "UsageError"],
        "measuring.explaining": ["Explanation", "explain"],
        "measuring.gaps": ["GapReport", "gap"],
        "heuristics.simulating": ["Simulation", "simulate"],
        "core.instance": ["Instance", "State"],
        "instances.files": ["load", "save"],
        "instances.generate": ["generate"],
        "measuring.judging": ["claims"],
        "measuring.mining": ["Find", "mine"],
        "core.network": ["FlowNetwork"],
        "core.placement": ["Placement", "Schedule"],
        "problems": ["problem"],
        "measuring.reproducing": ["figure", "figures"],
        "core.results": ["Certificate", "Limit", "Proof", "Solution", "Termination"],
        "routes": ["bounds", "frontier", "solve"],
        "showing": ["draw", "write_report"],
        "measuring.studies.choices": ["Family"],
        "measuring.studies.tables": ["GapReports", "study"],
        "measuring.sweeping": ["Sweep", "load_sweep", "sweep"],
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
