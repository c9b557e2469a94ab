"""What has been picked up to be moved, and what pressing a place then means."""

from __future__ import annotations

from klondike_env.games.klondike.moves import parse_move
from klondike_env.play.picture import Spot, card_name
from klondike_env.play.session import Session
from klondike_env.play.table import FOUNDATIONS, PILES, STOCK, WASTE, Move


class Choice:
    """The cards picked up in a game; none at first.

    Attributes:
        spot: where they lie; without an index, whatever can move from there.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.spot: Spot | None = None

    @property
    def moves(self) -> list[Move]:
        """Where the cards may go."""
        return [] if self.spot is None else self._moves_of(self.spot)

    @property
    def lowest(self) -> Spot | None:
        """The lowest card that may move with the others, with its index."""
        if self.spot is None:
            return None
        height = len(self._session.table.cards[self.spot.place])
        return Spot(self.spot.place, height - max(len(move.cards) for move in self.moves))

    def press(self, spot: Spot) -> Move | str:
        """A place was pressed: the move that this makes, or else what to tell the player."""
        if spot.place == STOCK:
            return self._turn_stock()
        if self.spot is None:
            return self._pick_up(spot)
        if self.spot.place == spot.place:
            self.spot = None
            return ""
        return self._put_down(spot.place)

    def foundation_move(self, spot: Spot | None = None) -> Move | str:
        """The move of the cards at a spot, or of those picked up, to their foundation."""
        place = spot or self.spot
        if place is None:
            return "Pick up a card first: w or 1-7, then f for its foundation."
        up = [m for m in self._moves_of(Spot(place.place)) if m.target in FOUNDATIONS]
        return up[0] if up else self._explain(f"{place.place}>F")

    def _moves_of(self, spot: Spot) -> list[Move]:
        """The moves from a place; of a pile, only those of the cards from the index on."""
        height = len(self._session.table.cards[spot.place])
        return [
            move
            for move in self._session.moves
            if move.cards
            and move.source == spot.place
            and (spot.index is None or len(move.cards) == height - spot.index)
        ]

    def _turn_stock(self) -> Move | str:
        for move in self._session.moves:
            if not move.cards:  # a draw or redeal: never both
                return move
        return self._explain("draw" if self._session.table.cards[STOCK] else "redeal")

    def _pick_up(self, spot: Spot) -> str:
        moves = self._moves_of(spot)
        cards = self._session.table.cards[spot.place]
        if moves:
            self.spot = spot
            lowest = max((move.cards for move in moves), key=len)
            targets = ", ".join(place_name(move.target) for move in moves)
            return f"{' '.join(map(card_name, lowest))}: to {targets}"
        if not cards:
            return f"{place_name(spot.place).capitalize()} is empty: pick something up first."
        if spot.index is None:
            return f"Nothing of {place_name(spot.place)} can go anywhere now."
        moved = " ".join(card_name(card) for card in cards[spot.index :] if card is not None)
        return f"{moved} can go nowhere now."

    def _put_down(self, place: str) -> Move | str:
        assert self.spot is not None
        for move in self.moves:
            if move.target == place:
                return move
        if self.spot.index is not None and any(
            move.target == place for move in self._moves_of(Spot(self.spot.place))
        ):
            return f"Not these cards: others of {place_name(self.spot.place)} may go there."
        if place == WASTE:
            return "Nothing goes back to the waste."
        if place in FOUNDATIONS:
            up = self.foundation_move()
            if isinstance(up, str):
                return up
            return f"{card_name(up.cards[-1])} goes to {place_name(up.target)}."
        return self._explain(f"{self.spot.place}>{place}")

    def _explain(self, text: str) -> str:
        try:
            why = self._session.explain(parse_move(text))
        except ValueError:  # from a foundation to a foundation
            return "Cards do not go there from here."
        return why


def place_name(place: str) -> str:
    """A place in words."""
    if place in PILES:
        return f"pile {place[1:]}"
    if place in FOUNDATIONS:
        return f"the foundation of {place}"
    return f"the {'waste' if place == WASTE else place}"
