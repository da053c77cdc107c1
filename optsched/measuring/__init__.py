"""How far heuristics are from the reference, and why: gaps, studies, sweeps, the worst instance."""
