"""Solvitaire's JSON, which lonelybot prints too.

    {"tableau piles": [["KH"], ["10d", "7S"], ...], "stock": ["6S", ...], "waste": [],
     "foundations": [["AC", "2C"], [], [], []]}

Piles and waste run bottom to top, a lower-case suit lies face down; the stock's last card is drawn
first. Each foundation is the list of its cards from the ace up, in any order of the suits, as the
schema in Solvitaire's deal parser has it; lonelybot calls the key ``foundation``. Solvitaire also
reads aces and court cards as numbers (``1H``): those are refused as misprints.

Redeals left, score, and which stock cards have been seen are not kept: a game that is read has
those of a fresh one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from klondike_env.cards import CARDS, NUM_CARDS, NUM_RANKS
from klondike_env.formats.board import PILES, Board, Game, board_of
from klondike_env.formats.texts import content, load_json, naming, parse_cards

NAME = "Solvitaire"
FORM = 'JSON such as {"tableau piles": [["KH"], ...], "stock": ["6S", ...]}'

_KEYS = ("tableau piles", "stock", "waste", "foundations", "foundation")


def recognises(text: str) -> bool:
    """Whether the text begins as JSON and has Solvitaire's name for the piles."""
    lines = content(text)
    return bool(lines) and lines[0].startswith("{") and '"tableau piles"' in text


@naming(NAME)
def read(text: str) -> Game:
    """The deck or the position of a JSON text.

    Raises:
        ValueError: damaged JSON, not 7 piles, not 52 cards each once, or a key of another game.
    """
    deal = load_json(text)
    if not isinstance(deal, dict) or "tableau piles" not in deal:
        raise ValueError('a dict with the key "tableau piles" needed')
    others = [key for key in deal if key not in _KEYS]
    if others:
        raise ValueError(
            f"it has {others[0]!r:.40}, of another game: Klondike has {', '.join(_KEYS[:4])}"
        )
    if "foundation" in deal and "foundations" in deal:
        raise ValueError("it has both foundation and foundations: one needed")
    piles = _lists(deal["tableau piles"], "tableau piles")
    stock = _list(deal.get("stock", []), "stock")
    waste = _list(deal.get("waste", []), "waste")
    foundations = _lists(deal.get("foundations", deal.get("foundation", [])), "foundations")
    if len(piles) != PILES:
        count = sum(map(len, piles)) + len(stock) + len(waste) + sum(map(len, foundations))
        raise ValueError(
            f"it has {len(piles)} tableau piles and {count} cards: {PILES} piles and {NUM_CARDS}"
            " cards needed"
        )
    split = [_split_pile(pile, f"pile {i}") for i, pile in enumerate(piles, start=1)]
    return Board(
        down=[down for down, _ in split],
        up=[up for _, up in split],
        foundations=_read_foundations(foundations),
        stock=parse_cards(stock, "stock")[::-1],
        waste=parse_cards(waste, "waste"),
    ).game()


@naming(NAME)
def write(game: Game) -> str:
    """The JSON text of a deck or a position.

    Raises:
        ValueError: not a deck or a position of 52 cards each once.
    """
    board = board_of(game)
    piles = [
        [*(text[:-1] + text[-1].lower() for text in _texts(down)), *_texts(up)]
        for down, up in zip(board.down, board.up, strict=True)
    ]
    foundations = [
        _texts(range(suit * NUM_RANKS, suit * NUM_RANKS + up))
        for suit, up in enumerate(board.foundations)
    ]
    rows = ",\n".join(f"    {json.dumps(pile)}" for pile in piles)
    return (
        f'{{\n  "tableau piles": [\n{rows}\n  ],\n'
        f'  "stock": {json.dumps(_texts(board.stock[::-1]))},\n'
        f'  "waste": {json.dumps(_texts(board.waste))},\n'
        f'  "foundations": {json.dumps(foundations)}\n}}\n'
    )


def _split_pile(texts: list[str], where: str) -> tuple[list[int], list[int]]:
    cards = parse_cards(texts, where)
    size = sum(text.strip()[-1].islower() for text in texts)
    if any(text.strip()[-1].isupper() for text in texts[:size]):
        raise ValueError(f"{where} has a face-up card under a face-down one (a lower-case suit)")
    return cards[:size], cards[size:]


def _read_foundations(lists: list[list[str]]) -> list[int]:
    ups = [0] * 4
    for texts in lists:
        cards = parse_cards(texts, "foundations")
        suit = cards[0] // NUM_RANKS if cards else 0
        if cards != list(range(suit * NUM_RANKS, suit * NUM_RANKS + len(cards))):
            raise ValueError(
                f"a foundation is {' '.join(CARDS[card] for card in cards)}: from the ace up in"
                " one suit needed"
            )
        if cards and ups[suit]:
            raise ValueError(f"two foundations begin with {CARDS[cards[0]]}: one a suit needed")
        ups[suit] = ups[suit] or len(cards)
    return ups


def _lists(value: object, name: str) -> list[list[str]]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is a list of lists of cards, not {value!r:.40}")
    return [_list(part, name) for part in value]


def _list(value: object, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(card, str) for card in value):
        raise ValueError(f'{name}: lists of cards such as ["KH", "7S"] needed, not {value!r:.40}')
    return value


def _texts(cards: Sequence[int]) -> list[str]:
    """Card texts as Solvitaire reads them: it knows no T."""
    return [CARDS[card].replace("T", "10") for card in cards]
