"""Command line: ``python -m benchmarks`` with a command; see `USAGE`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence

try:
    from benchmarks import compare, solvers, strength, throughput, winnable
    from benchmarks.errors import AgentError, UserError
except ModuleNotFoundError as error:
    sys.exit(f"error: {error.name} is not installed: pip install --editable '.[benchmarks]'")

COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "compare": compare.main,
    "throughput": throughput.main,
    "solvers": solvers.main,
    "winnable": winnable.main,
    "strength": strength.main,
}

USAGE = """\
usage: python -m benchmarks {compare,throughput,solvers,winnable,strength} [options]

  compare     play agents on the same deals: win rates, intervals, paired tests
  throughput  steps per second, beside the other simulators that are installed
  solvers     deals decided per second, beside another solver if it is installed
  winnable    how many deals can be won with all cards known
  strength    win rate against seconds a game, beside published results

'python -m benchmarks compare --help' lists a command's options."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit code: 0 done, 1 an agent failed, 2 a mistake in what was asked, 130 interrupted.
    """
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    # A polite kill ends like Ctrl-C does, so that worker processes are ended too.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if not argv or argv[0] not in COMMANDS:
            named = f"unknown command {argv[0]!r}" if argv else "no command given"
            raise UserError(f"{named}; commands: {', '.join(COMMANDS)}")
        COMMANDS[argv[0]](argv[1:])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except AgentError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"interrupted{': ' if str(interrupt) else ''}{interrupt}", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, previous)
    return 0


if __name__ == "__main__":
    sys.exit(main())
