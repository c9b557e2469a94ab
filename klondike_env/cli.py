"""The `klondike` command."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from klondike_env import ENV_IDS, __version__, deals, formats

if TYPE_CHECKING:
    from klondike_env.solvers.klondike import Verdict

EXIT_STATUS = {"winnable": 0, "unwinnable": 1, "unknown": 3}
"""Exit status of `klondike solve`; 2 is a user's mistake, as everywhere."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for a user's mistake."""
    options = _parser().parse_args(arguments)
    try:
        output, status = options.run(options)
        print(output, flush=True)
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing may be flushed into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ValueError as error:
        print(f"klondike {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"klondike {options.command}: interrupted", file=sys.stderr)
        return 130
    return int(status)


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
    _add_solve(commands)
    _add_replay(commands)
    _add_play(commands)
    return parser


def _add_solve(commands: Any) -> None:
    solve = commands.add_parser(
        "solve",
        help="say whether a game can be won with all cards known, and how",
        description="Say whether a game can be won with all cards known, and how.",
        epilog="Exit status: 0 winnable, 1 unwinnable, 3 unknown, 2 a mistake in what was asked."
        " Ctrl-C ends the search with what was reached.",
    )
    forms = "; ".join(f"{form.NAME} ({form.FORM})" for form in formats.FORMATS.values())
    solve.add_argument(
        "game",
        help=f"deal number, or file with a deal or position, or - for standard input: {forms}",
    )
    solve.add_argument(
        "--env",
        default="Klondike-Draw3-v0",
        metavar="ID",
        help="id whose rules hold (default %(default)s)",
    )
    solve.add_argument("--max-states", type=int, metavar="N", help="give up after so many states")
    solve.add_argument("--max-seconds", type=float, metavar="S", help="give up after so long")
    solve.add_argument(
        "--max-megabytes", type=int, metavar="M", help="memory for states (default 4096)"
    )
    solve.add_argument("--json", action="store_true", help="print as JSON, actions as ids too")
    solve.set_defaults(run=_solve)


def _add_replay(commands: Any) -> None:
    replay = commands.add_parser(
        "replay",
        help="verify recorded games, move by move, and show them",
        description="Verify recorded games by playing every move again, and show them.",
        epilog="A record that is damaged or tampered with is refused, its first wrong move named."
        " Everything shows what the player saw, unless --all-cards is given.",
    )
    replay.add_argument("file", help="records: a .jsonl file that evaluate or compare wrote")
    replay.add_argument(
        "--game", type=int, metavar="N", help="only the N-th game of the file, from 1"
    )
    replay.add_argument("--boards", action="store_true", help="print the board after every move")
    replay.add_argument(
        "--step", action="store_true", help="step through: Enter forward, b back, q to end"
    )
    replay.add_argument("--html", metavar="FILE", help="write a page that replays the games")
    replay.add_argument(
        "--all-cards",
        action="store_true",
        help="with --html: let the page show hidden cards too, which it else does not hold",
    )
    replay.add_argument("--picture", metavar="FILE", help="draw the board into this PNG file")
    replay.add_argument(
        "--move", type=int, metavar="M", help="with --picture: after so many moves, else all"
    )
    replay.add_argument("--animation", metavar="FILE", help="draw the game into this GIF file")
    replay.set_defaults(run=_replay)


def _add_play(commands: Any) -> None:
    play = commands.add_parser(
        "play",
        help="play in the terminal",
        description="Play in the terminal, by keys or mouse, with undo, hints and the solver.",
        epilog="Games are kept as records, those that were left unfinished too.",
    )
    play.add_argument(
        "game",
        nargs="?",
        help="deal number, or file with a deal or position as for solve; a random deal without it",
    )
    play.add_argument("--env", metavar="ID", help="id whose rules hold (default Klondike-Draw3-v0)")
    play.add_argument(
        "--agent",
        metavar="NAME",
        help="agent that gives hints, by name or as package.module:Class (default guide)",
    )
    play.add_argument("--watch", action="store_true", help="let the agent play from the start")
    play.add_argument(
        "--resume", action="store_true", help="go on with the last game that was kept"
    )
    play.add_argument("--file", help="file of records in which games are kept")
    play.set_defaults(run=_play)


def _deal(options: argparse.Namespace) -> tuple[str, int]:
    # Here, so that `klondike --help` does not wait for the compiler.
    from klondike_env.envs.klondike import KlondikeEnv

    number = _chosen_number(options)
    deck = deals.deck(number).tolist()
    env = KlondikeEnv()
    env.reset(options={"deal": number})
    position = env.position()
    if options.json:
        return json.dumps({"deal": number, "deck": deck, "position": position}), 0
    lines = [
        f"deal {number}",
        *(f"T{i}  {pile}" for i, pile in enumerate(position["tableau"], start=1)),
        f"stock  {position['stock']}",
        f"deck  {' '.join(map(str, deck))}",
    ]
    return "\n".join(lines), 0


def _solve(options: argparse.Namespace) -> tuple[str, int]:
    name, game = _read_game(options.game)
    if options.env not in ENV_IDS:
        raise ValueError(f"no environment {options.env!r}: choose from {', '.join(ENV_IDS)}")

    # Here, so that mistakes are told before the compiler has started.
    from klondike_env.games.klondike.moves import move_text
    from klondike_env.games.klondike.rules import PRESETS
    from klondike_env.solvers.klondike import solve

    limits: dict[str, Any] = {
        "max_states": options.max_states,
        "max_seconds": options.max_seconds,
        "max_bytes": options.max_megabytes and options.max_megabytes << 20,
    }
    limits = {key: value for key, value in limits.items() if value is not None}
    with _Interruptible() as interruptible:
        verdict = solve(
            game, PRESETS[options.env], on_progress=interruptible.show_progress, **limits
        )
    moves = [move_text(action) for action in verdict.turn]
    status = EXIT_STATUS[verdict.verdict]
    if options.json:
        found = {
            "game": name,
            "env": options.env,
            "verdict": verdict.verdict,
            "reason": verdict.reason or None,
            "moves": moves,
            "turn": verdict.turn,
            "reach": verdict.reach,
            "states": verdict.states,
            "seconds": round(verdict.seconds, 6),
        }
        return json.dumps(found), status
    return _verdict_text(name, options.env, verdict, moves), status


def _replay(options: argparse.Namespace) -> tuple[str, int]:
    if options.all_cards and not options.html:
        raise ValueError("--all-cards goes with --html")
    if options.move is not None and not options.picture:
        raise ValueError("--move goes with --picture")
    files = [Path(name) for name in (options.html, options.picture, options.animation) if name]
    for path in files:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ValueError(f"{path} cannot be written: a file in a folder that exists needed")

    # Here, so that mistakes are told before the compiler has started.
    from klondike_env import records

    kept, count = [], 0
    for count, record in enumerate(records.read(options.file), start=1):
        if options.game not in (None, count):
            continue
        try:
            played = records.replay(record)
        except records.RecordError as error:
            raise ValueError(f"{options.file}, game {count} ({record.title}): {error}") from None
        print(
            f"game {count}: {record.env_id}, {record.title}, {record.agent or 'no agent named'}:"
            f" {record.outcome}, {len(record.moves)} moves, score {record.score},"
            f" {record.foundation_cards} cards up",
            flush=True,
        )
        if options.boards:
            _print_boards(played)
        if options.step:
            _step_through(played)
        if files:
            kept.append(played)
    if options.game is not None and not 1 <= options.game <= count:
        raise ValueError(f"{options.file} has games 1 to {count}, not {options.game}")
    _write_files(options, kept)
    games = 1 if options.game is not None else count
    return f"verified: {games} game{'s' * (games != 1)}", 0


def _write_files(options: argparse.Namespace, replays: list[Any]) -> None:
    try:
        if options.html:
            from klondike_env.rendering.page import replay_page

            page = replay_page(replays, all_cards=options.all_cards, title="Klondike replay")
            Path(options.html).write_text(page, encoding="utf-8")
            print(f"html: {options.html}, {len(page) / 1000:,.0f} kB")
        if options.picture or options.animation:
            if len(replays) != 1:
                raise ValueError("a picture or animation shows one game: choose it by --game")
            from klondike_env.rendering import film

            if options.picture:
                film.save_picture(replays[0], Path(options.picture), options.move)
                print(f"picture: {options.picture}")
            if options.animation:
                film.save_animation(replays[0], Path(options.animation))
                print(f"animation: {options.animation}")
    except gym.error.DependencyNotInstalled as error:
        raise ValueError(error) from None
    except OSError as error:
        raise ValueError(f"{error.filename} cannot be written: {error.strerror}") from None


def _board_after(played: Any, move: int) -> str:
    """A move and the board after it, as its player saw it; the board at the start for move 0."""
    from klondike_env.rendering.text import board_text

    name = f"{move}  {played.moves[move - 1]}" if move else "0  the deal"
    return f"{name}\n{board_text(played.game.board_text(played.states[move]))}"


def _print_boards(played: Any) -> None:
    for move in range(len(played.states)):
        print(_board_after(played, move))


def _step_through(played: Any) -> None:
    move, last = 0, len(played.moves)
    while True:
        print(_board_after(played, move))
        try:
            answer = input(f"move {move} of {last}; Enter forward, b back, q to end: ").strip()
        except EOFError:
            print()
            return
        if answer.lower() == "q" or (answer.lower() != "b" and move == last):
            return
        move = max(0, move - 1) if answer.lower() == "b" else move + 1


def _play(options: argparse.Namespace) -> tuple[str, int]:
    start: dict[str, Any] | None = None
    if options.game is not None:
        _, game = _read_game(options.game)
        if options.game.isdecimal():
            start = {"deal": int(options.game)}
        else:
            start = {"position" if isinstance(game, dict) else "deck": game}

    # Here, since it needs the compiler and an extra.
    from klondike_env.play.start import play

    told = play(
        start,
        env_id=options.env,
        agent=options.agent,
        is_watching=options.watch,
        resumes=options.resume,
        file=options.file,
    )
    return told, 0


def _verdict_text(name: str, env_id: str, verdict: Verdict, moves: list[str]) -> str:
    why = f" ({verdict.reason})" if verdict.reason else ""
    lines = [f"{name}, {env_id}: {verdict.verdict}{why}"]
    if moves:
        lines += textwrap.wrap(" ".join(moves), 100, initial_indent="  ", subsequent_indent="  ")
        lines.append(f"{len(moves)} moves, draws and redeals included; not the shortest line")
    lines.append(f"{verdict.states:,} states in {verdict.seconds:.2f} s")
    return "\n".join(lines)


def _read_game(text: str) -> tuple[str, Any]:
    """What to call a game, and its deck or position."""
    if text.isdecimal():
        number = deals.check_number(int(text))
        return f"deal {number}", deals.deck(number)
    if text == "-":
        return "standard input", formats.read(sys.stdin.read())
    try:
        content = Path(text).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"{text!r} is neither a deal number nor a file to be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{text} is not UTF-8 text") from None
    try:
        return text, formats.read(content)
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None


class _Interruptible:
    """Shows how a search gets on, on a terminal, and ends it at the first Ctrl-C."""

    def __enter__(self) -> _Interruptible:
        self._is_stopped = self._has_shown = False
        self._previous: Any = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._previous)
        if self._has_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _stop(self, *_: object) -> None:
        self._is_stopped = True

    def show_progress(self, states: int, seconds: float) -> bool:
        if seconds >= 0.5 and sys.stderr.isatty():
            self._has_shown = True
            print(f"\r{states:,} states, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
        return not self._is_stopped


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
