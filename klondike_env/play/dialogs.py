"""The dialogs of the terminal game: help, new game, choice of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, OptionList, Select, Static

from klondike_env import ENV_IDS, deals

HELP = (
    ("d  space", "draw; turn the waste over when the stock is empty"),
    ("w  1-7", "pick up from the waste or a pile, then 1-7: onto a pile"),
    ("f", "play what is picked up to its foundation"),
    ("C D H S, 1-7", "take a card back from a foundation (capital letters)"),
    ("arrows Enter Esc", "go round the table, press a place, let go"),
    ("mouse", "click or drag; a card picks up all that lies on it;"),
    ("", "double click: to the foundation"),
    ("", ""),
    ("u  r", "undo, redo"),
    ("h", "hint by the agent, marked \N{BLACK DIAMOND}"),
    ("a  +  -", "let the agent play, or stop it; faster, slower"),
    ("g", "choose the agent"),
    ("s", "can it be won from here, all cards known?"),
    ("", "s again: watch the line that wins"),
    ("n  p  q", "new game; panel beside the table; leave, game kept"),
)
"""Keys and what they do. How many cards of a pile move follows from the ranks."""

LEGEND = (
    "Picked-up cards are yellow; places that take them carry a \N{BLACK DOWN-POINTING TRIANGLE}."
)


def help_text() -> Text:
    """All keys, as shown."""
    lines = [Text.assemble((f"{keys:<18}", "bold"), what) for keys, what in HELP]
    return Text("\n").join([*lines, Text(), Text(LEGEND), Text("Esc closes", "dim")])


class Dialog(ModalScreen[object]):
    """A box over the table; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "close", "Close")]
    DEFAULT_CSS = """
    Dialog { align: center middle; background: black 50%; }
    Dialog > Vertical {
        width: auto; max-width: 100%; height: auto; max-height: 100%; overflow-y: auto;
        padding: 0 2; border: round #7fae93; background: #0c2f20; color: #e6f0ea;
    }
    Dialog Horizontal { width: auto; height: auto; }
    Dialog Static { width: auto; }
    Dialog Input, Dialog Select, Dialog OptionList { width: 50; }
    Dialog #title { text-style: bold; margin-bottom: 1; }
    Dialog #problem { color: #ffb454; width: 50; height: auto; }
    Dialog Button { margin: 1 1 0 0; }
    """

    def action_close(self) -> None:
        self.dismiss(None)


class HelpDialog(Dialog):
    """All keys."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter", "close", "Close")]

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(help_text())


class NewGameDialog(Dialog):
    """Asks for an id and a deal number; gives (id, number), None for a random deal."""

    def __init__(self, env_id: str) -> None:
        super().__init__()
        self._env_id = env_id

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("New game", id="title")
            yield Select([(name, name) for name in ENV_IDS], value=self._env_id, allow_blank=False)
            yield Input(placeholder="deal number; empty for a random one", restrict=r"[0-9]*")
            yield Label("", id="problem")
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
            self.query_one("#problem", Label).update(str(error))
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
            yield Label("Agent for hints and autoplay", id="title")
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
