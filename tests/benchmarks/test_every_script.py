"""Every script of `benchmarks/`, run by its name with a tiny budget; none can be left out."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text("utf-8"))

#: For each script words with which it ends within seconds, and what some line begins with that it then prints.
TINY: dict[str, tuple[str, str]] = {
    "compare": ("--sizes tiny --problem lsap --repeats 1 --row 'lsap*' --way 'default*'", "| lsap nodes=3 "),
    "engine": ("--tasks 300", "in order "),
    "generated_optima": ("--instances 5 --processes 1", "without limit: 0"),
    "generated_runs": ("--runs 20 --processes 1", "| policy lsap-sched | "),
    "house_size": ("", "words of Markdown "),
    "keep_figures": ("guo-2012/4b --into FOLDER", "guo-2012/4b: 20 draws, "),
    "latency_band": ("--instances 3 --servers 30 --processes 1", "| all | 3 |"),
    "limits_kept": ("utility --limits 1 --routes pyomo --over 60", "| utility | "),
    "policies_by_size": ("dl --tasks 50 100", "| dl | lsap | "),
    "prediction_study": ("tests/data/rumen/plain.trace.json --repeats 1", "| plain | fair | of all | "),
    "prove_library": ("papers/guo-fig2 --output FILE", "papers/guo-fig2 lsap [0] dual"),
    "regression_net": ("record FILE papers/guo-fig2", ""),
    "transmission_constants": ("_SHORTER --instances 1", "| 0.7 (in use) | 1 | "),
}


def said(script: str, words: str, file: Path) -> str:
    """What a script prints; FILE stands for a file that it writes. It must end well, and soon."""
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / f"{script}.py"),
        *shlex.split(words.replace("FILE", str(file)).replace("FOLDER", str(file.parent))),
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("script", SCRIPTS)
def test_prints_rows(script: str, tmp_path: Path) -> None:
    """Tests that the script runs to its end with the words of the table above, and prints the row that stands there."""
    words, row = TINY[script]
    assert any(line.startswith(row) for line in said(script, words, tmp_path / "written").splitlines() or [""])


def test_no_script_is_left_out() -> None:
    """Tests that each script of the folder has its words."""
    assert list(TINY) == SCRIPTS


@pytest.mark.thorough
def test_what_the_library_comes_to(tmp_path: Path) -> None:
    """Tests that what was recorded of an instance compares as the same."""
    file = tmp_path / "net.json"
    said("regression_net", "record FILE papers/guo-fig2", file)
    assert json.loads(file.read_text(encoding="utf-8"))
    assert ", 0 differ, 0 are new" in said("regression_net", "compare FILE papers/guo-fig2", file)


@pytest.mark.thorough
def test_library_is_proved_again(tmp_path: Path) -> None:
    """Tests that an instance is proved as the index has it, all but the day and the code, and that the rest stays."""
    index = ROOT / "instances" / "optima.json"
    file, before = tmp_path / "optima.json", index.read_text(encoding="utf-8")
    said("prove_library", "papers/guo-fig2 --output FILE", file)
    assert index.read_text(encoding="utf-8") == before
    again, held = (json.loads(text)["instances"] for text in (file.read_text(encoding="utf-8"), before))
    for entry in (*again["papers/guo-fig2"]["optima"].values(), *held["papers/guo-fig2"]["optima"].values()):
        del entry["proved"]
    assert again == held
