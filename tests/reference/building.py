"""Building whole Klondike positions around a fragment, and naming actions by their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.reference.cards import CARDS, RANKS, SUITS, Card, parse_cards
from tests.reference.klondike import Game
from tests.reference.klondike_actions import REACH_MOVES, TURN_MOVES, Move


def whole_position(
    piles: Sequence[str],
    foundations: Mapping[str, int] | None = None,
    stock: str = "",
    waste: str = "",
    rest_to_stock: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """A position of all 52 cards, made of a fragment.

    Of the cards that the fragment does not name, `rest_to_stock` are put at the end of the stock;
    the others are laid face down under piles written with a leading `*` (`"* 9H"`), which hold up
    to 6 face-down cards. A pile `"*"` also gets a face-up card. All in card order.
    """
    heights = {suit: (foundations or {}).get(suit, 0) for suit in SUITS}
    texts = [*(pile.lstrip("*") for pile in piles), stock, waste]
    named = {card for text in texts for card, _ in parse_cards(text)}
    named |= {Card(rank, suit) for suit in SUITS for rank in range(1, heights[suit] + 1)}
    rest = [card.text for card in CARDS if card not in named]
    stock = " ".join([stock, *rest[:rest_to_stock]]).strip()
    rest = rest[rest_to_stock:]
    tableau = [rest.pop() if pile == "*" else pile.lstrip("* ") for pile in piles]
    for i, pile in enumerate(piles):
        if pile.startswith("*"):
            room = 6 - pile.count("(")
            hidden, rest = rest[:room], rest[room:]
            tableau[i] = "".join(f"({card})" for card in hidden) + " " + tableau[i]
    if rest:
        raise ValueError(f"no room for {' '.join(rest)}")
    return {
        "tableau": tableau,
        "foundations": heights,
        "stock": stock,
        "waste": waste,
        **more,
    }


def easy_deck() -> list[int]:
    """A deck that is won by playing cards up: pile 7 to pile 1 from the top, then the stock.

    Aces come first, then twos and so on, since every pile hands out its cards in that order.
    """
    order = iter([Card(rank, suit).code for rank in range(1, 14) for suit in SUITS])
    piles = {pile: [next(order) for _ in range(pile)] for pile in range(7, 0, -1)}
    rows = [piles[pile].pop() for row in range(1, 8) for pile in range(row, 8)]
    return rows + list(order)


def move_text(move: Move) -> str:
    """`draw`, `redeal`, `W>F`, `W>T1`, `T1>F`, `T1>T2` or `H>T2`."""
    if move.kind in ("draw", "redeal"):
        return move.kind
    source = "W" if move.source is None else move.source
    source = f"T{source + 1}" if isinstance(source, int) else source
    target = "F" if move.target is None else f"T{move.target + 1}"
    return f"{source}>{target}"


TURN_TEXTS = {action: move_text(move) for action, move in TURN_MOVES.items()}
TURN_ACTIONS = {text: action for action, text in TURN_TEXTS.items()}


def legal_texts(game: Game) -> set[str]:
    """The legal moves as text; for `reach`, plays of the talon by card, as `5H>F`."""
    if game.actions == "turn":
        return {TURN_TEXTS[action] for action in game.legal_actions()}
    talon = game.waste + game.stock
    texts = set()
    for action in game.legal_actions():
        place, move = REACH_MOVES[action]
        text = move_text(move)
        texts.add(text if place is None else text.replace("W", talon[place].text))
    return texts


def play(game: Game, *texts: str) -> dict[str, Any]:
    """Play moves by their text in the `turn` actions; what the last one reported."""
    result: dict[str, Any] = {}
    for text in texts:
        result = game.step(TURN_ACTIONS[text])
        assert sorted(game.all_cards()) == sorted(CARDS), f"cards lost or doubled by {text}"
    return result


def top(cards: Sequence[Card]) -> str:
    """The text of the topmost card, empty when there is none."""
    return cards[-1].text if cards else ""


def shown(text: str) -> list[int]:
    """What an observation shows for the cards of `text`, all face up."""
    return [
        SUITS.index(card.suit) * 13 + RANKS.index(card.text[0]) + 1 for card, _ in parse_cards(text)
    ]
