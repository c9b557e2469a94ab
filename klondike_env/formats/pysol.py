"""PySol: boards as PySolFC's tools and Klondike-Solver print them, and numbered deals.

An undealt deal, as PySolFC's board generator writes it; ``<X>`` lies face down, each line below the
talon is a pile, and the talon's first card is drawn first:

    Talon: 3C AD AH ...
    QC
    <4H> 6S
    ...

A game in progress, as Klondike-Solver writes it (`/OUT 1`): the waste stands before ``==>``, its
top card first, the stock after it, first drawn first; a pile may be empty:

    Foundations: H-0 C-A D-0 S-0
    Talon: QH 2C ==> 5C 6D <==
    : KH
    :
    ...

Redeals left, score, and which stock cards have been seen are not kept: a game that is read has
those of a fresh one.
"""

from __future__ import annotations

import operator
import re

from klondike_env.cards import CARDS, NUM_CARDS, NUM_RANKS, SUITS
from klondike_env.formats.board import PILES, Board, Deck, Game, board_of
from klondike_env.formats.texts import content, naming, parse_cards

NAME = "PySol"
FORM = "a board: 'Talon: 3C AD ...' and 7 piles such as '<4H> 6S'"
LAST_NUMBER = 32_000
"""PySol deals higher numbers with other generators."""

_FOUNDATION_ORDER = "HCDS"
_RANKS = ("0", "A", *"23456789", "T", "J", "Q", "K")
_HEADING = re.compile(r"(talon|foundations|founds|freecells|fc)\s*:", re.IGNORECASE)
_ALIASES = {"founds": "foundations", "fc": "freecells"}
_DOWN = re.compile(r"<([^<>]*)>")
_DOWN_CARD = re.compile("<[0-9ATJQK]{1,2}[CDHS]>", re.IGNORECASE)


def recognises(text: str) -> bool:
    """Whether a line has a heading of a board, or a pile's colon or face-down cards."""
    return any(
        _HEADING.match(line) or line.startswith(":") or _DOWN_CARD.match(line)
        for line in content(text)
    )


@naming(NAME)
def read(text: str) -> Game:
    """The deck or the position of a board.

    Raises:
        ValueError: not 52 cards each once, not 7 piles, no talon, or a line of another game.
    """
    headed: dict[str, str] = {}
    rows = []
    for line in content(text):
        heading = _HEADING.match(line)
        if not heading:
            rows.append(line)
            continue
        name = heading[1].lower()
        name = _ALIASES.get(name, name)
        if name in headed:
            raise ValueError(f"a second line {name!r}: one board needed")
        headed[name] = line[heading.end() :]
    if "freecells" in headed:
        raise ValueError("the board has free cells: one of Klondike needed")
    if "talon" not in headed:
        raise ValueError("the board has no line 'Talon: ...': one of Klondike needed")
    if len(rows) != PILES:
        raise ValueError(
            f"the board has {len(rows)} piles, {PILES} needed (a ':' alone is an empty one)"
        )
    waste, arrow, stock = headed["talon"].removesuffix("<==").rpartition("==>")
    piles = [_read_pile(row, f"pile {i}") for i, row in enumerate(rows, start=1)]
    return Board(
        down=[down for down, _ in piles],
        up=[up for _, up in piles],
        foundations=_read_foundations(headed.get("foundations", "")),
        stock=parse_cards(stock.split(), "talon"),
        waste=parse_cards(reversed(waste.split()), "waste") if arrow else [],
    ).game()


@naming(NAME)
def write(game: Game) -> str:
    """The board of a deck or a position, in the first form if nothing has been played.

    Raises:
        ValueError: not a deck or a position of 52 cards each once.
    """
    board = board_of(game)
    rows = [
        " ".join([*(f"<{CARDS[card]}>" for card in down), *(CARDS[card] for card in up)])
        for down, up in zip(board.down, board.up, strict=True)
    ]
    stock = [CARDS[card] for card in board.stock]
    if board.deck() is not None:
        return "\n".join([" ".join(["Talon:", *stock]), *rows, ""])
    foundations = (
        f"{suit}-{_RANKS[board.foundations[SUITS.index(suit)]]}" for suit in _FOUNDATION_ORDER
    )
    waste = [CARDS[card] for card in reversed(board.waste)]
    return "\n".join(
        [
            " ".join(["Foundations:", *foundations]),
            " ".join(["Talon:", *waste, "==>", *stock, "<=="]),
            *(f": {row}".rstrip() for row in rows),
            "",
        ]
    )


def deal(number: int) -> Deck:
    """The deck of a numbered deal of PySol's Klondike.

    The generator is Microsoft's, known from FreeCell: state = state * 214013 + 2531011 mod 2^31,
    value = state >> 16, starting at the number. It shuffles the cards sorted by rank, then by suit.
    Rows are dealt right to left and from the longest to the shortest, a row of all piles last.

    Raises:
        ValueError: no whole number from 1 to 32000.
    """
    try:
        state = 0 if isinstance(number, bool) else operator.index(number)
    except TypeError:
        state = 0
    if not 1 <= state <= LAST_NUMBER:
        raise ValueError(
            f"{NAME}: a deal number is a whole number from 1 to {LAST_NUMBER}, not {number!r}"
        )
    cards = [suit * NUM_RANKS + rank for rank in range(NUM_RANKS) for suit in range(len(SUITS))]
    for i in range(NUM_CARDS - 1, 0, -1):
        state = (state * 214_013 + 2_531_011) % 2**31
        j = (state >> 16) % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    down: list[list[int]] = [[] for _ in range(PILES)]
    for left in range(1, PILES):
        for pile in range(PILES - 1, left - 1, -1):
            down[pile].append(cards.pop())
    up = [[cards.pop()] for _ in range(PILES)][::-1]
    deck = Board(down, up, (0, 0, 0, 0), cards[::-1], []).deck()
    assert deck is not None
    return deck


def _read_pile(row: str, where: str) -> tuple[list[int], list[int]]:
    row = row.removeprefix(":").strip()
    if row == "-":
        return [], []
    last = row.rfind(">") + 1
    if _DOWN.sub(" ", row[:last]).strip():
        raise ValueError(f"{where} has a face-up card under a face-down one, or a stray '<' or '>'")
    return parse_cards(_DOWN.findall(row[:last]), where), parse_cards(row[last:].split(), where)


def _read_foundations(text: str) -> list[int]:
    ups: dict[str, int] = {}
    for token in text.upper().replace("10", "T").split():
        suit, _, rank = token.partition("-")
        if suit not in SUITS or not suit or rank not in _RANKS or suit in ups:
            raise ValueError(f"foundations are written H-0 C-A D-5 S-K, not {token[:12]!r}")
        ups[suit] = _RANKS.index(rank)
    return [ups.get(suit, 0) for suit in SUITS]
