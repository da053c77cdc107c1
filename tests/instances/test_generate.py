"""Generated instances: the same for the same seed, sound, and told apart by their names."""

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


#: A small instance of each family that takes free sizes.
SMALL: dict[str, dict[str, Any]] = {
    "lsap": {"nodes": 12, "tasks": 9, "racks": 3, "slots": 2},
    "fair-lsap": {"nodes": 12, "tasks": 15, "replicas": 2},
    "lsap-fairness": {"nodes": 12, "tasks": 15, "replicas": 2},
    "worst-group": {"nodes": 12, "tasks": 15, "groups": 3},
    "generalized-assignment": {"nodes": 3, "tasks": 12, "tightness": 0.9, "correlated": 1},
    "min-cost-flow": {"nodes": 5, "arcs": 12, "bounded_below": 0.5},
    "skewed-lsap": {"nodes": 12, "tasks": 9, "exponent": 2},
    "flow": {"nodes": 7, "tasks": 12},
    "transmission": {"finished": 0.5, "spread": 9, "jobs": 3},
    "mixed": {"nodes": 7, "tasks": 5, "jobs": 3},
    "shen-table2": {"batch": 3, "divide": 40, "nodes": 9},
    "shen-run": {"batch": 3, "divide": 40, "nodes": 9, "hop": 0.5},
    "hsu-run": {"block": 128, "reduces": 0},
    "latency": {"nodes": 8, "tasks": 20},
    "skewed-latency": {"nodes": 8, "tasks": 20, "max_load": 3},
}


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


@pytest.mark.parametrize("name", FAMILIES)
def test_source_reproduces(name: str) -> None:
    """Tests that the command in `source`, whose values are text, makes the same instance, name included."""
    instance = generate(name, seed=3, **SMALL.get(name, {}))
    words = shlex.split(instance.source.removeprefix("generated by "))
    assert words[:3] == ["optsched", "generate", name]
    names = [word.removeprefix("--").replace("-", "_") for word in words[3::2]]
    options: dict[str, Any] = dict(zip(names, words[4::2], strict=True))
    again = generate(name, **options)
    assert (again.sha256, again.name, again.source) == (instance.sha256, instance.name, instance.source)
    assert instance.labels["generated"].startswith(f"family {name}, seed 3")
    assert instance.description


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "skewed-lsap", "latency", "skewed-latency", "flow"])
def test_no_tasks(name: str) -> None:
    """Tests that a workload without tasks is an instance."""
    assert len(generate(name, tasks=0).workload) == 0


def test_hardly_any_task() -> None:
    """Tests that no map and no reduce, also without a slot, and more jobs than tasks are an instance."""
    assert len(generate("makespan", tasks=0, reduces=0, slots=0).workload) == 0
    assert len(generate("day", tasks=0, reduces=0).workload) == 0
    assert len(generate("day", tasks=3, jobs=5).workload) == 123


def test_names_tell_instances_apart() -> None:
    """Tests that sizes and every parameter that is not the default are in the name."""
    assert generate("latency", nodes=20, tasks=30).name == "latency-n20-t30-seed0"
    assert generate("fair-lsap", weights="1,2.5", seed=4).name == "fair-lsap-n60-t90-weights1-2.5-seed4"
    assert generate("hsu-table3", block=128).name == "hsu-table3-block128-seed0"
