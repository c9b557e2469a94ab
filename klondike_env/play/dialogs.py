"""The dialogs of the terminal game: help, new game, choice of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, OptionList, Select, Static

from klondike_env import ENV_IDS, deals

HELP = """\
[b]Moves[/b]
  [b]d[/b] or space on the stock   draw; turn the waste over when the stock is empty
  [b]w[/b], [b]1[/b]-[b]7[/b], then where to    waste or pile: to a pile [b]1[/b]-[b]7[/b], or [b]f[/b] to its foundation
  [b]C[/b] [b]D[/b] [b]H[/b] [b]S[/b], then [b]1[/b]-[b]7[/b]    take a card back from a foundation (capital letters)
  arrows, Enter, Esc       go round the table, choose or put down, let go
  mouse                    click or drag; a double click plays to the foundation
  Places where the chosen cards may go carry a ▼. How many cards move follows
  from the ranks; click on a card to choose it and all above it.

[b]Game[/b]
  [b]u[/b] [b]r[/b]   undo, redo          [b]n[/b]   new game: another deal or id
  [b]h[/b]     hint                [b]g[/b]   choose the agent that gives hints
  [b]a[/b]     autoplay: watch the agent play on; again to stop; [b]+[/b] [b]-[/b] its speed
  [b]s[/b]     solve: can this game be won from here, all cards known? [b]s[/b] again to watch
  [b]p[/b]     show or hide the panel beside the table
  [b]q[/b]     leave; the game is kept as a record and can be resumed

Agents see what you see. Those that know the stock, where looking through
it is free, look through it first."""


class Dialog(ModalScreen[object]):
    """A box over the table; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "close", "Close")]
    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > Vertical {
        width: auto; max-width: 96%; height: auto; max-height: 96%;
        padding: 1 2; border: round $accent; background: $surface;
    }
    Dialog VerticalScroll, Dialog Horizontal { width: auto; height: auto; max-height: 100%; }
    Dialog Input, Dialog Select, Dialog OptionList { width: 44; }
    Dialog .title { text-style: bold; margin-bottom: 1; }
    Dialog .error { color: $error; width: 44; height: auto; }
    Dialog Button { margin: 1 1 0 0; }
    """

    def action_close(self) -> None:
        self.dismiss(None)


class HelpDialog(Dialog):
    """All keys."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter", "close", "Close")]

    def compose(self) -> ComposeResult:
        with Vertical(), VerticalScroll():
            yield Static(HELP)


class NewGameDialog(Dialog):
    """Asks for an id and a deal number; gives (id, number), None for a random deal."""

    def __init__(self, env_id: str) -> None:
        super().__init__()
        self._env_id = env_id

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("New game", classes="title")
            yield Select([(name, name) for name in ENV_IDS], value=self._env_id, allow_blank=False)
            yield Input(placeholder="deal number; empty for a random one", restrict=r"[0-9]*")
            yield Label("", classes="error")
            with Horizontal():
                yield Button("Deal", variant="primary", id="deal")
                yield Button("Cancel", id="cancel")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Button.Pressed, "#cancel")
    def cancel(self) -> None:
        """Leave the game as it is."""
        self.dismiss(None)

    @on(Button.Pressed, "#deal")
    @on(Input.Submitted)
    def deal(self) -> None:
        """Take what was entered, if it is a deal number."""
        text = self.query_one(Input).value.strip()
        try:
            number = deals.check_number(int(text)) if text else None
        except ValueError as error:
            self.query_one(".error", Label).update(str(error))
            return
        self.dismiss((self.query_one(Select).value, number))


class AgentDialog(Dialog):
    """Offers the agents that can play; gives the name chosen."""

    def __init__(self, names: Sequence[str], present: str) -> None:
        super().__init__()
        self._names = list(names)
        self._present = present

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("Agent for hints and autoplay", classes="title")
            yield OptionList(*self._names)

    def on_mount(self) -> None:
        choice = self.query_one(OptionList)
        choice.focus()
        if self._present in self._names:
            choice.highlighted = self._names.index(self._present)

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        """Take the highlighted name."""
        self.dismiss(self._names[event.option_index])
