"""Laws that hold in every game, found by Hypothesis to fail or not."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import klondike_env
from klondike_env import IllegalMoveError, KlondikeRules
from klondike_env.cards import CARDS
from klondike_env.games.klondike import position as positions
from klondike_env.games.klondike.moves import MOVES, parse_move
from klondike_env.games.klondike.rules import PRESETS
from tests.lockstep import eager, random_rules

numbers = st.integers(0, 999_999_999)
seeds = st.integers(0, 2**32)


def make(rules: KlondikeRules, actions: str = "turn", **options: Any) -> Any:
    return gym.make("Klondike-Draw3-v0", rules=rules, actions=actions, **options).unwrapped


def play_on(env: Any, rng: random.Random, steps: int, deal: Any = None) -> list[int]:
    """Start a deal and play some eager steps; returns the actions. Stops before the game ends."""
    observation, info = env.reset(options={"deal": deal} if deal is not None else None)
    choose = eager(rng, env.setup.actions)
    played: list[int] = []
    for _ in range(steps):
        legal = np.flatnonzero(info["action_mask"]).tolist()
        action = choose(observation, info["action_mask"], legal)
        before = env.get_state()
        observation, _, terminated, _, info = env.step(action)
        if terminated:
            env.set_state(before)
            break
        played.append(action)
    return played


def mixed(seed: int) -> tuple[KlondikeRules, str, random.Random]:
    rng = random.Random(seed)
    rules = random_rules(rng)
    actions = rng.choice(["turn", "reach"]) if rules.allows_reach else "turn"
    return rules, actions, rng


@settings(max_examples=60)
@given(seeds, numbers, st.integers(0, 150))
def test_there_are_always_52_distinct_cards(seed: int, number: int, steps: int) -> None:
    rules, actions, rng = mixed(seed)
    env = make(rules, actions)
    play_on(env, rng, steps, number)
    position = env.position()
    text = " ".join([*position["tableau"], position["stock"], position["waste"]])
    cards = re.findall(r"[2-9TJQKA][CDHS]", text)
    for suit, up in position["foundations"].items():
        cards += [rank + suit for rank in "A23456789TJQK"[:up]]
    assert sorted(cards) == sorted(CARDS)


@settings(max_examples=40)
@given(seeds, numbers, st.integers(0, 80))
def test_the_mask_is_what_a_trial_of_every_action_says(seed: int, number: int, steps: int) -> None:
    rules, actions, rng = mixed(seed)
    env = make(rules, actions)
    play_on(env, rng, steps, number)
    state, mask = env.get_state(), env.action_masks()
    if mask.all():
        return  # nothing at all can be played: any action ends the game
    for action, is_legal in enumerate(mask):
        if is_legal:
            env.step(action)
            assert (env.get_state() != state).any()
            env.set_state(state)
        else:
            name = re.escape(MOVES[actions][action])
            with pytest.raises(IllegalMoveError, match=rf"^{name} is illegal: \w"):
                env.step(action)
            assert (env.get_state() == state).all()


@settings(max_examples=60)
@given(seeds, numbers, st.integers(0, 120))
def test_positions_read_back_to_the_same_game(seed: int, number: int, steps: int) -> None:
    rules, actions, rng = mixed(seed)
    env, other = make(rules, actions), make(rules, actions)
    play_on(env, rng, steps, number)
    position = env.position()
    other.reset(options={"position": position})
    assert other.position() == position
    mine, theirs = env.observe(), other.observe()
    for key in mine[0]:
        np.testing.assert_array_equal(mine[0][key], theirs[0][key])
    for _ in range(30):
        np.testing.assert_array_equal(env.action_masks(), other.action_masks())
        legal = np.flatnonzero(env.action_masks())
        action = int(legal[rng.randrange(len(legal))])
        mine, theirs = env.step(action), other.step(action)
        assert mine[1:4] == theirs[1:4]
        assert mine[4]["score"] == theirs[4]["score"]
        for key in mine[0]:
            np.testing.assert_array_equal(mine[0][key], theirs[0][key])
        if mine[2]:
            break


def relabel(deck: np.ndarray, suits: tuple[int, ...]) -> np.ndarray:
    return np.array([suits[card // 13] * 13 + card % 13 for card in deck.tolist()])


@settings(max_examples=40)
@given(seeds, numbers, st.sampled_from([(3, 1, 2, 0), (0, 2, 1, 3), (3, 2, 1, 0), (1, 0, 3, 2)]))
def test_suits_are_interchangeable(seed: int, number: int, suits: tuple[int, ...]) -> None:
    """Suits may be swapped within a colour, and the colours as wholes."""
    rules, actions, rng = mixed(seed)
    env, other = make(rules, actions), make(rules, actions)
    deck = klondike_env.deals.deck(number)
    env.reset(options={"deck": deck})
    other.reset(options={"deck": relabel(deck, suits)})
    back = 59 if actions == "turn" else 241

    def translate(action: int) -> int:
        if action < back:
            return action
        suit, pile = divmod(action - back, 7)
        return back + 7 * suits[suit] + pile

    for _ in range(80):
        mask, relabelled = env.action_masks(), other.action_masks()
        translated = np.array([relabelled[translate(action)] for action in range(len(mask))])
        np.testing.assert_array_equal(mask, translated)
        action = int(rng.choice(np.flatnonzero(mask).tolist()))
        mine, theirs = env.step(action), other.step(translate(action))
        assert mine[1:4] == theirs[1:4]
        assert mine[4]["score"] == theirs[4]["score"]
        if mine[2]:
            break


def shuffle_unseen(env: Any, rng: random.Random) -> dict[str, Any]:
    """The position of `env` with all cards that its player has not seen dealt anew."""
    position = env.position()
    stock = position["stock"].split()
    unseen = int(env.get_state()["unseen"][0])
    hidden = [card for pile in position["tableau"] for card in re.findall(r"\((..)\)", pile)]
    hidden += stock[len(stock) - unseen :]
    rng.shuffle(hidden)
    cards = iter(hidden)
    position["tableau"] = [
        re.sub(r"\((..)\)", lambda _: f"({next(cards)})", pile) for pile in position["tableau"]
    ]
    position["stock"] = " ".join([*stock[: len(stock) - unseen], *cards])
    return position


@settings(max_examples=80)
@given(seeds, numbers, st.integers(0, 100), st.sampled_from(["dict", "flat"]))
def test_shuffling_unseen_cards_changes_nothing_visible(
    seed: int, number: int, steps: int, observation: str
) -> None:
    rules, actions, rng = mixed(seed)
    if rules.cards_known:
        rules = KlondikeRules(draw_count=rules.draw_count)
    env = make(rules, actions)
    play_on(env, rng, steps, number)
    shown = []
    for position in (env.position(), shuffle_unseen(env, rng)):
        other = make(rules, actions, observation=observation, render_mode="ansi")
        seen, info = other.reset(options={"position": position})
        arrays = [seen] if observation == "flat" else list(seen.values())
        masks = [info.pop("action_mask"), other.action_masks()]
        shown.append(([a.tolist() for a in [*arrays, *masks]], info, other.render()))
    assert shown[0] == shown[1]
    if not rules.cards_known and number % 4 == 0:
        batch = gym.make_vec(
            "Klondike-Draw3-v0",
            num_envs=2,
            vectorization_mode="vector_entry_point",
            rules=rules,
            actions=actions,
        )
        both = [env.position(), shuffle_unseen(env, rng)]
        seen, infos = batch.reset(options={"position": both})
        for array in (*seen.values(), infos["action_mask"]):
            np.testing.assert_array_equal(array[0], array[1])


@settings(max_examples=30)
@given(seeds, numbers)
def test_replaying_the_actions_replays_the_game(seed: int, number: int) -> None:
    rules, actions, rng = mixed(seed)
    env, other = make(rules, actions), make(rules, actions)
    played = play_on(env, rng, 120, number)
    other.reset(options={"deal": number})
    for action in played:
        other.step(action)
    assert other.get_state()["legal"].tolist() == env.get_state()["legal"].tolist()
    assert other.position() == env.position()


@settings(max_examples=40)
@given(numbers, seeds, st.sampled_from([1, 2, 3, 5]), st.booleans())
def test_reach_plays_what_draws_and_redeals_bring_about(
    number: int, seed: int, draw_count: int, taking_back: bool
) -> None:
    """Every legal reach action is some draws and redeals and one turn action, and no other is."""
    rules = KlondikeRules(draw_count=draw_count, foundation_to_tableau=taking_back)
    rng = random.Random(seed)
    reach, turn = make(rules, "reach"), make(rules, "turn")
    play_on(reach, rng, rng.randrange(60), number)
    turn.reset(options={"position": reach.position()})
    start = turn.position()
    found: dict[int, str] = {}
    for _ in range(60):  # more than a whole pass and back
        waste = len(turn.position()["waste"].split())
        for action in np.flatnonzero(turn.action_masks()).tolist():
            text = MOVES["turn"][action]
            if action >= 2:
                name = f"#{waste}{text[1:]}" if text.startswith("W") else text
                found[parse_move(name, "reach")] = name
        step = int(not turn.action_masks()[0])
        if not turn.action_masks()[step] or turn.step(step)[2]:
            break
    legal = set(np.flatnonzero(reach.action_masks()).tolist())
    if reach.action_masks().all():
        legal = set()
    assert legal == set(found), start


def test_every_preset_round_trips_its_fresh_deal() -> None:
    for env_id, rules in PRESETS.items():
        env = gym.make(env_id).unwrapped
        env.reset(seed=1)
        assert positions.format(positions.parse(env.position(), rules), rules) == env.position()


def test_copies_in_the_middle_of_a_game_are_independent() -> None:
    env = make(KlondikeRules())
    play_on(env, random.Random(1), 20, 3)
    other = copy.deepcopy(env)
    before = env.get_state()
    other.step(int(np.flatnonzero(other.action_masks())[0]))
    assert (env.get_state() == before).all()
    assert (other.get_state() != before).any()
