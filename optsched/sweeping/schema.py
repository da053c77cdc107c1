"""The tables of a store, which pandas and any SQLite browser read; docs/how-to/sweep.md says what each is for."""

from __future__ import annotations

__all__ = ["APPLICATION", "SCHEMA", "VERSION"]

#: Says in the file's header what it is ("opsw"), and by which version of the tables.
APPLICATION, VERSION = 0x6F707377, 1

_INSTANCES = """
CREATE TABLE instances (
    sha256 TEXT PRIMARY KEY NOT NULL,   -- of everything that a problem may read
    name TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    content BLOB NOT NULL               -- the instance as a file NAME.json.gz
)"""

_OPTIMA = """
CREATE TABLE optima (
    key TEXT PRIMARY KEY NOT NULL,
    instance_sha256 TEXT NOT NULL REFERENCES instances (sha256),
    problem TEXT NOT NULL,
    parameters TEXT NOT NULL,           -- JSON
    source_sha256 TEXT NOT NULL,        -- of the problem, where a package of its own brings it
    profile TEXT NOT NULL,              -- its name
    solver TEXT NOT NULL,               -- JSON: what of the profile the key covers
    version TEXT NOT NULL,              -- of optsched
    status TEXT NOT NULL,               -- done, out-of-time, out-of-memory, crashed, failed
    message TEXT NOT NULL,              -- what went wrong
    termination TEXT NOT NULL,
    objective REAL,                     -- first component
    bound REAL,
    certificate TEXT,
    time_limit REAL,
    run_limit REAL,
    memory_limit REAL,
    seconds REAL,
    peak_mb REAL,
    sweep INTEGER NOT NULL REFERENCES sweeps (id),
    ended TEXT NOT NULL,
    solution TEXT NOT NULL              -- a solution file, optsched-solution/1
)"""

_RUNS = """
CREATE TABLE runs (
    key TEXT PRIMARY KEY NOT NULL,
    optimum TEXT NOT NULL REFERENCES optima (key),
    status TEXT NOT NULL,               -- done, infeasible, starved, failed, out-of-time, out-of-memory, crashed
    message TEXT,                       -- what went wrong
    instance TEXT NOT NULL,
    instance_sha256 TEXT NOT NULL,
    problem TEXT NOT NULL,
    parameters TEXT NOT NULL,           -- JSON
    heuristic TEXT NOT NULL,
    heuristic_parameters TEXT NOT NULL, -- JSON
    source_sha256 TEXT NOT NULL,        -- of the heuristic's source
    seed INTEGER NOT NULL,
    profile TEXT NOT NULL,
    version TEXT NOT NULL,              -- of optsched
    objective REAL,                     -- first component
    reference REAL,
    reference_kind TEXT,                -- optimum, bound
    certificate TEXT,
    gap REAL,                           -- relative, of the component that decides; infinite beside 0
    absolute_gap REAL,
    heuristic_seconds REAL,
    time_limit REAL,
    run_limit REAL,
    memory_limit REAL,
    seconds REAL,
    peak_mb REAL,
    sweep INTEGER NOT NULL REFERENCES sweeps (id),
    ended TEXT NOT NULL,
    stale INTEGER NOT NULL DEFAULT 0,   -- 1: the optimum was solved again since
    record TEXT NOT NULL                -- JSON, as optsched gap --format json writes it
)"""

_SWEEPS = """
CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY,
    plan TEXT NOT NULL,                 -- which rows of the table planned
    command TEXT NOT NULL,
    options TEXT NOT NULL,              -- JSON
    version TEXT NOT NULL,
    versions TEXT NOT NULL,             -- JSON: Python, solvers, numpy, ...
    machine TEXT NOT NULL,              -- JSON
    runs INTEGER NOT NULL,
    begun TEXT NOT NULL,
    ended TEXT,                         -- null: it runs, or it was killed
    outcome TEXT                        -- finished, interrupted, or what went wrong
)"""

_PLANNED = """
CREATE TABLE planned (
    plan TEXT NOT NULL,
    position INTEGER NOT NULL,
    run TEXT NOT NULL,                  -- key of runs, where it is done
    "group" TEXT NOT NULL,              -- of instances
    instance TEXT NOT NULL,             -- what it is called in this plan
    label TEXT NOT NULL,                -- of the heuristic
    variant TEXT NOT NULL,              -- of the parameters
    PRIMARY KEY (plan, position)
) WITHOUT ROWID"""

_GAPS = """
CREATE VIEW gaps AS
SELECT instance, problem, parameters, heuristic, heuristic_parameters, seed, status, objective, reference,
       reference_kind, certificate, gap, absolute_gap, heuristic_seconds
FROM runs WHERE gap IS NOT NULL"""

#: What makes the tables, one command each.
SCHEMA = (
    _INSTANCES,
    _SWEEPS,
    _OPTIMA,
    _RUNS,
    _PLANNED,
    "CREATE INDEX runs_by_optimum ON runs (optimum)",
    _GAPS,
)
