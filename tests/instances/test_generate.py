"""Generated instances: the same for the same seed, sound, and distinguished by their names."""

import shlex
from typing import Any

import numpy as np
import pytest

from optsched.core.instance import Instance
from optsched.instances.generate import FAMILIES, generate

#: Parameters that several families share, or that are long.
_LSAP = "nodes=12 slots=2 idle_ratio=0.7 tasks=15 replicas=2 racks=3 lost=0.25"
_OVER_TIME = "nodes=6 tasks=20 reduces=5 jobs=5 groups=2 racks=3 replicas=2 slots=3 reduce_slots=2 longest=9 gap=7 "
_OVER_TIME += "lost=0.2 finished=0.5 running=0.4 busy=0.1 size=7"
_TABLE_2 = "batch=3 divide=40 nodes=9 racks=2 slots=3 reduce_slots=1"
_UTILITY = "jobs=5 nodes=6 types=2 maps=7 reduces=3 room=0.3 goals=0.5"
_FLOW = "nodes=14 tasks=12 slots=3 idle_ratio=0.6 replicas=3 block=128 lost=0.25 reduces=2"
_TRANSMISSION = "nodes=7 tasks=10 reduces=5 jobs=3 racks=3 replicas=3 slots=3 reduce_slots=2 finished=0.5 spread=9 "
_TRANSMISSION += "running=0.4"
_TRAFFIC = "nodes=7 tasks=30 datacenters=3 jobs=6 reduces=5 replicas=3 ratio=1.5 smallest=50 spare=0.2 "
_TRAFFIC += "lost=0.25 finished=3 running=2"
_MIXED = "nodes=10 tasks=20 reduces=6 jobs=4 groups=3 racks=5 datacenters=2 replicas=3 slots=3"
_DAY = "nodes=7 tasks=90 reduces=8 jobs=20 racks=3 replicas=2 slots=3 reduce_slots=2 hours=10 load=0.4 "
_DAY += "swing=0.5 factors=1,2,3"
_PAIRS = "nodes=3 tasks=12 tightness=0.9 correlated=1 resources=2 barred=0.2"
_ARCS = "nodes=5 arcs=12 units=4 cost=7 parallel=0.5 unbounded=0.4 bounded_below=0.5"
_PLANTED = "nodes=20 slots=3 idle_ratio=0.6 tasks=40 replicas=2 remote=5"

#: Families, with the beginning of the sha256 of their instance of seed 1, other values of all parameters, and the same
#: of seed 3 with these: a change of any draw shows here.
DRAWS = [
    ("lsap", "ee7c6b45b604", _LSAP, "a9dc279f45f0"),
    ("fair-lsap", "b9142a089857", f"{_LSAP} weights=1,2.5", "fd9a2fd49bd1"),
    ("lsap-fairness", "b9142a089857", f"{_LSAP} weights=1,2.5", "fd9a2fd49bd1"),
    ("worst-group", "59c64ed6273a", f"{_LSAP} groups=3 exponent=2", "8a5d1493b73f"),
    ("skewed-lsap", "44684042dd8d", f"{_LSAP} exponent=2", "3aed6fd563b0"),
    ("guo-fig4", "03c309cee8cb", "nodes=20 tasks=12 replicas=4", "6b649bd56eb8"),
    ("guo-table3", "8e7186da00ef", "nodes=300 slots=3 idle_ratio=0.2 tasks=64 replicas=2", "a44ebf38806b"),
    ("guo-table3-delay", "45a663fc2b98", "tasks=16", "97ae6b724bbf"),
    ("flow", "2fb7f1a93a3b", _FLOW, "fd4062388e92"),
    ("hsu-table3", "31dd40f88003", "block=128 slots=2", "bca5db498219"),
    ("hsu-run", "358742aa9e5a", "block=128 slots=2 reduces=2 gap=3", "6099e7bcfab9"),
    ("latency", "8b35f5d6f8bb", "nodes=8 tasks=20 replicas=3 max_load=2 lost=0.25", "ef40d492f7bf"),
    ("labl", "a346ff706372", "nodes=1700 tasks=3200 replicas=3 available=1600", "c2694060eb63"),
    ("skewed-latency", "c8004740fffb", "nodes=8 tasks=20 replicas=3 max_load=3 exponent=2", "688f6261e961"),
    ("hot-server", "67b05e105c9f", "nodes=4 tasks=9", "28dafbb3acb2"),
    ("transmission", "72260a2af9e9", _TRANSMISSION, "b72f9a1477e9"),
    ("shen-table2", "03f8c848da39", _TABLE_2, "a9aa2b507f3e"),
    ("shen-run", "c950360f6ba5", f"{_TABLE_2} map_rate=2 reduce_rate=5 hop=0.5", "67436a77176d"),
    ("utility", "a4c77c690559", f"{_UTILITY} running=0.3", "17a71e657509"),
    ("ras-run", "8b6246a37994", f"{_UTILITY} gap=10 slots=3 reduce_slots=1", "ef9417eb01fe"),
    ("traffic", "f76ac33dd812", _TRAFFIC, "ba265f831f36"),
    ("mixed", "b8458008f582", _MIXED, "9654ba449059"),
    ("makespan", "dfb7a0c75410", f"{_OVER_TIME} distances=5", "d84a436d447b"),
    ("job-times", "6d2dc1a3a07f", f"{_OVER_TIME} distances=2", "2ffb4632225b"),
    ("day", "2a6ac17aad9c", _DAY, "4411ba707183"),
    ("generalized-assignment", "fdf5464cb3f5", _PAIRS, "a236888342df"),
    ("min-cost-flow", "6862cf151332", _ARCS, "006cfb1f1cdb"),
    ("planted-lsap", "f8ba3f1910e4", _PLANTED, "aac9ad728322"),
    ("planted-fair-lsap", "f80607d892cb", "nodes=20 slots=1 tasks=30 replicas=2 remote=3", "49285996df1f"),
    ("planted-latency", "64014e3a108b", "nodes=20 max_load=4 makespan=6 replicas=3 remote=4", "e155d3daf1f9"),
    ("planted-flow", "13ad28d12ebf", "nodes=9 racks=3 tasks=12 slots=2 replicas=3", "71408793a907"),
    ("generalized-assignment", "", "correlated=2", "b6ecd6502ca8"),
    ("job-times", "", "distances=1", "f0af87f6814c"),
    ("job-times", "", "distances=3", "eb3a2adc32de"),
    ("job-times", "", "distances=4", "06d698a5d111"),
    ("utility", "", "types=1 room=0.3", "13b721d3470f"),
    ("shen-run", "", "batch=2 divide=1000", "c815b89ab544"),
    ("labl", "", "available=1600", "090895a5fcc1"),
    ("guo-fairness", "b9142a089857", "", ""),
]


@pytest.mark.parametrize(("name", "default"), [(name, default) for name, default, _, _ in DRAWS if default])
def test_same_seed_same_instance(name: str, default: str) -> None:
    """Tests that a seed fixes the instance, also across runs and machines, and that another seed gives another one."""
    instance = generate(name, seed=1)
    if isinstance(instance, Instance):
        replicas = instance.replicas
        inside = replicas.row_of[1:] == replicas.row_of[:-1]
        assert np.all(np.diff(replicas.values)[inside] > 0)
    assert instance.sha256.startswith(default)
    assert instance.sha256 != generate(name, seed=2).sha256


@pytest.mark.parametrize(("name", "parameters", "digest"), [(name, *draw) for name, _, *draw in DRAWS if draw[1]])
def test_source_reproduces(name: str, parameters: str, digest: str) -> None:
    """Tests draws with other parameters, and that the command in `source`, whose values are text, makes the same."""
    given: dict[str, Any] = dict(word.split("=") for word in parameters.split())
    instance = generate(name, seed=3, **given)
    assert instance.sha256.startswith(digest)
    words = shlex.split(instance.source.removeprefix("generated by "))
    assert words[:3] == ["optsched", "generate", name]
    names = [word.removeprefix("--").replace("-", "_") for word in words[3::2]]
    options: dict[str, Any] = dict(zip(names, words[4::2], strict=True))
    assert set(given) <= set(options)
    again = generate(name, **options)
    assert (again.sha256, again.name, again.source) == (instance.sha256, instance.name, instance.source)
    assert instance.labels["generated"].startswith(f"family {name}, seed 3")
    assert instance.description


def test_every_parameter_is_changed() -> None:
    """Tests that each family and each parameter with a range is drawn above, and no command says what is later."""
    assert {name for name, default, *_ in DRAWS if default} == set(FAMILIES)
    for name, family in FAMILIES.items():
        free = {key for key, setting in family.parameters.items() if setting.minimum < setting.maximum}
        drawn = [parameters for other, _, parameters, _ in DRAWS if other == name]
        assert free <= {word.partition("=")[0] for parameters in drawn for word in parameters.split()}
        source = generate(name, seed=1).source
        assert not [key for key, setting in family.parameters.items() if setting.later and f"--{key} " in source]


@pytest.mark.parametrize(
    ("name", "sizes", "tasks"),
    [
        *((name, {"tasks": 0}, 0) for name in ("lsap", "skewed-lsap", "latency", "flow", "generalized-assignment")),
        ("makespan", {"tasks": 0, "reduces": 0, "slots": 0}, 0),
        ("day", {"tasks": 0, "reduces": 0}, 0),
        ("day", {"tasks": 3, "jobs": 5}, 123),
        ("utility", {"jobs": 0}, 0),
        ("utility", {"jobs": 2, "maps": 0, "reduces": 0}, 0),
    ],
)
def test_hardly_any_task(name: str, sizes: dict[str, int], tasks: int) -> None:
    """Tests that no map and no reduce, also without a slot, and more jobs than tasks are an instance."""
    assert len(generate(name, **sizes).workload) == tasks


def test_names_tell_instances_apart() -> None:
    """Tests that sizes and every parameter that is not the default are in the name."""
    assert generate("latency", nodes=20, tasks=30).name == "latency-n20-t30-seed0"
    assert generate("fair-lsap", weights="1,2.5", seed=4).name == "fair-lsap-n60-t90-weights1-2.5-seed4"
    assert generate("hsu-table3", block=128).name == "hsu-table3-block128-seed0"
