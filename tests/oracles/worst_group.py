"""`worst-group`: what users of Guo et al. 2012's scheduler mean by fair: the note "Guo et al. 2012, note 11"."""

from fractions import Fraction

from .common import Decision, Value
from .lsap import Lsap

__all__ = ["WorstGroup"]


class WorstGroup(Lsap):
    """The highest mean of a group: what its placed tasks cost, over all its pending ones; then what all cost."""

    senses = ("min", "min")

    def value(self, decision: Decision) -> Value:
        spent: dict[str, list[int]] = {}
        for task, row, node in zip(self.pending, self.costs, decision, strict=True):
            group = self.jobs[task["job"]]["group"]
            spent.setdefault(group, []).append(0 if node is None else row[node])
        means = [Fraction(sum(costs), len(costs)) for costs in spent.values()]
        return max(means, default=Fraction(0)), *super().value(decision)
