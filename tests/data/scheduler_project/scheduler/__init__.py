"""A scheduler of a cluster."""
