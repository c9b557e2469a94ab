"""The terminal game's screen: keys, mouse, and what they do."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.widgets import Footer, Static

from klondike_env.envs.registration import STEP_LIMIT
from klondike_env.play import texts
from klondike_env.play.advisor import Advisor, agent_names
from klondike_env.play.board import Board
from klondike_env.play.choice import Choice
from klondike_env.play.dialogs import AgentDialog, HelpDialog, NewGameDialog
from klondike_env.play.keeping import Keeper
from klondike_env.play.picture import MIN_HEIGHT, MIN_WIDTH, Marks, Spot
from klondike_env.play.session import PERSON, Session, random_deal
from klondike_env.play.table import FOUNDATIONS, PILES, STOCK, WASTE, Move, legal_moves
from klondike_env.solvers.klondike import Verdict, solve

PANEL_WIDTH = 30
DELAYS = (1.6, 0.8, 0.4, 0.2, 0.1, 0.05)
"""Seconds between two moves of autoplay, slowest first."""
SOLVER_SECONDS = 60.0
SOLVER = "solver"
"""Who played, in records, the moves of a line that the solver found."""

_GRID = ((STOCK, WASTE, "", *FOUNDATIONS), PILES)
"""Places as the arrow keys go round them."""

Result = TypeVar("Result")


class KlondikeApp(App[None]):
    """A game of Klondike to be played by a person.

    Args:
        session: the game.
        keeper: where games are kept when they end or are left.
        agent: name of the agent that gives hints.
        is_watching: start with autoplay on.
    """

    TITLE = "Klondike"
    ENABLE_COMMAND_PALETTE = False
    CSS = f"""
    #status, #message {{ height: 1; background: #0c2f20; color: #e6f0ea; padding: 0 1; }}
    #panel {{
        width: {PANEL_WIDTH}; height: 1fr; padding: 0 1;
        background: #103826; color: #d7e8dc; display: none;
    }}
    #panel.shown {{ display: block; }}
    Footer {{ background: #0c2f20; }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d,space", "press('stock')", "Draw", key_display="d"),
        Binding("u,ctrl+z,backspace", "undo", "Undo", key_display="u"),
        Binding("r,ctrl+y", "redo", "Redo", key_display="r"),
        Binding("h", "hint", "Hint"),
        Binding("a", "autoplay", "Auto"),
        Binding("g", "choose_agent", "Agent"),
        Binding("s", "solve", "Solve"),
        Binding("n", "new_game", "New"),
        Binding("question_mark,f1", "help", "Help", key_display="?"),
        Binding("q", "leave", "Quit"),
        Binding("ctrl+q,ctrl+c", "leave", show=False),
        Binding("p", "toggle_panel", show=False),
        Binding("w", "press('W')", show=False),
        *(Binding(place[1], f"press('{place}')", show=False) for place in PILES),
        *(Binding(suit, f"press('{suit}')", show=False) for suit in FOUNDATIONS),
        Binding("f", "foundation", show=False),
        Binding("left", "step(-1, 0)", show=False),
        Binding("right", "step(1, 0)", show=False),
        Binding("up", "step(0, -1)", show=False),
        Binding("down", "step(0, 1)", show=False),
        Binding("enter", "press_cursor", show=False),
        Binding("escape", "let_go", show=False),
        Binding("plus,equals_sign", "speed(1)", show=False),
        Binding("minus", "speed(-1)", show=False),
    ]

    def __init__(
        self, session: Session, keeper: Keeper, agent: str = "guide", is_watching: bool = False
    ) -> None:
        super().__init__()
        self.session = session
        self.message = "Pick up what to move, then press where to: by keys or mouse. ? for help."
        self._keeper = keeper
        self._agent = agent
        self._advisor: Advisor | None = None
        self._choice = Choice(session)
        self._cursor = ""
        self._hint: Move | None = None
        self._thinking = ""  # what a thread is at; the game stands still meanwhile
        self._is_stopping = False
        self._is_watching = is_watching
        self._line: list[int] = []  # the rest of a winning line, found where the game now stands
        self._speed = 3
        self._shows_panel: bool | None = None  # None: if there is room

    # Screen

    def compose(self) -> ComposeResult:
        yield Static(id="status")
        with Horizontal():
            yield Board(self.session.table)
            yield Static(id="panel")
        yield Static(id="message")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        # A kill or a closed terminal leaves like q does, so that the game is kept.
        with contextlib.suppress(NotImplementedError, RuntimeError, AttributeError, ValueError):
            for kind in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(kind, self.action_leave)
        self.tell(texts.ending(self.session) or self.message)
        if self._is_watching:
            self._is_watching = False
            self.action_autoplay()

    def on_resize(self, event: Resize) -> None:
        self.tell(self.message)

    def tell(self, message: str) -> None:
        """Bring the screen up to date, with a message in its last line but one."""
        self.message = message
        width, height = self.size
        screen = self.screen_stack[0]
        marks = Marks(
            cursor=self._cursor,
            chosen=self._choice.lowest,
            targets=frozenset(move.target for move in self._choice.moves),
            hint=() if self._hint is None else (self._hint.source, self._hint.target),
            can_redeal=any(move.text == "redeal" for move in self.session.moves),
        )
        screen.query_one(Board).show(self.session.table, marks)
        screen.query_one("#status", Static).update(texts.status(self.session, width - 2))
        shown = f"{self._thinking} ... Esc stops" if self._thinking else message
        if width < MIN_WIDTH or height < MIN_HEIGHT + 3:
            shown = f"Make the terminal larger: {MIN_WIDTH} x {MIN_HEIGHT + 3} at least. {shown}"
        line = Text(shown, no_wrap=True, overflow="ellipsis")
        screen.query_one("#message", Static).update(line)
        panel = screen.query_one("#panel", Static)
        has_room = width >= MIN_WIDTH + PANEL_WIDTH
        panel.set_class(has_room if self._shows_panel is None else self._shows_panel, "shown")
        head = f"{self._agent} {'plays' if self._is_watching else 'gives hints'}"
        panel.update(texts.panel(self.session, head, PANEL_WIDTH - 2, height - 3))

    # Playing by hand

    def action_press(self, place: str, index: int | None = None) -> None:
        """Press a place: pick up or put down cards, draw, redeal."""
        if self._is_free():
            self._follow(self._choice.press(Spot(place, index)))

    def action_foundation(self) -> None:
        """Play what is picked up to its foundation."""
        if self._is_free():
            self._follow(self._choice.foundation_move())

    def action_press_cursor(self) -> None:
        """Press the place that the arrow keys have reached."""
        self.action_press(self._cursor or STOCK)

    def action_step(self, right: int, down: int) -> None:
        """Go from place to place."""
        row, column = 1, 0
        if self._cursor:
            row = 0 if self._cursor in _GRID[0] else 1
            column = (_GRID[row].index(self._cursor) + right) % 7
            row = min(max(row + down, 0), 1)
        if not _GRID[row][column]:  # the gap between waste and foundations
            column += right or -1
        self._cursor = _GRID[row][column]
        self.tell(self.message)

    def action_let_go(self) -> None:
        """Let go of what is picked up, and stop whatever is going on."""
        self._is_stopping = bool(self._thinking)
        self._choice.spot = self._hint = None
        self._cursor = ""
        self._stop_watching()
        self.tell("")

    @on(Board.Pressed)
    def _board_pressed(self, event: Board.Pressed) -> None:
        spot = event.spot
        if spot is None:
            self.action_let_go()
        elif event.times == 2 and spot.place in (WASTE, *PILES):
            # The first click of the two has picked it up.
            if self._is_free():
                self._follow(self._choice.foundation_move(spot))
        elif spot.place == STOCK or event.times == 1:
            self.action_press(spot.place, spot.index)

    @on(Board.Dropped)
    def _board_dropped(self, event: Board.Dropped) -> None:
        if self._choice.spot is not None:
            self.action_press(event.spot.place)
            self._choice.spot = None
            self.tell(self.message)

    def action_undo(self) -> None:
        """Take the last move back."""
        if self._is_free():
            self._turned(self.session.undo(), "Taken back.", "Nothing to take back.")

    def action_redo(self) -> None:
        """Play again what was taken back."""
        if self._is_free():
            self._turned(self.session.redo(), "Played again.", "Nothing to play again.")

    def _turned(self, has_changed: bool, done: str, nothing: str) -> None:
        self._forget_marks()
        self._line = []
        self.tell((texts.ending(self.session) or done) if has_changed else nothing)

    def _follow(self, found: Move | str) -> None:
        if isinstance(found, str):
            self._hint = None
            self.tell(found)
        else:
            self._play(found.action)

    def _play(self, action: int, player: str = PERSON) -> None:
        self._line = self._line[1:] if self._line[:1] == [action] else []
        self.session.play(action, player)
        self._forget_marks()
        text = self.session.move_texts()[-1]
        if self.session.outcome:
            self._is_watching = False
            self._keeper.keep(self.session)
        text = text if player == PERSON else f"{player}: {text}"
        self.tell(texts.ending(self.session) or text)

    def _forget_marks(self) -> None:
        self._choice.spot = self._hint = None

    def _is_free(self) -> bool:
        """Whether a person may play now; stops autoplay."""
        self._stop_watching()
        if self._thinking:
            self.tell(self.message)
        return not self._thinking

    # Agents and solver

    def action_hint(self) -> None:
        """Mark what the agent would play."""
        if self._is_free() and self._is_running():
            self._show_hint()

    @work
    async def _show_hint(self) -> None:
        advice = await self._in_thread(f"{self._agent} thinks", self._ask_agent)
        if advice is not None:
            action, remark = advice
            (self._hint,) = legal_moves(self.session.table, [action])
            self._choice.spot = None
            self.tell(f"{self._agent}: {self._hint.text}" + (f", {remark}" if remark else ""))

    def action_autoplay(self) -> None:
        """Let the agent play on, or stop it."""
        if self._stop_watching():
            self.tell("Autoplay is off.")
        elif not self._thinking and self._is_running():
            self._forget_marks()
            self._is_watching = True
            self._watch(self._agent, None)

    @work
    async def _watch(self, player: str, line: list[int] | None) -> None:
        """Play moves of the agent, or of a line, until stopped."""
        session = self.session
        while self._is_watching and session is self.session and not session.outcome:
            if line is None:
                if len(session.actions) >= STEP_LIMIT:
                    self._is_watching = False
                    self.tell(f"{STEP_LIMIT:,} moves: an evaluation would end here.")
                    return
                advice = await self._in_thread(
                    f"{player} thinks", self._ask_agent, is_quiet=self._advisor is not None
                )
                action = None if advice is None else advice[0]
            else:
                action = line.pop(0) if line else None
            if action is None:
                self._is_watching = False
                self.tell(self.message)
                return
            if self._is_watching:
                self._play(action, player)
                await asyncio.sleep(DELAYS[self._speed])

    def _ask_agent(self) -> tuple[int, str]:
        if self._advisor is None:
            self._advisor = Advisor(self._agent, self.session.env.rules)
        return self._advisor.advise(self.session)

    def action_solve(self) -> None:
        """Ask the solver whether the game can be won from here; then watch the line it found."""
        if not self._is_free() or not self._is_running():
            return
        if self._line:
            self._is_watching = True
            self._watch(SOLVER, list(self._line))
        else:
            self._show_verdict()

    @work
    async def _show_verdict(self) -> None:
        position, rules = self.session.env.position(), self.session.env.rules

        def search() -> Verdict:
            return solve(
                position,
                rules,
                max_seconds=SOLVER_SECONDS,
                on_progress=lambda *_: not self._is_stopping,
            )

        verdict = await self._in_thread("The solver searches, all cards known", search)
        if verdict is None:
            return
        self._line = list(verdict.turn)
        if self._line:
            count = len(self._line)
            self.tell(f"Can be won from here with {count} moves. s again: watch them.")
        elif verdict.verdict == "unwinnable":
            self.tell("Cannot be won from here, whatever is played (u takes moves back).")
        else:
            self.tell(f"Not decided after {verdict.states:,} states: {verdict.reason}.")

    async def _in_thread(
        self, task: str, run: Callable[[], Result], *, is_quiet: bool = False
    ) -> Result | None:
        """What a function gives, run beside the screen; None, with a message, if it fails."""
        self._thinking, self._is_stopping = task, False
        if not is_quiet:
            self.tell(self.message)
        try:
            result: Result | None = await asyncio.to_thread(run)
        except ValueError as error:
            result, self.message = None, " ".join(str(error).split())
        except Exception as error:  # whatever a user's own agent may raise
            result, self.message = None, f"{task}: {type(error).__name__}: {error}"
        self._thinking = ""
        if result is None:
            self.tell(self.message)
        return result

    def _is_running(self) -> bool:
        if self.session.outcome:
            self.tell(texts.ending(self.session))
        return not self.session.outcome

    def _stop_watching(self) -> bool:
        was_watching, self._is_watching = self._is_watching, False
        return was_watching

    def action_speed(self, faster: int) -> None:
        """Change the speed of autoplay."""
        self._speed = min(max(self._speed + faster, 0), len(DELAYS) - 1)
        self.tell(f"Autoplay: a move every {DELAYS[self._speed]:g} s.")

    # Dialogs

    def action_choose_agent(self) -> None:
        """Choose who gives hints."""
        if not self._is_free():
            return
        try:
            names = agent_names(self.session.env.rules)
        except ValueError as error:
            self.tell(str(error))
            return

        def take(name: Any) -> None:
            if name is not None:
                self._agent, self._advisor = name, None
                self.tell(f"{name} gives the hints.")

        self.push_screen(AgentDialog(names, self._agent), take)

    def action_new_game(self) -> None:
        """Choose an id and a deal."""
        if not self._is_free():
            return

        def take(chosen: Any) -> None:
            if chosen is not None:
                env_id, number = chosen
                self._start(env_id, random_deal() if number is None else number)

        self.push_screen(NewGameDialog(self.session.env_id), take)

    def _start(self, env_id: str, number: int) -> None:
        if self._keeper.keep(self.session):
            self._keeper.next_game()
        self.session = Session(env_id, {"deal": number})
        self._choice = Choice(self.session)
        self._advisor, self._line, self._hint = None, [], None
        self.tell(f"New game: {env_id}, deal {number}.")

    def action_help(self) -> None:
        """Show all keys."""
        self._stop_watching()
        self.push_screen(HelpDialog())

    def action_toggle_panel(self) -> None:
        """Show or hide what is beside the table."""
        panel = self.screen_stack[0].query_one("#panel")
        self._shows_panel = not panel.has_class("shown")
        self.tell(self.message)

    def action_leave(self) -> None:
        """Leave; the caller keeps the game."""
        self._is_stopping = True
        self.exit()

    def on_key(self, event: Key) -> None:
        is_known = event.key in self.active_bindings
        if event.is_printable and not is_known and len(self.screen_stack) == 1:
            self.tell(f"No key {event.character!r}: {texts.KEYS}")
