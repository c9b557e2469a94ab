"""The lines of text around the table."""

from __future__ import annotations

from rich.text import Text

from klondike_env.play.picture import known
from klondike_env.play.session import Session
from klondike_env.play.table import STOCK, WASTE

KEYS = "d draw · w 1-7 C D H S places · f up · u r undo redo · h a g agent · s solve · n p q ?"


def status(session: Session, width: int) -> Text:
    """What is played and how it stands, in one line."""
    name = session.env_id if width >= 104 else session.env_id.removeprefix("Klondike-")
    passes, redeals_left = session.env.rules.passes, session.table.redeals_left
    if passes is None or redeals_left is None:
        turn = f"pass {session.redeals + 1}"
    else:
        turn = f"pass {passes - redeals_left}/{passes}"
    left = f"{name}  {session.name}"
    right = (
        f"up {session.foundation_cards}/52  score {session.score}  {turn}"
        f"  moves {len(session.actions)}"
    )
    space = max(2, width - len(left) - len(right))
    return Text.assemble((left, "bold"), " " * space, right, no_wrap=True, overflow="crop")


def ending(session: Session) -> str:
    """How the game has ended; empty while it goes on."""
    if session.outcome == "won":
        return f"Won with {len(session.actions)} moves! n: new game, u: take back."
    if session.outcome == "stuck":
        return "Stuck: no card can move any more. u: take back, n: new game."
    return ""


def panel(session: Session, head: str, width: int, height: int) -> Text:
    """What does not fit on the table: the stock as far as it is known, the waste, the moves."""
    text = Text(head + "\n", "italic")
    for place, title in ((STOCK, "stock, next first"), (WASTE, "waste, top last")):
        cards = session.table.cards[place]
        if any(card is not None for card in cards):
            text.append(f"\n{title} ({len(cards)})\n", "bold not italic")
            text.append(known(cards) + "\n", "not italic")
    text.append("\nmoves\n", "bold not italic")
    used = sum(max(1, -(-len(line) // width)) for line in text.plain.splitlines())
    moves = session.move_texts()
    first = max(0, len(moves) - max(1, height - used))
    for number, move in enumerate(moves[first:], start=first + 1):
        text.append(f"{number:>4}  {move}\n", "not italic")
    return text
