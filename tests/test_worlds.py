"""Worlds: they fit what is seen, every one as likely as any other."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import klondike_env
from agents import make_agent
from agents.search import LIMITED, VOTES, Fast, Search
from klondike_env import KlondikeRules, determinize
from klondike_env.games.klondike.layout import encode_rules
from klondike_env.games.klondike.rules import PRESETS
from klondike_env.solvers.klondike.worlds import draw_worlds, room_for_worlds
from tests.endgames import endgame
from tests.lockstep import random_rules
from tests.test_laws import make, play_on, shuffle_unseen

CARD = re.compile(r"[2-9TJQKA][CDHS]")
THREE_HIDDEN = {
    "tableau": ["(2C)(3D) 4C", "(4H) KH", "5H", "6C", "7D", "8C", "9D"],
    "foundations": {"C": 1, "D": 2, "H": 3, "S": 13},
    "rest": "stock",
}
"""Six orders of the cards face down."""


def seen_and_hidden(position: dict[str, Any]) -> tuple[list[str], list[str]]:
    piles = position["tableau"]
    hidden = [name for pile in piles for name in re.findall(r"\((..)\)", pile)]
    return [re.sub(r"\(..\)", "()", pile).replace(" ", "") for pile in piles], hidden


def test_a_world_fits_what_is_seen() -> None:
    rng, numbers = random.Random(3), np.random.default_rng(3)
    for number in range(120):
        rules = random_rules(rng)
        actions = "reach" if rules.allows_reach and number % 2 else "turn"
        env = make(rules, actions)
        play_on(env, rng, rng.randrange(80), number)
        observation, _ = env.observe()
        truth, world = env.position(), determinize(observation, rules, numbers)
        assert seen_and_hidden(world)[0] == seen_and_hidden(truth)[0]
        assert world["foundations"] == truth["foundations"]
        assert world["waste"] == truth["waste"]
        known = len(truth["stock"].split()) - int(env.get_state()["unseen"][0])
        assert world["stock"].split()[:known] == truth["stock"].split()[:known]
        assert world["redeals_left"] == truth["redeals_left"]
        everything = " ".join([*world["tableau"], world["stock"], world["waste"]])
        assert sorted(CARD.findall(everything)) == sorted(
            CARD.findall(" ".join([*truth["tableau"], truth["stock"], truth["waste"]]))
        )
        env.reset(options={"position": world})
        if rules.cards_known:
            assert world == {key: truth[key] for key in world}


def test_a_world_does_not_depend_on_the_cards_that_are_unseen() -> None:
    rng = random.Random(5)
    for number in range(40):
        rules = PRESETS[rng.choice(["Klondike-Draw3-v0", "Klondike-Draw1-Pass1-v0"])]
        env, other = make(rules), make(rules)
        play_on(env, rng, rng.randrange(40), number)
        other.reset(options={"position": env.position()})
        first, _ = other.observe()
        second, _ = other.reset(options={"position": shuffle_unseen(env, rng)})
        worlds = [
            determinize(seen, rules, np.random.default_rng(number)) for seen in (first, second)
        ]
        assert worlds[0] == worlds[1]


def test_every_order_is_as_likely() -> None:
    rules = KlondikeRules()
    env = make(rules, "reach")
    observation, _ = env.reset(options={"position": THREE_HIDDEN})
    rng = np.random.default_rng(1)
    found = Counter(
        tuple(seen_and_hidden(determinize(observation, rules, rng))[1]) for _ in range(3_000)
    )
    assert len(found) == 6
    assert chisquare(list(found.values())).pvalue > 0.001


@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Draw1-Pass1-v0"])
def test_compact_worlds_are_as_likely_too(env_id: str) -> None:
    """The worlds of search agents; unseen stock cards belong to them."""
    rules = PRESETS[env_id]
    agent = make_agent("planner", rules)
    env = make(rules, agent.actions)
    position = THREE_HIDDEN if rules.passes is None else _two_unseen_in_stock()
    observation, info = env.reset(options={"position": position})
    agent.reset(1, 0)
    batch = {key: array[None] for key, array in observation.items()}
    agent.act(batch, info["action_mask"][None])
    room = room_for_worlds(3_000)
    is_first = draw_worlds(
        agent._player._games, encode_rules(rules, agent.actions), np.uint64(7), *room
    )
    assert is_first == (rules.passes is not None)
    states, deals = room[1][:-1], room[2][:-1]
    found: Counter[bytes] = Counter()
    for state, deal in zip(states, deals, strict=True):
        found[deal["pile_cards"].tobytes() + deal["place"].tobytes()] += 1
        assert state["stock"] & state["face_up"] == 0
    assert len(found) == 6
    assert chisquare(list(found.values())).pvalue > 0.001


def test_in_a_group_of_worlds_every_card_lies_once_in_every_place() -> None:
    agent = make_agent("planner", PRESETS["Klondike-Draw3-v0"])
    env = make(agent.rules, agent.actions)
    observation, info = env.reset(options={"deal": 3})
    agent.reset(1, 0)
    agent.act({key: array[None] for key, array in observation.items()}, info["action_mask"][None])
    hidden = 21
    room = room_for_worlds(2 * hidden)
    rules = encode_rules(agent.rules, agent.actions)
    draw_worlds(agent._player._games, rules, np.uint64(11), *room)
    cards = room[2][:-1]["pile_cards"].reshape(2, hidden, 7, 8)
    for group in cards:
        orders = np.stack([[world[i, k] for i in range(7) for k in range(i)] for world in group])
        assert len(np.unique(orders)) == hidden
        for place in orders.T:
            assert len(np.unique(place)) == hidden
    assert not np.array_equal(cards[0], cards[1])


def test_how_much_a_search_looks_at_depends_on_the_rules() -> None:
    for agent_class in (Search, Fast):
        free_1, free_3, limited_1, limited_3, vegas = (
            agent_class(PRESETS[f"Klondike-{name}-v0"]).effort
            for name in ("Draw1", "Draw3", "Draw1-Pass1", "Draw3-Pass3", "Vegas")
        )
        assert free_1.worlds > free_3.worlds >= limited_1.worlds
        assert free_1.exact_down > free_3.exact_down > limited_1.exact_down == 1
        assert limited_1 == limited_3 == vegas
        own = LIMITED._replace(worlds=3)
        assert agent_class(PRESETS["Klondike-Draw1-v0"], own).effort == own


@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Draw1-Pass1-v0"])
def test_positions_met_again_change_no_choice(env_id: str) -> None:
    """A position of a world is worth what it was when some other way led to it."""
    played = []
    for remembers in (True, False):
        agent = Search(PRESETS[env_id], LIMITED._replace(worlds=8, plans=4, more=100))
        if not remembers:
            known, path, used = agent._player._chooser._rooms[-1]
            agent._player._chooser._rooms = (
                *agent._player._chooser._rooms[:-1],
                (known, path[:0], used),
            )
        games: list[Any] = []
        klondike_env.evaluate(agent, env_id, range(3), num_envs=1, records=games.append)
        played.append([game.moves for game in games])
        assert all(played[-1])
        used_up = agent._player._chooser._rooms[-1][2][0]
        assert (used_up > 0) == remembers
    assert played[0] == played[1]


def test_the_solver_finishes_worlds_with_few_cards_face_down() -> None:
    """Then a world is worth what the solver says of it, and play within worlds does not matter."""
    rules = PRESETS["Klondike-Draw3-v0"]
    votes = VOTES._replace(worlds=6, plans=6, verdict_states=3_000, prior=0.0)
    efforts = [
        votes,
        votes._replace(verdict_states=0, verdict_share=0.0, exact_down=9, exact_states=3_000),
        votes._replace(verdict_states=0, verdict_share=0.0, exact_down=0),
    ]
    agents = [Search(rules, effort) for effort in efforts]
    env = make(rules, agents[0].actions)
    differ = 0
    for seed in range(1_000):
        position = endgame(seed, rules)
        if not 3 <= "".join(position["tableau"]).count("(") <= 9:
            continue
        observation, info = env.reset(options={"position": position})
        batch = {key: value[None] for key, value in observation.items()}
        voted, finished, played = (first_action(agent, batch, info) for agent in agents)
        assert voted == finished
        differ += voted != played
    assert differ


def first_action(agent: Search, batch: Any, info: dict[str, Any]) -> int:
    agent.reset(1, 0)
    return int(agent.act(batch, info["action_mask"][None])[0])


def _two_unseen_in_stock() -> dict[str, Any]:
    return {
        "tableau": ["(2C) 4C", "KS", "KH", "KC", "KD", "QS", "QH"],
        "foundations": {"C": 1, "D": 11, "H": 11, "S": 11},
        "waste": "3C 5C 6C 7C 8C 9C TC QD",
        "stock": "JC QC",
        "redeals_left": 0,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: np.zeros(3), "an observation is a dict with tableau"),
        (lambda o: {"tableau": o["tableau"]}, "an observation is a dict with tableau"),
        (lambda o: {k: v[None] for k, v in o.items()}, "of one game"),
        (lambda o: {**o, "waste": o["tableau"][6, :1].repeat(24)}, "cards unseen in"),
    ],
)
def test_bad_observations_are_refused(change: Any, message: str) -> None:
    observation, _ = make(KlondikeRules()).reset(options={"deal": 1})
    with pytest.raises(ValueError, match=message):
        determinize(change(observation), KlondikeRules(), np.random.default_rng(0))


def test_a_seed_is_no_generator() -> None:
    observation, _ = make(KlondikeRules()).reset(options={"deal": 1})
    with pytest.raises(ValueError, match=r"rng is a numpy.random.Generator, not 3"):
        determinize(observation, KlondikeRules(), 3)  # type: ignore[arg-type]
