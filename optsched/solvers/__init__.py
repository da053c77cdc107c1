"""Engines, which know nothing of placement problems: HiGHS by arrays, Pyomo and PuLP, networks, profiles to limit them.

What is made of them for one problem is in `searches`.
"""
