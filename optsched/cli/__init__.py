"""The command line (docs/reference/output.md): commands, exit codes, and how errors are printed.

One module for each sort of command; `arguments` and `output` have what they share. A command is imported when it is
used. So that `--help` answers at once, its module imports only click and small modules: printing, profiles, errors,
resources, kinds. The command that runs imports everything else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from optsched import __version__
from optsched.cli import arguments
from optsched.core.errors import (
    BoundViolated,
    ExitCode,
    Fault,
    InputError,
    OptschedError,
    SolverDisagreement,
    printable,
)

__all__ = ["cli", "main"]

# Ended from outside --------------------------------------------------------------------------------------------------
# SIGTERM and SIGHUP do what Ctrl-C does, and messages name the signal.
# So finished output is printed, processes of runs are ended, and files are complete. As in shells, the exit code is 128
# plus the number of the signal.

#: SIGHUP is not known on Windows.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended:
    """The signal that is to end this process, if any."""

    def __init__(self) -> None:
        self.by: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C does now: a solver stops with its best result, everything else is interrupted."""
        self.by = signal.Signals(number)
        held = signal.getsignal(signal.SIGINT)
        if not callable(held):  # Ctrl-C is ignored, as in a background command of a shell
            raise KeyboardInterrupt
        held(signal.SIGINT, frame)


@contextmanager
def ended_like_interrupts() -> Iterator[Ended]:
    """A context in which SIGTERM and SIGHUP act like Ctrl-C, unless they are ignored already (`nohup` ignores SIGHUP).

    >>> with ended_like_interrupts() as ended:
    ...     try:
    ...         signal.raise_signal(signal.SIGTERM)
    ...     except KeyboardInterrupt:
    ...         print(ended.by.name)
    SIGTERM
    """
    ended = Ended()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    taken = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, ended)
    try:
        yield ended
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


#: Every command, with the module of this folder that has it.
_COMMANDS = {
    "gap": "gaps:gap",
    "check": "checking:check",
    "explain": "explaining:explain",
    "decompose": "simulating:decompose",
    "matrix": "gaps:matrix",
    "mine": "checking:mine",
    "sweep": "sweeping:sweep",
    "report": "gaps:report",
    "show": "explaining:show",
    "simulate": "simulating:simulate",
    "solve": "solving:solve",
    "bounds": "solving:bounds",
    "frontier": "solving:frontier",
    "certify": "solving:certify",
    "export": "solving:export",
    "describe": "listing:describe",
    "generate": "listing:generate",
    "import": "listing:import_",
    "claims": "papers:claims",
    "figure": "papers:figure",
    "list": "listing:list_",
    "docs": "listing:docs",
    "self-test": "listing:self_test",
    "versions": "listing:versions",
}


class _CommandLine(arguments.Commands):
    """The whole command line: prints every error as the design says, with its exit code."""

    def names(self) -> Collection[str]:
        return sorted(_COMMANDS)

    def made(self, name: str) -> click.Command:
        module, _, attribute = _COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(f"optsched.cli.{module}"), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has read enough
            _drop_stdout()
            ctx.exit(ExitCode.DONE)
        except OSError as error:
            if error.filename is not None:
                raise
            _drop_stdout()
            raise InputError([Fault("", f"cannot be written: {error.strerror or error}")], "stdout") from None
        return result

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> NoReturn:
        extra["standalone_mode"] = False
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:  # the parent process has closed it
                setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - it stays open
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode still shows names
        shown: set[str] = set()

        def tell(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            """Print this package's own warnings once, in one line each; the user cannot mend those of libraries."""
            if category.__module__.startswith("optsched.") and str(message) not in shown:
                shown.add(str(message))
                _tell(0, f"warning: {message}")

        with warnings.catch_warnings(), ended_like_interrupts() as ended:
            warnings.simplefilter("always")
            warnings.showwarning = tell
            code = self._exit_code(ended, args, *others, **extra)
            sys.exit(code if ended.by is None or code != ExitCode.INTERRUPTED else 128 + ended.by)

    def _exit_code(self, ended: Ended, *args: Any, **extra: Any) -> int:
        """Run the command and report errors, one line for each fault."""
        try:
            code = super().main(*args, **extra)
        except (BoundViolated, SolverDisagreement) as error:
            return _tell(error.exit_code, f"bug: {error}")
        except OptschedError as error:
            return _tell(error.exit_code, *(f"error: {line}" for line in error.lines))
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            return ExitCode.USAGE
        except click.UsageError as error:
            help_path = error.ctx.command_path if error.ctx is not None else "optsched"
            message = " ".join(error.format_message().split()).rstrip(".")
            if (
                isinstance(error, click.MissingParameter)
                and error.param is not None
                and "--problem" in error.param.opts
            ):
                message += " (optsched list problems names them)"
            elif help_path.endswith(" mine") and "extra argument" in message:
                message += " (mine draws its own instances: --family says which)"
            return _tell(error.exit_code, f"error: {message}; see {help_path} --help")
        except click.ClickException as error:
            return _tell(error.exit_code, f"error: {error.format_message()}")
        except (click.Abort, KeyboardInterrupt):
            return _tell(ExitCode.INTERRUPTED, "interrupted" if ended.by is None else f"ended by {ended.by.name}")
        except MemoryError:
            return _tell(ExitCode.BUG, "error: out of memory; take a smaller instance or another route")
        except Exception as error:
            from optsched.core.outside import blamed

            cause = blamed(error)
            if cause is not None:
                return _tell(ExitCode.BUG, f"error: {cause}")
            traceback.print_exc()
            return _tell(ExitCode.BUG, f"bug: {type(error).__name__}: {error}; please report it with what is above")
        return code if isinstance(code, int) else 0


def _drop_stdout() -> None:
    """Discard the rest of the buffers: at exit Python would flush them, and fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(code: int, *lines: str) -> int:
    for line in lines:
        with contextlib.suppress(OSError):  # a terminal that was closed
            click.echo(f"optsched: {printable(line)}", err=True)
    return code


@click.group(
    "optsched", cls=_CommandLine, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """How far a data-locality scheduler is from the proved optimum.

    \b
    optsched gap                        every heuristic on the shipped library
    optsched gap FILE.json --problem lsap --heuristic dl --repeats 10
    optsched gap FILE.json --heuristic my_module:my_function --max-gap 5%

    Exit codes: 0 done, 1 a bug, 2 wrong usage, 3 bad input, 4 a gap limit or a certificate failed or a heuristic
    failed, 5 no solution within the limit, 6 infeasible, 130 interrupted (129, 143: ended by SIGHUP, SIGTERM).
    """  # noqa: D301 (the backspace keeps click from filling the lines that follow)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(ExitCode.USAGE)


def main() -> NoReturn:
    """Run the command line on the arguments of the process."""
    sys.exit(cli.main(prog_name="optsched"))
