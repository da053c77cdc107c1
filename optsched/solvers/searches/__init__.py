"""The exact searches, one module a problem: made of the engines in `solvers`, with the prices that prove an answer."""
