"""The parts of `benchmarks/compare.py`: what is posed, how each way solves it, what is measured, what is printed."""
