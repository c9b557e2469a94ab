"""A slow Klondike in plain Python, written from the rules of the game to check the fast engine.

It shares no code and no data layout with the library: cards are (rank, suit) pairs, a pile is a
list of (card, face up) pairs, and whatever depends on looking through the stock is found by
drawing and redealing on a copy, never by a formula. Readability comes before speed throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.reference.cards import (
    ACE,
    CARDS,
    KING,
    SUITS,
    Card,
    Pile,
    face_up_cards,
    follows,
    parse_cards,
    pile_text,
    turn_up_top,
)
from tests.reference.klondike_actions import (
    CARD_MOVES,
    PILES,
    REACH_IDS,
    REACH_MOVES,
    STOCK_ROOM,
    TABLEAU_MOVES,
    TURN_MOVES,
    WASTE_MOVES,
    Move,
)

PILE_ROOM = 19
"""Six face-down cards below a run from king to ace."""
NOTHING, UNSEEN = 0, 53
"""What an observation shows for an empty place and for a card that the player has not seen."""
FACE_DOWN_AT_DEAL = 21


@dataclass(frozen=True)
class Rules:
    """The options of a game; any object with these attributes will do instead."""

    draw_count: int = 3
    passes: int | None = None
    run_moves: str = "partial"
    foundation_to_tableau: bool = True
    forced_aces: bool = False
    cards_known: bool = False
    scoring: str = "win"
    stake: int = 52
    cumulative: bool = False
    free_redeals: int | None = None
    redeal_penalty: int | None = None
    seconds_per_move: int = 0


SHOWN = {card: card.code + 1 for card in CARDS}
"""What an observation shows for a card that the player knows."""

STANDARD_POINTS = {
    "waste to pile": 5,
    "waste to foundation": 10,
    "pile to foundation": 10,
    "foundation to pile": -15,
}
VEGAS_POINTS = {"waste to foundation": 5, "pile to foundation": 5, "foundation to pile": -5}


class Game:
    """One game of Klondike.

    Starts from `deck` (52 card codes in deal order) or from `position` (the readable dict that
    `position()` gives back). `bank` is what earlier games brought in, used by cumulative Vegas
    scoring alone.
    Raises ValueError for a deck or position that cannot be.
    """

    def __init__(
        self,
        rules: Any = None,
        deck: Sequence[int] | None = None,
        position: Mapping[str, Any] | None = None,
        actions: str = "turn",
        bank: int = 0,
    ) -> None:
        self.rules = Rules() if rules is None else rules
        if actions not in ("turn", "reach"):
            raise ValueError(f"actions must be 'turn' or 'reach', not {actions!r}")
        if actions == "reach" and not self._is_looking_free():
            raise ValueError("reach needs unlimited passes, no redeal penalty and no clock")
        if (deck is None) == (position is None):
            raise ValueError("give either a deck or a position")
        self.actions = actions
        self.tableau: list[Pile] = [[] for _ in PILES]
        self.foundations: dict[str, list[Card]] = {suit: [] for suit in SUITS}
        self.stock: list[Card] = []  # the card drawn first comes first
        self.waste: list[Card] = []  # bottom to top
        self.seen: set[Card] = set()  # cards that have lain on the waste
        self.redeals_left: int | None = None
        if self.rules.passes is not None:
            self.redeals_left = self.rules.passes - 1
        self.redeals_made = 0
        self.moves_made = 0
        self.score = 0
        if self.rules.scoring == "vegas":
            self.score = (bank if self.rules.cumulative else 0) - self.rules.stake
        self.outcome = ""
        if deck is not None:
            self._deal(deck)
        else:
            assert position is not None
            self._set_up(position)

    # Setting up

    def _deal(self, deck: Sequence[int]) -> None:
        if sorted(deck) != list(range(52)):
            raise ValueError("a deck is 52 distinct cards")
        to_deal = iter([CARDS[code] for code in deck])
        for row in PILES:
            for pile in range(row, 7):
                self.tableau[pile].append((next(to_deal), pile == row))
        self.stock = list(to_deal)

    def _set_up(self, position: Mapping[str, Any]) -> None:
        piles = [parse_cards(text) for text in position["tableau"]]
        if len(piles) != 7:
            raise ValueError(f"{len(piles)} tableau piles, 7 needed")
        self.tableau = piles
        for suit, height in position.get("foundations", {}).items():
            if suit not in SUITS or not 0 <= height <= 13:
                raise ValueError(f"no foundation {suit} of {height} cards")
            self.foundations[suit] = [Card(rank, suit) for rank in range(ACE, height + 1)]
        for name in ("stock", "waste"):
            cards = parse_cards(position.get(name, ""))
            if not all(face_up for _, face_up in cards):
                raise ValueError(f"the {name} is written without brackets")
            setattr(self, name, [card for card, _ in cards])
        if position.get("rest") == "stock":
            named = set(self.all_cards())
            self.stock += [card for card in CARDS if card not in named]
        elif "rest" in position:
            raise ValueError("the rest can only go to the stock")
        self.seen = set(self.waste)
        self.score = position.get("score", self.score)
        if "redeals_left" in position:
            self._set_redeals_left(position["redeals_left"])
        self._check()

    def _set_redeals_left(self, redeals_left: int | None) -> None:
        if self.rules.passes is None:
            if redeals_left is not None:
                raise ValueError("redeals_left must be null when passes are unlimited")
            return
        if redeals_left is None or not 0 <= redeals_left < self.rules.passes:
            raise ValueError(f"redeals_left must be 0 to {self.rules.passes - 1}")
        self.redeals_left = redeals_left
        self.redeals_made = self.rules.passes - 1 - redeals_left
        if self.redeals_made:  # the player has been through the whole stock before
            self.seen = {*self.stock, *self.waste}

    def _check(self) -> None:
        cards = self.all_cards()
        if len(cards) != 52 or len(set(cards)) != 52:
            raise ValueError(f"{len(cards)} cards, {len(set(cards))} distinct; 52 needed")
        if len(self.stock) + len(self.waste) > STOCK_ROOM:
            raise ValueError("more than 24 cards in stock and waste")
        if self.foundation_cards == 52:
            raise ValueError("the game is already won")
        for number, pile in enumerate(self.tableau, start=1):
            ups = [face_up for _, face_up in pile]
            if pile and not ups[-1]:
                raise ValueError(f"pile {number} has no face-up card on top")
            if ups != sorted(ups):
                raise ValueError(f"pile {number} has a face-down card on a face-up one")
            if ups.count(False) > 6:  # no deal has more, and none are ever added
                raise ValueError(f"pile {number} has more than 6 face-down cards")
            run = face_up_cards(pile)
            if not all(follows(upper, lower) for lower, upper in pairwise(run)):
                raise ValueError(f"the face-up cards of pile {number} are no run")

    # What can be read off

    def all_cards(self) -> list[Card]:
        """Every card of the game, wherever it lies."""
        cards = [card for pile in self.tableau for card, _ in pile]
        for suit in SUITS:
            cards += self.foundations[suit]
        return cards + self.stock + self.waste

    @property
    def foundation_cards(self) -> int:
        return sum(len(cards) for cards in self.foundations.values())

    @property
    def face_down_cards(self) -> int:
        return sum(not face_up for pile in self.tableau for _, face_up in pile)

    @property
    def is_won(self) -> bool:
        return self.foundation_cards == 52

    @property
    def terminated(self) -> bool:
        return self.outcome != ""

    @property
    def action_count(self) -> int:
        return len(TURN_MOVES) if self.actions == "turn" else len(REACH_MOVES)

    def position(self) -> dict[str, Any]:
        """The state as the readable dict, all cards named."""
        return {
            "tableau": [pile_text(pile) for pile in self.tableau],
            "foundations": {suit: len(self.foundations[suit]) for suit in SUITS},
            "stock": " ".join(card.text for card in self.stock),
            "waste": " ".join(card.text for card in self.waste),
            "redeals_left": self.redeals_left,
            "score": self.score,
        }

    def observation(self) -> dict[str, list[Any]]:
        """What a player with a perfect memory knows.

        tableau 7 x 19 bottom to top, foundations 4, waste 24 bottom to top, stock 24 in draw order,
        redeals_left 1 (-1 unlimited) and, when all cards are known, face_down 7.
        """
        knows_all = self.rules.cards_known
        knows_stock = knows_all or self.actions == "reach"
        shown: dict[str, list[Any]] = {
            "tableau": [
                fill_up(
                    [SHOWN[card] if face_up or knows_all else UNSEEN for card, face_up in pile],
                    PILE_ROOM,
                )
                for pile in self.tableau
            ],
            "foundations": [len(self.foundations[suit]) for suit in SUITS],
            "waste": fill_up([SHOWN[card] for card in self.waste], STOCK_ROOM),
            "stock": fill_up(
                [
                    SHOWN[card] if knows_stock or card in self.seen else UNSEEN
                    for card in self.stock
                ],
                STOCK_ROOM,
            ),
            "redeals_left": [-1 if self.redeals_left is None else self.redeals_left],
        }
        if knows_all:
            shown["face_down"] = [sum(not up for _, up in pile) for pile in self.tableau]
        return shown

    # Which moves the rules allow

    def cards_to_move(self, move: Move) -> list[Card]:
        """The cards that `move` would carry, bottom to top; none when it can't be made.

        Forced aces are left to `is_legal`.
        """
        kind = move.kind
        if kind == "pile to pile":
            run = face_up_cards(self.tableau[move.source])
            for start in range(len(run)):
                cards = run[start:]
                if self.fits_pile(cards[0], move.target) and self.moves_as_one(cards, run):
                    return cards
        elif kind == "pile to foundation":
            pile = self.tableau[move.source]
            if pile and self.fits_foundation(pile[-1][0]):
                return [pile[-1][0]]
        elif kind == "waste to pile":
            if self.waste and self.fits_pile(self.waste[-1], move.target):
                return self.waste[-1:]
        elif kind == "waste to foundation":
            if self.waste and self.fits_foundation(self.waste[-1]):
                return self.waste[-1:]
        elif kind == "foundation to pile":
            cards = self.foundations[move.source][-1:]
            if cards and self.rules.foundation_to_tableau and self.fits_pile(cards[0], move.target):
                return cards
        elif kind == "draw":
            return self.stock[: self.rules.draw_count]
        elif kind == "redeal" and not self.stock and self.redeals_left != 0:
            return list(self.waste)
        return []

    def fits_foundation(self, card: Card) -> bool:
        return len(self.foundations[card.suit]) == card.rank - 1

    def fits_pile(self, card: Card, target: int) -> bool:
        """Whether `card`, as the highest of what moves, may be put on the pile `target`."""
        pile = self.tableau[target]
        return follows(card, pile[-1][0]) if pile else card.rank == KING

    def moves_as_one(self, cards: list[Card], run: list[Card]) -> bool:
        """Whether `cards`, the upper end of the face-up `run`, may move together."""
        if self.rules.run_moves == "whole":
            return len(cards) == len(run)
        if self.rules.run_moves == "same_suit":
            return len({card.suit for card in cards}) == 1
        return True

    def is_legal(self, move: Move) -> bool:
        """Whether the rules allow `move` in the present position."""
        cards = self.cards_to_move(move)
        if cards and self.rules.forced_aces and self.has_free_ace():
            return move.kind.endswith("to foundation") and cards[0].rank == ACE
        return bool(cards)

    def has_free_ace(self) -> bool:
        """Whether an ace could go to its foundation at once."""
        tops = [pile[-1][0] for pile in self.tableau if pile] + self.waste[-1:]
        return any(card.rank == ACE for card in tops)

    def counts_as_move(self, move: Move) -> bool:
        """Whether a legal move changes anything: carrying a whole pile to a space does not."""
        return not (
            move.kind == "pile to pile"
            and not self.tableau[move.target]
            and len(self.cards_to_move(move)) == len(self.tableau[move.source])
        )

    # Looking through the stock

    def stock_positions(self) -> Iterator[Game]:
        """The present position and all that draws and redeals alone can still reach, in order.

        What is yielded is a copy that goes on drawing afterwards: use it before the next one.
        """
        look = self.copy()
        met = set()
        while tuple(look.waste) not in met:  # stock and waste keep their common order
            met.add(tuple(look.waste))
            yield look
            if look.is_legal(Move("draw")):
                look._draw()
            elif look.is_legal(Move("redeal")):
                look._redeal()
            else:
                return

    def is_stuck(self) -> bool:
        """Whether no card can move, now or at any stock position that can still be reached."""
        return not self.is_won and not any(
            position.is_legal(move) and position.counts_as_move(move)
            for position in self.stock_positions()
            for move in CARD_MOVES
        )

    # Actions

    def legal_actions(self) -> set[int]:
        """The ids that may be played; none when the game has ended or nothing can be played."""
        if self.terminated:
            return set()
        if self.actions == "turn":
            return {action for action, move in TURN_MOVES.items() if self.is_legal(move)}
        legal = {REACH_IDS[None, move] for move in TABLEAU_MOVES if self.is_legal(move)}
        for position in self.stock_positions():
            place = len(position.waste) - 1
            legal |= {REACH_IDS[place, move] for move in WASTE_MOVES if position.is_legal(move)}
        return legal

    def mask(self) -> list[int]:
        """1 for each legal id, else 0; all ones when there is none: any action is ignored then."""
        legal = self.legal_actions()
        if not legal:
            return [1] * self.action_count
        return [int(action in legal) for action in range(self.action_count)]

    def step(self, action: int) -> dict[str, Any]:
        """Play one action and report what changed.

        Keys: score_change, foundation_change, progress_change (a Fraction), terminated and outcome
        ("", "won" or "stuck"). When nothing at all can be played, any action ends the game as stuck
        and changes nothing. Raises ValueError, with the game unchanged, for an illegal action.
        """
        if self.terminated:
            raise ValueError("the game has ended")
        if not 0 <= action < self.action_count:
            raise ValueError(f"no action {action}")
        score, up, down = self.score, self.foundation_cards, self.face_down_cards
        move = self._bring_about(action)
        if move is not None:
            self._play(move)
        elif self.legal_actions():
            raise ValueError(f"action {action} is illegal")
        if self.is_won:
            self.outcome = "won"
        elif self.is_stuck():
            self.outcome = "stuck"
        foundation_change = self.foundation_cards - up
        turned_up = down - self.face_down_cards
        return {
            "score_change": self.score - score,
            "foundation_change": foundation_change,
            "progress_change": Fraction(foundation_change + turned_up, 52 + FACE_DOWN_AT_DEAL),
            "terminated": self.terminated,
            "outcome": self.outcome,
        }

    def _bring_about(self, action: int) -> Move | None:
        """The move of `action`, the stock gone through as far as it needs; None if illegal."""
        if self.actions == "turn":
            move = TURN_MOVES[action]
            return move if self.is_legal(move) else None
        place, move = REACH_MOVES[action]
        if place is None:
            return move if self.is_legal(move) else None
        for position in self.stock_positions():
            if len(position.waste) == place + 1 and position.is_legal(move):
                self.stock, self.waste = position.stock, position.waste
                return move
        return None

    def _play(self, move: Move) -> None:
        """Carry out a legal move: the cards, the turn-up, the score, the clock, the win bonus."""
        points = self._points(move)
        turned_up = False
        cards = self.cards_to_move(move)
        if move.kind == "draw":
            self._draw()
        elif move.kind == "redeal":
            self._redeal()
        else:
            if move.kind.startswith("waste"):
                self.waste.pop()
            elif move.kind.startswith("foundation"):
                self.foundations[move.source].pop()
            else:
                pile = self.tableau[move.source]
                del pile[-len(cards) :]
                turned_up = turn_up_top(pile)
            if move.kind.endswith("foundation"):
                self.foundations[cards[0].suit].append(cards[0])
            else:
                self.tableau[move.target] += [(card, True) for card in cards]
        self.moves_made += 1
        self._keep_score(points, turned_up)

    def _draw(self) -> None:
        count = self.rules.draw_count
        packet, self.stock = self.stock[:count], self.stock[count:]
        self.waste += packet
        self.seen.update(packet)

    def _redeal(self) -> None:
        self.stock, self.waste = self.waste, []
        self.redeals_made += 1
        if self.redeals_left is not None:
            self.redeals_left -= 1

    # Scoring

    def _points(self, move: Move) -> int:
        """The points of a move before it is made, turn-up, clock and win apart."""
        if self.rules.scoring == "vegas":
            return VEGAS_POINTS.get(move.kind, 0)
        if self.rules.scoring != "standard":
            return 0
        if move.kind == "redeal":
            free, penalty = self._redeal_terms()
            return -penalty if self.redeals_made >= free else 0
        return STANDARD_POINTS.get(move.kind, 0)

    def _redeal_terms(self) -> tuple[int, int]:
        """How many redeals are free and what each later one costs, by default as Windows has it."""
        free, penalty = (0, 100) if self.rules.draw_count == 1 else (3, 20)
        if self.rules.free_redeals is not None:
            free = self.rules.free_redeals
        if self.rules.redeal_penalty is not None:
            penalty = self.rules.redeal_penalty
        return free, penalty

    def _keep_score(self, points: int, turned_up: bool) -> None:
        """Add up the step just made."""
        if self.rules.scoring == "win":
            self.score += self.is_won
        elif self.rules.scoring == "vegas":
            self.score += points
        else:
            self.score = max(0, self.score + points + 5 * turned_up)
            seconds = self.moves_made * self.rules.seconds_per_move
            seconds_before = (self.moves_made - 1) * self.rules.seconds_per_move
            tens_completed = seconds // 10 - seconds_before // 10
            self.score = max(0, self.score - 2 * tens_completed)
            if self.is_won and seconds > 30:
                self.score += 700_000 // seconds

    def _is_looking_free(self) -> bool:
        """Whether going through the stock costs nothing, as the reach actions need it."""
        is_timed_or_fined = self.rules.scoring == "standard" and (
            self._redeal_terms()[1] != 0 or self.rules.seconds_per_move != 0
        )
        return self.rules.passes is None and not is_timed_or_fined

    def copy(self) -> Game:
        """A game of its own in the same state."""
        twin = copy(self)
        twin.tableau = [list(pile) for pile in self.tableau]
        twin.foundations = {suit: list(cards) for suit, cards in self.foundations.items()}
        twin.stock, twin.waste, twin.seen = list(self.stock), list(self.waste), set(self.seen)
        return twin


def fill_up(values: list[int], room: int) -> list[int]:
    """`values` followed by nothing up to `room` places."""
    if len(values) > room:
        raise ValueError(f"{len(values)} cards, room for {room}")
    return values + [NOTHING] * (room - len(values))
