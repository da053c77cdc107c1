"""Engines without placement problems: HiGHS by arrays, Pyomo and PuLP, networks, and profiles that limit them.

`searches` applies them to each problem.
"""
