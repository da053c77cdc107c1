"""Generated instances: the same for the same seed, sound, and distinguished by their names."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pytest

from optsched.core.instance import Instance
from optsched.instances.generate import FAMILIES, generate

#: sha256 of each family's instance with default parameters and seed 1: a change of any draw shows here.
PINNED = {
    "lsap": "ee7c6b45b604aedc5184ad0d6c8f336eb33c6583d060de065a711f98749c002b",
    "fair-lsap": "b9142a089857b4d9eb0c8b82d69b13060b06a828f4f202f82c813a94e53ed188",
    "lsap-fairness": "b9142a089857b4d9eb0c8b82d69b13060b06a828f4f202f82c813a94e53ed188",
    "worst-group": "59c64ed6273a7ab13c42ca8a24ef214e05b843818574ace2cf554b45e1ef8f04",
    "generalized-assignment": "fdf5464cb3f50a26b1de007b5a0e9b56bc4502d86d1be056e47a040742a1f979",
    "min-cost-flow": "6862cf1513329a118fc476b87e33005c592facab5d120351cac9ab64922f0f3c",
    "skewed-lsap": "44684042dd8d694afcf4a64e560237610890ec00ec23fb27784e83e34c0e003c",
    "guo-fig4": "03c309cee8cb66497158968bc281b89c63f66f6becfa9ed209e03b448573df63",
    "guo-table3": "8e7186da00eff0147a106f0f4c8aeece1c781c78524873e31355c13db65e27f3",
    "guo-table3-delay": "45a663fc2b9805e5fdf31bc99eb8809a0fb1da4db606ad51f0915f1966f79111",
    "guo-fairness": "b9142a089857b4d9eb0c8b82d69b13060b06a828f4f202f82c813a94e53ed188",
    "flow": "2fb7f1a93a3b61f1995207dad6372fa39dac5ca741e8ef966259af6647b0ef21",
    "hsu-table3": "31dd40f88003b1924c9ecaf729831c9cdf0aa8e7e0bc6297f1588a2b8c5facd4",
    "latency": "8b35f5d6f8bb007aa58a4d727d2d802665e3e89dbed2e6767d68da391146a6b6",
    "labl": "a346ff7063723ca4ae7521f16e5fae65ffac686e998e2c4ac1385718dcdb0159",
    "skewed-latency": "c8004740fffb6e7c303b4fac10e9cad169aa2537a5eb68aee56ed9811f60a852",
    "hot-server": "67b05e105c9f3820f6b64dd2eacf7cb043647b4a6a7ba39ce2f2d8e5c1847277",
    "transmission": "72260a2af9e9459286e617636eb29b872a1bbdb75ea831e39c0f7585e6be1609",
    "shen-table2": "03f8c848da394cce143ee11c9e58a64ca71de9748fafe9dca07f8c7b24b57347",
    "day": "2a6ac17aad9c9774053be982f6accba1c701c4d76b3c3f7bd0b8ab54b5c4c865",
    "shen-run": "c950360f6ba587cdad309c219915e18a49d220adaff4e004c649558592cf4e66",
    "hsu-run": "358742aa9e5af3a7d7f0e0f3d6aa768f978130849a66ce2cf0b3b40409b6fe5d",
    "ras-run": "8b6246a3799476f319b91f1b52d9fb1c0d82943f0249e7570e723ae76ad963cb",
    "utility": "a4c77c690559969f7aef97000b16f6dbb428d635c3d33a7d5f063de6fdd3474c",
    "traffic": "f76ac33dd812e2e15f93e13e561a744ede10c2888398964ab3e4e09be350eaa6",
    "mixed": "b8458008f582a0b458427809d0520838c7c77df65ccfafba801146de2c8c8893",
    "makespan": "dfb7a0c754105cd32f7d7cbb72f5ea7c2ca59b3b6e6acd88c96cabd0b8740e3a",
    "job-times": "6d2dc1a3a07f5a1ca125dd411d3996529c1b93c7ad1a9bd17bb2c97efd8cad20",
    "planted-lsap": "f8ba3f1910e4754a77d05e10dd0732062213c1af181f70cd744b7a4f3c25e793",
    "planted-fair-lsap": "f80607d892cbff8be2f70b5a9e75f83da8cdfaf9bcbf1edef60535183214643f",
    "planted-latency": "64014e3a108be4437c94487819f908b4903ed119e3e1ec9e5c27ec13b4901cce",
    "planted-flow": "13ad28d12ebf275d80f2eff0edd784857cd34636acba63f7751539a62493b99b",
}


#: Parameters that several families share.
_LSAP = "nodes=12 slots=2 idle_ratio=0.7 tasks=15 replicas=2 racks=3 lost=0.25"
_OVER_TIME = (
    "nodes=6 tasks=20 reduces=5 jobs=5 groups=2 racks=3 replicas=2 slots=3 reduce_slots=2 longest=9 gap=7 lost=0.2 "
    "finished=0.5 running=0.4 busy=0.1 size=7"
)
_TABLE_2 = "batch=3 divide=40 nodes=9 racks=2 slots=3 reduce_slots=1"
_UTILITY = "jobs=5 nodes=6 types=2 maps=7 reduces=3 room=0.3 goals=0.5"

#: Families with every parameter changed, and the beginning of the sha256 of their instance of seed 3.
CHANGED = [
    ("lsap", _LSAP, "a9dc279f45f015f9"),
    ("fair-lsap", f"{_LSAP} weights=1,2.5", "fd9a2fd49bd14844"),
    ("lsap-fairness", f"{_LSAP} weights=1,2.5", "fd9a2fd49bd14844"),
    ("worst-group", f"{_LSAP} groups=3 exponent=2", "8a5d1493b73ff2fc"),
    ("skewed-lsap", f"{_LSAP} exponent=2", "3aed6fd563b013cf"),
    ("guo-fig4", "nodes=20 tasks=12 replicas=4", "6b649bd56eb88655"),
    ("guo-table3", "nodes=300 slots=3 idle_ratio=0.2 tasks=64 replicas=2", "a44ebf38806bcabb"),
    ("guo-table3-delay", "tasks=16", "97ae6b724bbf27a8"),
    ("flow", "nodes=14 tasks=12 slots=3 idle_ratio=0.6 replicas=3 block=128 lost=0.25 reduces=2", "fd4062388e9243c7"),
    ("hsu-table3", "block=128 slots=2", "bca5db498219a739"),
    ("hsu-run", "block=128 slots=2 reduces=2 gap=3", "6099e7bcfab917af"),
    ("latency", "nodes=8 tasks=20 replicas=3 max_load=2 lost=0.25", "ef40d492f7bfb8bf"),
    ("labl", "nodes=1700 tasks=3200 replicas=3 available=1600", "c2694060eb63151c"),
    ("skewed-latency", "nodes=8 tasks=20 replicas=3 max_load=3 exponent=2", "688f6261e961b069"),
    ("hot-server", "nodes=4 tasks=9", "28dafbb3acb24183"),
    (
        "transmission",
        "nodes=7 tasks=10 reduces=5 jobs=3 racks=3 replicas=3 slots=3 reduce_slots=2 finished=0.5 spread=9 running=0.4",
        "b72f9a1477e90903",
    ),
    ("shen-table2", _TABLE_2, "a9aa2b507f3ee1d2"),
    ("shen-run", f"{_TABLE_2} map_rate=2 reduce_rate=5 hop=0.5", "67436a77176d4895"),
    ("utility", f"{_UTILITY} running=0.3", "17a71e657509712b"),
    ("ras-run", f"{_UTILITY} gap=10 slots=3 reduce_slots=1", "ef9417eb01fe67b2"),
    (
        "traffic",
        "nodes=7 tasks=30 datacenters=3 jobs=6 reduces=5 replicas=3 ratio=1.5 smallest=50 spare=0.2 "
        "lost=0.25 finished=3 running=2",
        "ba265f831f36cf09",
    ),
    (
        "mixed",
        "nodes=10 tasks=20 reduces=6 jobs=4 groups=3 racks=5 datacenters=2 replicas=3 slots=3",
        "9654ba449059bf62",
    ),
    ("makespan", f"{_OVER_TIME} distances=5", "d84a436d447b205e"),
    ("job-times", f"{_OVER_TIME} distances=2", "2ffb4632225ba3a2"),
    (
        "day",
        "nodes=7 tasks=90 reduces=8 jobs=20 racks=3 replicas=2 slots=3 reduce_slots=2 hours=10 load=0.4 swing=0.5 "
        "factors=1,2,3",
        "4411ba7071838006",
    ),
    (
        "generalized-assignment",
        "nodes=3 tasks=12 tightness=0.9 correlated=1 resources=2 barred=0.2",
        "a236888342df7aba",
    ),
    (
        "min-cost-flow",
        "nodes=5 arcs=12 units=4 cost=7 parallel=0.5 unbounded=0.4 bounded_below=0.5",
        "006cfb1f1cdb0555",
    ),
    ("planted-lsap", "nodes=20 slots=3 idle_ratio=0.6 tasks=40 replicas=2 remote=5", "aac9ad7283220e9b"),
    ("planted-fair-lsap", "nodes=20 slots=1 tasks=30 replicas=2 remote=3", "49285996df1f4d88"),
    ("planted-latency", "nodes=20 max_load=4 makespan=6 replicas=3 remote=4", "e155d3daf1f96cf1"),
    ("planted-flow", "nodes=9 racks=3 tasks=12 slots=2 replicas=3", "71408793a90705af"),
    ("generalized-assignment", "correlated=2", "b6ecd6502ca8df14"),
    ("job-times", "distances=1", "f0af87f6814c2710"),
    ("job-times", "distances=3", "eb3a2adc32de3cd6"),
    ("job-times", "distances=4", "06d698a5d111e9a4"),
    ("utility", "types=1 room=0.3", "13b721d3470f520d"),
    ("shen-run", "batch=2 divide=1000", "c815b89ab5440da1"),
    ("labl", "available=1600", "090895a5fcc1137c"),
]


@pytest.mark.parametrize("name", FAMILIES)
def test_same_seed_same_instance(name: str) -> None:
    """Tests that a seed fixes the instance, also across runs and machines, and that another seed gives another one."""
    instance = generate(name, seed=1)
    if isinstance(instance, Instance):
        replicas = instance.replicas
        inside = replicas.row_of[1:] == replicas.row_of[:-1]
        assert np.all(np.diff(replicas.values)[inside] > 0)
    assert instance.sha256 == generate(name, seed=1).sha256 == PINNED[name]
    assert instance.sha256 != generate(name, seed=2).sha256


@pytest.mark.parametrize(("name", "parameters", "digest"), CHANGED)
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
    """Tests that each parameter with a range is drawn with above, and that the command does not say what is later."""
    for name, family in FAMILIES.items():
        free = {key for key, setting in family.parameters.items() if setting.minimum < setting.maximum}
        drawn = [parameters for other, parameters, _ in CHANGED if other == name]
        assert free <= {word.partition("=")[0] for parameters in drawn for word in parameters.split()}
        source = generate(name, seed=1).source
        assert not [key for key, setting in family.parameters.items() if setting.later and f"--{key} " in source]


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "skewed-lsap", "latency", "skewed-latency", "flow"])
def test_no_tasks(name: str) -> None:
    """Tests that a workload without tasks is an instance."""
    assert len(generate(name, tasks=0).workload) == 0


def test_hardly_any_task() -> None:
    """Tests that no map and no reduce, also without a slot, and more jobs than tasks are an instance."""
    assert len(generate("makespan", tasks=0, reduces=0, slots=0).workload) == 0
    assert len(generate("day", tasks=0, reduces=0).workload) == 0
    assert len(generate("day", tasks=3, jobs=5).workload) == 123
    assert len(generate("utility", jobs=0).workload) == 0
    assert len(generate("utility", jobs=2, maps=0, reduces=0).workload) == 0
    assert len(generate("generalized-assignment", tasks=0).workload) == 0


def test_names_tell_instances_apart() -> None:
    """Tests that sizes and every parameter that is not the default are in the name."""
    assert generate("latency", nodes=20, tasks=30).name == "latency-n20-t30-seed0"
    assert generate("fair-lsap", weights="1,2.5", seed=4).name == "fair-lsap-n60-t90-weights1-2.5-seed4"
    assert generate("hsu-table3", block=128).name == "hsu-table3-block128-seed0"
