"""Jobs that do what no job should: for tests of processes that contain them. Importable by name in other processes."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any


class Refuses(Exception):
    """An exception that cannot be pickled, nor made from its own arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("refuses")
        self.lock = threading.Lock()

    def __str__(self) -> str:
        raise RuntimeError("no text either")


class Unreadable:
    """A value that can be sent but not be read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def double(number: int) -> int:
    """What a good job does."""
    return 2 * number


def ignore_signals(_job: Any = None) -> None:
    """A busy loop in C that ignores what can be ignored, and holds Python's lock."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ctypes.PyDLL(None).sleep(600)


def take_memory(step_mb: int = 16) -> None:
    """Takes and touches more and more memory."""
    held = []
    while True:
        held.append(bytearray(b"1" * (step_mb << 20)))


def wrap_memory_error(_job: Any = None) -> None:
    """Raises something else where memory was refused."""
    try:
        bytearray(1 << 50)
    except MemoryError as error:
        raise ValueError("no solution") from error


def child_takes_memory(_job: Any = None) -> int:
    """Has a process of its own take the memory."""
    code = "held = []\nwhile True: held.append(bytearray(b'1' * (16 << 20)))"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode


def peak_and_forget(megabytes: int) -> str:
    """Takes memory for a moment, and gives it back."""
    return str(len(bytes(bytearray(b"1" * (megabytes << 20)))))


def kill_parent(_job: Any = None) -> None:
    """Kills the process that watches over it."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def kill_grandparent(_job: Any = None) -> None:
    """Kills the process that asked for it: on a cluster the worker."""
    import psutil

    supervisor = psutil.Process(os.getppid())
    os.kill(supervisor.ppid(), signal.SIGKILL)
    time.sleep(60)


def slow_double(number: int) -> int:
    """A good job that takes its time."""
    time.sleep(0.05)
    return 2 * number


def close_everything(_job: Any = None) -> None:
    """Closes all files, those that it did not open too, and goes on."""
    os.closerange(3, 256)
    time.sleep(60)


def print_much(megabytes: int) -> str:
    """Prints, in Python and below it."""
    for _ in range(megabytes):
        sys.stdout.write("x" * (1 << 20))
        os.write(1, b"y" * (1 << 16))
    return "printed"


def refuse(_job: Any = None) -> None:
    """Raises what cannot be pickled."""
    raise Refuses(1, 2)


def raise_it(error: BaseException) -> None:
    """Raises what it is given."""
    raise error


def answer_unreadable(_job: Any = None) -> Any:
    """Answers what cannot be read."""
    return Unreadable()


def start_children(note: str) -> int:
    """Starts processes that outlive it, one in a session of its own, and notes their ids."""
    code = "import time; time.sleep(600)"
    command = [sys.executable, "-c", code]
    started = [subprocess.Popen(command), subprocess.Popen(command, start_new_session=True)]
    if (pid := os.fork()) == 0:  # an orphan, which has a copy of every pipe
        if os.fork() == 0:
            Path(f"{note}.orphan").write_text(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    os.waitpid(pid, 0)
    while not Path(f"{note}.orphan").exists() or not Path(f"{note}.orphan").read_text():
        time.sleep(0.01)
    pids = [process.pid for process in started] + [int(Path(f"{note}.orphan").read_text())]
    Path(note).write_text(" ".join(map(str, pids)))
    return len(pids)


def start_children_and_sleep(note: str) -> None:
    """Starts processes, and waits for ever."""
    start_children(note)
    time.sleep(600)


def start_children_and_leave(note: str) -> None:
    """Starts processes, and ends its own."""
    start_children(note)
    os._exit(0)


def leave_thread(_job: Any = None) -> int:
    """Leaves a thread behind that would end the process while another job is there."""

    def end() -> None:
        time.sleep(0.3)
        os._exit(9)

    threading.Thread(target=end, daemon=True).start()
    return os.getpid()


def kernel_limits(_job: Any = None) -> tuple[int, int]:
    """What the kernel lets it write and hold: the size of a core file, and private memory; -1 for all."""
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)[0], resource.getrlimit(resource.RLIMIT_DATA)[0]


def pid(_job: Any = None) -> int:
    """Which process it is."""
    return os.getpid()


def surroundings(_job: Any = None) -> tuple[str, str, str | None]:
    """Where it is."""
    return sys.path[0], os.getcwd(), os.environ.get("OPTSCHED_TEST_WORD")


def unseeded(_job: Any = None) -> tuple[float, float]:
    """Random numbers without a seed."""
    import random

    import numpy as np

    return random.random(), float(np.random.random())  # noqa: NPY002 - the state that a fork copies
