"""The former place of `optsched.tuning`, which the documents once named."""

from optsched.tuning import GRID, LIVENESS_LIMIT, Trial, Tuning, liveness_limit, tune_p_min

__all__ = ["GRID", "LIVENESS_LIMIT", "Trial", "Tuning", "liveness_limit", "tune_p_min"]
