"""Instances from files, documents, frames, generators and traces: everything that makes an `Instance` or writes one.

The noun itself, and the check that every instance passes, is in `optsched.core.instance`.
"""
