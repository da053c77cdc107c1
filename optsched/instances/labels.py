"""What the labels of an instance say was assumed or inferred: for whatever tells figures of it, or draws it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork

__all__ = ["assumed", "assumed_in_words"]

_ASSUMED = re.compile(r"\b(assumed|inferred)\b")

#: The label of what is drawn as a whole: what of it is assumed was told when it was drawn.
_DRAWN = "generated"


def assumed(noun: Instance | FlowNetwork) -> list[str]:
    """What of an instance or network is labelled as assumed or inferred.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> labels = {"slots": "inferred from the tasks that ran", "times": "recorded"}
    >>> assumed(Instance(Cluster(["a"]), Workload(["t"]), labels=labels))
    ['slots']
    """
    return [name for name, text in noun.labels.items() if _ASSUMED.search(text)]


def assumed_in_words(nouns: Iterable[Instance | FlowNetwork]) -> str:
    """What is labelled as assumed or inferred in some of them, each once; empty where nothing is.

    What is drawn as a whole is left out: its name says so, and it was told when it was drawn.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> one = Instance(Cluster(["a"]), Workload(["t"]), labels={"slots": "inferred"})
    >>> assumed_in_words([one, one])
    'assumed or inferred: slots'
    """
    found = dict.fromkeys(name for noun in nouns if _DRAWN not in noun.labels for name in assumed(noun))
    return f"assumed or inferred: {', '.join(found)}" if found else ""
