"""Instances and numbers of single claims and figures, a module for each paper; records name them as `MODULE:NAME`."""
