"""Run notebooks with this very interpreter and write them with their outputs.

    python notebooks/execute.py [--to FOLDER] [NOTEBOOK ...]

Without names, all notebooks of this folder; without a folder, in place. Times and the name of the machine's Python are
left out, so that a notebook changes only where its text or its results do.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent

#: Name of a kernel that runs this interpreter, whatever kernels the user has.
KERNEL = "this-interpreter"


def executed(path: Path) -> Any:
    """The notebook after a fresh run; raises `nbclient.exceptions.CellExecutionError` where a cell does."""
    notebook = nbformat.read(path, as_version=4)
    metadata = dict(notebook.metadata)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    search_path = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryDirectory() as kernels:
        folder = Path(kernels, KERNEL)
        folder.mkdir()
        described = {"argv": command, "display_name": KERNEL, "language": "python"}
        (folder / "kernel.json").write_text(json.dumps(described), encoding="utf-8")
        specs = KernelSpecManager(kernel_dirs=[kernels], ensure_native_kernel=False)
        client = NotebookClient(
            notebook,
            km=AsyncKernelManager(kernel_name=KERNEL, kernel_spec_manager=specs),
            timeout=1200,
            coalesce_streams=True,
            record_timing=False,
            resources={"metadata": {"path": str(path.parent)}},
        )
        client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(search_path)})
    notebook.metadata = nbformat.from_dict(metadata)
    return notebook


def main() -> None:
    """Run what is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK", default=sorted(HERE.glob("*.ipynb")))
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where to write; by default in place")
    chosen = parser.parse_args()
    for path in chosen.notebooks:
        nbformat.write(executed(path.resolve()), (chosen.to or path.parent) / path.name)


if __name__ == "__main__":
    main()
