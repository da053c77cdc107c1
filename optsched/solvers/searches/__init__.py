"""The exact searches, one module per problem: engines of `solvers`, with prices that prove an answer."""
