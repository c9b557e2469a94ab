"""Asks a named agent what it would play, with no more than the player knows.

Agents live in the package `agents` of the checkout, above the library, so they are found by name
when they are asked for.

Agents of the action set `reach` know the whole stock, since looking through it is free where they
play. Here the player may not have looked yet: as long as a card of the stock is unseen, their
advice is to draw.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from klondike_env.envs.klondike import KlondikeEnv
from klondike_env.evaluation import game_seed
from klondike_env.games.klondike.moves import move_text, parse_move
from klondike_env.play.session import Session
from klondike_env.play.table import STOCK, WASTE, Table

DRAW, REDEAL = 0, 1


def agent_names(rules: Any) -> list[str]:
    """Names of the agents that can play these rules.

    Raises:
        ValueError: there are no agents here.
    """
    agents = _agents()
    return [name for name in agents.AGENTS if _can_be_made(agents, name, rules)]


def _can_be_made(agents: Any, name: str, rules: Any) -> bool:
    try:
        agents.make_agent(name, rules)
    except ValueError:
        return False
    return True


def _agents() -> Any:
    """The package `agents`, from the folder we are called from if it is not installed."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        agents = importlib.import_module("agents")
    except ImportError:
        agents = None
    if not hasattr(agents, "make_agent"):
        raise ValueError(
            "no agents here: they are not installed with the library, start from its checkout"
        )
    return agents


class Advisor:
    """An agent that follows one game.

    Args:
        name: of the agent, or `package.module:Class`.
        rules: of the game.
        seed: of the agent's own random choices, as `evaluate` takes it.

    Raises:
        ValueError: no such agent, or one that cannot play these rules; says which there are.
    """

    def __init__(self, name: str, rules: Any, seed: int = 0) -> None:
        self.name = name
        self._agent = _agents().make_agent(name, rules)
        self._seed = seed
        self._plays_reach = getattr(self._agent, "actions", "turn") == "reach"
        if self._plays_reach:
            self._reach_env = KlondikeEnv(rules, actions="reach")
        self._session: Session | None = None
        self._seen: list[int] = []  # the actions of the game when the agent was last asked
        self._line: list[int] = []  # what it wants played from there on

    def advise(self, session: Session) -> tuple[int, str]:
        """The action that the agent would play now, and a remark, mostly empty.

        Raises:
            ValueError: the agent chose an illegal action.
        """
        if self._plays_reach and None in session.table.cards[STOCK]:
            if any(move.action == DRAW for move in session.moves):
                return DRAW, "to see the whole stock first, which is free"
            return session.moves[0].action, ""  # an ace that has to go up
        if not self._is_on_its_line(session):
            self._ask(session)
        return self._line[0], _remark(self._line)

    def _is_on_its_line(self, session: Session) -> bool:
        """Whether the game is where the agent was asked, or went on as it wanted."""
        played = session.actions[len(self._seen) :]
        follows = (
            session is self._session
            and session.actions[: len(self._seen)] == self._seen
            and played == self._line[: len(played)]
            and len(played) < len(self._line)
        )
        if follows:
            self._seen, self._line = list(session.actions), self._line[len(played) :]
        return follows

    def _ask(self, session: Session) -> None:
        goes_on = session is self._session and session.actions[: len(self._seen)] == self._seen
        if not goes_on:  # another game, or moves were taken back
            self._agent.reset(1, self._seed)
            if hasattr(self._agent, "start_games"):
                seed = game_seed(self._seed, -1 if session.deal is None else session.deal)
                self._agent.start_games(
                    np.zeros(1, dtype=np.int64), np.array([seed], dtype=np.uint64)
                )
        observation: Any
        env = session.env
        if self._plays_reach:
            observation, info = self._reach_env.reset(options={"position": session.env.position()})
        else:
            observation, info = env.observe()
        batch = {name: array[None] for name, array in observation.items()}
        mask = info["action_mask"]
        action = int(self._agent.act(batch, mask[None])[0])
        if not (0 <= action < len(mask) and mask[action]):
            raise ValueError(f"agent {self.name} chose an illegal action: {action}")
        self._session, self._seen = session, list(session.actions)
        if self._plays_reach:
            self._line = turn_line(session.table, action, env.rules.draw_count)
        else:
            self._line = [action]


def turn_line(table: Table, action: int, draw_count: int) -> list[int]:
    """An action of the set `reach` as actions of `turn`: draws and redeals, then the move."""
    text = move_text(action, "reach")
    if not text.startswith("#"):
        return [parse_move(text)]
    number, _, target = text.removeprefix("#").partition(">")
    wanted, waste = int(number), len(table.cards[WASTE])
    size = waste + len(table.cards[STOCK])
    line = []
    while waste != wanted:
        if waste == size:
            line.append(REDEAL)
            waste = 0
        else:
            line.append(DRAW)
            waste = min(waste + draw_count, size)
    return [*line, parse_move(f"W>{target}")]


def _remark(line: list[int]) -> str:
    return "" if len(line) == 1 else f"to bring up a card for {move_text(line[-1])}"
