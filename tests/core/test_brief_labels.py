"""What labels say was assumed or inferred."""

from __future__ import annotations

from optsched.core.brief import assumed, assumed_in_words
from optsched.core.instance import Cluster, Instance, Workload


def labelled(**labels: str) -> Instance:
    """An instance with labels."""
    return Instance(Cluster(["a"]), Workload(["t"]), labels=labels)


def test_whole_words() -> None:
    """Tests that a label counts where it has one of the words, not where a word of it merely begins so."""
    one = labelled(slots="inferred: the most", times="assumed", size="recorded", state="unassumed", name="assumedly")
    assert assumed(one) == ["slots", "times"]


def test_of_several_instances() -> None:
    """Tests each once, in order, and nothing of what is drawn as a whole."""
    one, other = labelled(slots="inferred"), labelled(times="assumed", slots="inferred")
    drawn = labelled(rates="assumed", generated="family lsap")
    assert assumed_in_words([one, other, drawn]) == "assumed or inferred: slots, times"
    assert assumed_in_words([drawn]) == assumed_in_words([]) == ""
