"""Laws that hold in every game, found by Hypothesis to fail or not."""

from __future__ import annotations

import copy
import dataclasses
import itertools
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
from klondike_env.cards import CARDS, parse_card
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


SUIT_SWAPS = [
    swap
    for swap in itertools.permutations(range(4))
    if swap != (0, 1, 2, 3) and {swap[1], swap[2]} in ({1, 2}, {0, 3})
]
"""Old suit -> new suit, wherever suits of one colour stay of one colour: seven ways."""


def relabel(deck: np.ndarray, suits: tuple[int, ...]) -> np.ndarray:
    return np.array([suits[card // 13] * 13 + card % 13 for card in deck.tolist()])


def relabel_seen(seen: dict[str, np.ndarray], suits: tuple[int, ...]) -> dict[str, list[Any]]:
    """An observation as it must be after its suits were swapped."""
    codes = np.arange(54)
    codes[1:53] = relabel(np.arange(52), suits) + 1
    places = [suits.index(suit) for suit in range(4)]
    return {
        name: (
            array[places]
            if name == "foundations"
            else codes[array]
            if name in ("tableau", "waste", "stock")
            else array
        ).tolist()
        for name, array in seen.items()
    }


@settings(max_examples=40)
@given(seeds, numbers, st.sampled_from(SUIT_SWAPS))
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
        assert relabel_seen(mine[0], suits) == {k: v.tolist() for k, v in theirs[0].items()}
        assert mine[1:4] == theirs[1:4]
        assert {**mine[4], "action_mask": 0} == {**theirs[4], "action_mask": 0}
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


def unseen_cards(env: Any) -> set[int]:
    """The cards that the player of `env` has not seen."""
    position = env.position()
    unseen = int(env.get_state()["unseen"][0])
    stock = position["stock"].split()
    names = [card for pile in position["tableau"] for card in re.findall(r"\((..)\)", pile)]
    return {parse_card(name) for name in names + stock[len(stock) - unseen :]}


@settings(max_examples=50)
@given(seeds, numbers, st.integers(0, 100), st.sampled_from(["dict", "flat"]))
def test_decks_that_differ_in_unseen_cards_play_alike(
    seed: int, number: int, steps: int, observation: str
) -> None:
    """The whole game up to now looks the same, single and side by side in a vector."""
    rules, actions, rng = mixed(seed)
    rules = dataclasses.replace(rules, cards_known=False)
    env = make(rules, actions)
    played = play_on(env, rng, steps, number)
    deck = klondike_env.deals.deck(number)
    unseen = unseen_cards(env)
    places = [place for place, card in enumerate(deck.tolist()) if card in unseen]
    other_deck = deck.copy()
    other_deck[rng.sample(places, len(places))] = deck[places]
    decks = [deck, other_deck]
    options = {"observation": observation, "reward": "progress"}
    singles = [make(rules, actions, render_mode="ansi", **options) for _ in decks]
    batch = gym.make_vec(
        "Klondike-Draw3-v0",
        num_envs=2,
        vectorization_mode="vector_entry_point",
        rules=rules,
        actions=actions,
        **options,
    )
    starts = [e.reset(options={"deck": d}) for e, d in zip(singles, decks, strict=True)]
    together = batch.reset(options={"deck": decks})
    assert_looks_alike(starts, together, singles)
    for action in played:
        results = [e.step(action) for e in singles]
        together = batch.step([action, action])
        if results[1][2]:
            # Whether a game is lost depends on its stock by definition, seen or not.
            assert results[1][4]["outcome"] == "stuck"
            return
        assert_looks_alike(results, together, singles)


def assert_looks_alike(results: list[Any], together: Any, singles: list[Any]) -> None:
    """Two single results, the rows of a vector result, and the boards, all equal."""
    plain = [to_plain(result) for result in results]
    assert plain[0] == plain[1]
    rows = [to_plain(pick_row(together, row)) for row in (0, 1)]
    assert rows[0] == rows[1]
    assert rows[0][0] == plain[0][0]
    assert singles[0].render() == singles[1].render()


def pick_row(value: Any, row: int) -> Any:
    """One row of all that a vector environment returned."""
    if isinstance(value, dict):
        return {key: pick_row(part, row) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(pick_row(part, row) for part in value)
    return value[row]


def to_plain(value: Any) -> Any:
    """Arrays as lists, so that whole results compare with ==."""
    if isinstance(value, dict):
        return {key: to_plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@settings(max_examples=150)
@given(seeds, numbers)
def test_draws_and_redeals_keep_the_order_of_the_cards(seed: int, number: int) -> None:
    """Only their border moves: the waste bottom to top, then the stock, is one row of cards."""
    rules, _, rng = mixed(seed)
    env = make(rules)
    env.reset(options={"deal": number})
    redeals, looking = 0, rng.choice([0.3, 0.6, 0.9])
    for _ in range(120):
        before = env.position()
        waste, stock = before["waste"].split(), before["stock"].split()
        mask = env.action_masks()
        tops = [pile.split()[-1] for pile in before["tableau"] if pile] + waste[-1:]
        if not (rules.forced_aces and any(card[0] == "A" for card in tops)):
            assert mask[0] == bool(stock)
            may_redeal = rules.passes is None or redeals < rules.passes - 1
            assert mask[1] == (not stock and bool(waste) and may_redeal)
        turns = [action for action in (0, 1) if mask[action]]
        legal = turns if turns and rng.random() < looking else np.flatnonzero(mask).tolist()
        action = rng.choice(legal)
        _, _, terminated, _, _ = env.step(action)
        after = env.position()
        seen = after["waste"].split(), after["stock"].split()
        if action == 0:
            count = min(rules.draw_count, len(stock))
            assert seen == (waste + stock[:count], stock[count:])
        elif action == 1:
            redeals += 1
            assert seen == ([], waste)
        elif action < 10:
            assert seen == (waste[:-1], stock)
        else:
            assert seen == (waste, stock)
        if action < 2:
            assert after["tableau"] == before["tableau"]
            assert after["foundations"] == before["foundations"]
        left = None if rules.passes is None else rules.passes - 1 - redeals
        assert after["redeals_left"] == left
        if terminated:
            break


@settings(max_examples=30)
@given(seeds, numbers)
def test_replaying_the_actions_replays_the_game(seed: int, number: int) -> None:
    rules, actions, rng = mixed(seed)
    env, other, third = (make(rules, actions, reward="score") for _ in range(3))
    played = play_on(env, rng, 120, number)
    records = []
    for replayed in (other, third):
        record = [replayed.reset(options={"deal": number})]
        record += [replayed.step(action) for action in played]
        records.append(to_plain(record))
    assert records[0] == records[1]
    assert to_plain(env.observe()) == [records[0][-1][0], records[0][-1][-1]]
    assert other.get_state()["legal"].tolist() == env.get_state()["legal"].tolist()
    assert other.position() == env.position()


@settings(max_examples=60)
@given(numbers, seeds)
def test_reach_plays_what_draws_and_redeals_bring_about(number: int, seed: int) -> None:
    """Every legal reach action is some draws and redeals and one turn action, and no other is.

    Both lead to the same position, score and outcome.
    """
    rng = random.Random(seed)
    rules = dataclasses.replace(
        random_rules(rng),
        passes=None,
        scoring=rng.choice(["win", "vegas"]),
        cumulative=False,
        seconds_per_move=0,
    )
    reach, turn = make(rules, "reach"), make(rules, "turn")
    play_on(reach, rng, rng.randrange(100), number)
    start, state = reach.position(), reach.get_state()
    turn.reset(options={"position": start})
    is_dead = reach.action_masks().all()
    found: dict[int, tuple[np.ndarray, int]] = {}
    for looks in range(60):  # more than a whole pass and back
        waste = len(turn.position()["waste"].split())
        for action in np.flatnonzero(turn.action_masks()).tolist():
            text = MOVES["turn"][action]
            if text.startswith("W"):
                text = f"#{waste}{text[1:]}"
            elif action < 2 or looks:
                continue
            found.setdefault(parse_move(text, "reach"), (turn.get_state(), action))
        step = int(not turn.action_masks()[0])
        if not turn.action_masks()[step]:
            break
        if turn.step(step)[2]:
            break
        assert not is_dead
    legal = set() if is_dead else set(np.flatnonzero(reach.action_masks()).tolist())
    assert legal == set(found), start
    for action, (before, same_action) in found.items():
        turn.set_state(before)
        reach.set_state(state)
        *_, expected = turn.step(same_action)
        *_, info = reach.step(action)
        for key in ("score", "foundation_cards", "outcome"):
            assert info[key] == expected[key], (start, action)
        ours, theirs = reach.position(), turn.position()
        for key in ("tableau", "foundations", "waste", "stock", "score"):
            assert ours[key] == theirs[key], (start, action)


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
