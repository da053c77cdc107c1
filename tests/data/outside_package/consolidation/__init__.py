"""Tasks on few nodes, so that the others can sleep: a problem, a heuristic, an importer and a family for optsched."""
