"""The `klondike` command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from klondike_env import __version__, deals


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for a user's mistake."""
    options = _parser().parse_args(arguments)
    try:
        output: str = options.run(options)
    except ValueError as error:
        print(f"klondike {options.command}: {error}", file=sys.stderr)
        return 2
    print(output)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="klondike", description="Klondike solitaire for reinforcement learning."
    )
    parser.add_argument("--version", action="version", version=f"klondike_env {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    deal = commands.add_parser(
        "deal",
        help="print a deal",
        description="Print a deal: number, board, stock in draw order, deck as card numbers.",
        epilog="Every card is printed, hidden ones in brackets; piles run bottom to top.",
    )
    choice = deal.add_mutually_exclusive_group(required=True)
    choice.add_argument("number", nargs="?", type=int, help="deal number: 0 to 2^63 - 1")
    choice.add_argument(
        "--seed", type=int, help="the first deal of an environment after reset(seed=SEED)"
    )
    choice.add_argument("--suite", choices=sorted(deals.SUITES), help="a deal of a named suite")
    deal.add_argument(
        "--index", type=int, default=0, help="with --suite: which deal of it, from 0 (default 0)"
    )
    deal.add_argument(
        "--json", action="store_true", help="print as JSON: number, deck and position"
    )
    deal.set_defaults(run=_deal)
    return parser


def _deal(options: argparse.Namespace) -> str:
    # Here, so that `klondike --help` does not wait for the compiler.
    from klondike_env.envs.klondike import KlondikeEnv

    number = _chosen_number(options)
    deck = deals.deck(number).tolist()
    env = KlondikeEnv()
    env.reset(options={"deal": number})
    position = env.position()
    if options.json:
        return json.dumps({"deal": number, "deck": deck, "position": position})
    lines = [
        f"deal {number}",
        *(f"T{i}  {pile}" for i, pile in enumerate(position["tableau"], start=1)),
        f"stock  {position['stock']}",
        f"deck  {' '.join(map(str, deck))}",
    ]
    return "\n".join(lines)


def _chosen_number(options: argparse.Namespace) -> int:
    if options.index and options.suite is None:
        raise ValueError("--index counts the deals of a suite: name one by --suite")
    if options.seed is not None:
        if options.seed < 0:
            raise ValueError(f"a seed is a whole number >= 0, not {options.seed}")
        import numpy as np

        stream = np.array([deals.stream_of_seed(options.seed)], dtype=np.uint64)
        return int(deals.next_numbers(stream)[0])
    if options.suite is not None:
        return deals.suite(options.suite, 1, options.index)[0]
    return deals.check_number(options.number)


if __name__ == "__main__":
    sys.exit(main())
