"""Records: written, read back and verified move by move; whatever is wrong in one is named."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import klondike_env
from agents import make_agent
from klondike_env import records
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.records import Record, RecordError

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "tests" / "data" / "records-1.jsonl"
CASES = [(env_id, "turn") for env_id in PRESETS] + [
    (env_id, "reach") for env_id, rules in PRESETS.items() if rules.allows_reach
]


def play(
    env_id: str, actions: str = "turn", steps: int = 60, deal: int = 7, **options: Any
) -> tuple[list[int], list[np.ndarray], dict[str, Any]]:
    """Random legal actions, the states before and after each, and the last info."""
    env: Any = gym.make(env_id, actions=actions, **options).unwrapped
    rng = random.Random(f"{env_id} {actions} {deal}")
    _, info = env.reset(options={"deal": deal})
    chosen, states = [], [env.get_state()]
    for _ in range(steps):
        action = rng.choice(np.flatnonzero(info["action_mask"]).tolist())
        _, _, terminated, _, info = env.step(action)
        chosen.append(action)
        states.append(env.get_state())
        if terminated:
            break
    return chosen, states, info


def content(state: np.ndarray) -> bytes:
    """All of a state but its stream of deals to come, which a record does not hold."""
    state = state.copy()
    state["stream"] = 0
    return state.tobytes()


@pytest.fixture(scope="module")
def won() -> Record:
    return next(record for record in records.read(SAMPLES) if record.outcome == "won")


@pytest.mark.parametrize(("env_id", "actions"), CASES)
def test_a_record_plays_the_same_game_again(env_id: str, actions: str) -> None:
    """I08, I09: shlomif/PySolFC #282; oskarrough/slaytheweb #48; TobiasBielefeld #165."""
    for deal in range(3):
        chosen, states, info = play(env_id, actions, deal=deal)
        record = records.record_game(env_id, {"deal": deal}, chosen, actions=actions, agent="me")
        again = records.parse(record.to_line())
        assert again == record
        played = records.replay(again)
        assert [content(state) for state in played.states] == [content(s) for s in states]
        assert (record.score, record.foundation_cards) == (info["score"], info["foundation_cards"])
        assert record.outcome == (info["outcome"] or "unfinished")
        assert played.moves == record.moves


def test_a_half_played_game_goes_on_in_another_process(tmp_path: Path) -> None:
    """I09: all positions of a game saved at move 40, there and back."""
    chosen, _, _ = play("Klondike-Draw1-v0", steps=40)
    path = tmp_path / "game.jsonl"
    records.write(path, [records.record_game("Klondike-Draw1-v0", {"deal": 7}, chosen)])
    env = gym.make("Klondike-Draw1-v0", render_mode="ansi")
    env.reset(options={"deal": 7})
    expected = [env.render()]
    for action in chosen:
        env.step(action)
        expected.append(env.render())
    command = [sys.executable, "-m", "klondike_env.cli", "replay", str(path)]
    run = {"cwd": ROOT, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([*command, "--boards"], **run)
    boards = done.stdout.split("\n\n")
    assert [board.split("\n", 1)[-1].strip() for board in boards[1:-1]] == [
        board.strip() for board in expected[1:]
    ]
    assert "unfinished, 40 moves" in done.stdout
    there_and_back = "\n" * 40 + "b\n" * 40 + "q\n"
    done = subprocess.run([*command, "--step"], input=there_and_back, **run)
    shown = [part.split("move ")[0] for part in done.stdout.split("foundations ")[1:]]
    assert len(shown) == 81
    assert [board.split("\n\n")[0] for board in shown] == [
        board.split("\n\n")[0] for board in [*shown[:41], *shown[39::-1]]
    ]


def test_a_prefix_of_a_record_is_undo_and_the_rest_redo() -> None:
    """I10, I11: ichabod801/t_games #100, #126; shlomif/PySolFC #278."""
    for env_id in ("Klondike-Draw1-Pass3-v0", "Klondike-Windows-Draw3-v0"):
        chosen, states, _ = play(env_id, steps=80, deal=11)
        for stop in (0, 1, 25, len(chosen) - 1):
            undone = records.replay(records.record_game(env_id, {"deal": 11}, chosen[:stop]))
            assert content(undone.states[-1]) == content(states[stop])
        redone = records.replay(records.record_game(env_id, {"deal": 11}, chosen))
        assert content(redone.states[-1]) == content(states[-1])


def test_every_start_is_kept() -> None:
    deck = klondike_env.deals.deck(5)
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(options={"deck": deck})
    env.step(0)
    for start in ({"deck": deck}, {"deal": np.int64(5)}, {"position": env.position()}):
        record = records.record_game("Klondike-Draw3-v0", start, ["draw", "draw"])
        assert records.parse(record.to_line()) == record
        assert len(records.replay(record).states) == 3


def test_options_that_differ_from_the_id_are_kept_and_no_others() -> None:
    rules = KlondikeRules(draw_count=2, passes=4)
    record = records.record_game("Klondike-Draw3-v0", {"deal": 3}, ["draw"], rules=rules)
    assert record.rules == {"draw_count": 2, "passes": 4}
    assert records.replay(records.parse(record.to_line())).rules == rules


def test_a_bank_that_carries_over_is_part_of_the_record() -> None:
    rules = dataclasses.replace(PRESETS["Klondike-Vegas-v0"], cumulative=True)
    record = records.record_game(
        "Klondike-Vegas-v0", {"deal": 3}, ["draw"], rules=rules, start_score=148
    )
    assert record.score == 148
    assert records.replay(records.parse(record.to_line())) is not None
    plain = records.record_game("Klondike-Vegas-v0", {"deal": 3}, ["draw"])
    with pytest.raises(RecordError, match="start_score is -52 under these rules, not 10"):
        records.replay(dataclasses.replace(plain, start_score=10))


def test_records_of_the_first_version_are_read_and_verified() -> None:
    """I07: shlomif/PySolFC #93, #426, #2. The file is kept as it was written."""
    found = list(records.read(SAMPLES))
    assert {record.outcome for record in found} == set(records.OUTCOMES)
    for record in found:
        assert records.replay(record).moves == record.moves


def test_pickles_and_other_versions_are_refused_and_run_nothing(
    tmp_path: Path, won: Record
) -> None:
    """I07."""
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> Any:
            return open, (str(ran), "w")

    path = tmp_path / "save.jsonl"
    for protocol in (0, 5):
        path.write_bytes(pickle.dumps(Evil(), protocol))
        with pytest.raises(RecordError, match=r"no JSON|not UTF-8"):
            list(records.read(path))
    assert not ran.exists()
    later = won.to_line().replace('"version": 1', '"version": 2')
    with pytest.raises(RecordError, match="version 2 of the form; this library reads 1"):
        records.parse(later)
    with pytest.raises(RecordError, match="no record of a game"):
        records.parse('{"deal": 7}')
    with pytest.raises(RecordError, match="cannot be read"):
        list(records.read(tmp_path / "none.jsonl"))
    path.write_text("")
    with pytest.raises(RecordError, match="is empty"):
        list(records.read(path))


def test_a_file_that_was_cut_off_is_refused_by_its_line(tmp_path: Path) -> None:
    text = SAMPLES.read_text()
    path = tmp_path / "cut.jsonl"
    path.write_text(text[: len(text.rstrip()) - 40])
    lines = len(text.splitlines())
    with pytest.raises(RecordError, match=f"line {lines}: no JSON, or cut off"):
        list(records.read(path))


@pytest.mark.parametrize("key", sorted(records._KEYS))
def test_every_key_is_checked(won: Record, key: str) -> None:
    values = json.loads(won.to_line())
    for bad in ({"x": [1]}, -1.5, [3]):
        if not (key == "rules" and isinstance(bad, dict)):  # looked at when it is played
            with pytest.raises(RecordError, match=key):
                records.parse(json.dumps({**values, key: bad}))
    if key != "start_score":
        del values[key]
        with pytest.raises(RecordError, match=f"{key} is missing"):
            records.parse(json.dumps(values))


def test_unknown_keys_rules_and_ids_are_refused(won: Record) -> None:
    with pytest.raises(RecordError, match="no key 'colour'"):
        records.parse(json.dumps({**json.loads(won.to_line()), "colour": 1}))
    for change, message in (
        ({"env_id": "Klondike-v9"}, "no environment 'Klondike-v9': choose from Klondike-Draw3-v0"),
        ({"rules": {"render_mode": "human"}}, "an option is one of draw_count"),
        ({"rules": {"draw_count": 99}}, "draw_count is a whole number from 1 to 24"),
        ({"actions": "sideways"}, "actions is one of turn, reach"),
        ({"start": {"deal": -1}}, "a deal is a whole number"),
        ({"start": {"deck": [1, 2]}}, "a deck is 52 cards"),
        ({"start": {"position": {"tableau": ["XX"]}}}, "the tableau is a list of 7 piles"),
    ):
        with pytest.raises(RecordError, match=message):
            records.replay(dataclasses.replace(won, **change))


def test_the_first_wrong_move_is_named(won: Record) -> None:
    moves = list(won.moves)
    cut = json.loads(won.to_line())
    cut["moves"] = moves[:-3]
    with pytest.raises(RecordError, match=rf"cut off .* last move \({len(moves) - 3}, '"):
        records.parse(json.dumps(cut))
    cut["steps"] = len(moves) - 3
    with pytest.raises(RecordError, match="has outcome 'unfinished'; the record claims 'won'"):
        records.replay(records.parse(json.dumps(cut)))
    with pytest.raises(RecordError, match=f"move {len(moves) + 1}, 'draw': the game had ended"):
        records.replay(dataclasses.replace(won, moves=(*moves, "draw")))
    with pytest.raises(RecordError, match="move 3, 'hop': 'hop' is no move"):
        records.replay(dataclasses.replace(won, moves=(*moves[:2], "hop", *moves[3:])))
    place = next(i for i, move in enumerate(moves) if " x" in move)
    text = moves[place].split()[0]
    wrong = (*moves[:place], f"{text} x13", *moves[place + 1 :])
    with pytest.raises(RecordError, match=f"move {place + 1}, '{text} x13': it is {text} x"):
        records.replay(dataclasses.replace(won, moves=wrong))
    short = (*moves[:place], text.lower(), *moves[place + 1 :])
    assert records.replay(dataclasses.replace(won, moves=short)).moves == won.moves
    for change in ({"score": 99}, {"foundation_cards": 51}, {"outcome": "stuck"}):
        with pytest.raises(RecordError, match=f"{next(iter(change))} .*; the record claims"):
            records.replay(dataclasses.replace(won, **change))
    with pytest.raises(RecordError, match=r"^move \d+, "):
        records.replay(dataclasses.replace(won, start={"deal": 999}))


def test_no_move_can_be_left_out_or_put_in_unseen(won: Record) -> None:
    """A wrong move shows at once or later, never before it; or the end is another."""
    rng = random.Random(3)
    caught = 0
    for place in range(0, len(won.moves), 5):
        for moves in (
            won.moves[:place] + won.moves[place + 1 :],
            (*won.moves[:place], rng.choice(won.moves), *won.moves[place:]),
        ):
            try:
                records.replay(dataclasses.replace(won, moves=moves))
            except RecordError as error:
                caught += 1
                number = str(error).split(",")[0].split()[-1].strip("(")
                assert int(number) > place
    assert caught > 0.8 * 2 * len(range(0, len(won.moves), 5))


@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Bicycle-v0"])
def test_the_checker_plays_by_the_rules_of_the_environment(env_id: str) -> None:
    """V09: shlomif/PySolFC #521, #546: a record may go on with the moves of the mask alone."""
    env: Any = gym.make(env_id).unwrapped
    chosen, states, _ = play(env_id, steps=90, deal=2)
    for stop in range(0, len(chosen), 15):
        _, info = env.set_state(states[stop])
        position = {"position": env.position()}
        for action in range(0, 87, 3):
            expected = (
                contextlib.nullcontext()
                if info["action_mask"][action]
                else pytest.raises(RecordError, match=r"^move 1, ")
            )
            with expected:
                records.record_game(env_id, position, [action])


@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Vegas-v0"])
def test_evaluate_writes_the_games_it_plays(env_id: str, tmp_path: Path) -> None:
    texts = []
    for num_envs in (1, 7, 64):
        path = tmp_path / f"{num_envs}.jsonl"
        result = klondike_env.evaluate(
            make_agent("random", PRESETS[env_id]),
            env_id,
            range(20, 50),
            num_envs=num_envs,
            max_episode_steps=80,
            records=path,
        )
        texts.append(path.read_text())
    assert texts[0] == texts[1] == texts[2]
    for record, game in zip(records.read(path), result.records, strict=True):
        assert record.start == {"deal": game.deal}
        assert record.step_limit == 80
        assert record.agent == "agents.random_agent:Random"
        assert (record.outcome, record.score) == (game.outcome, game.score)
        assert (record.foundation_cards, len(record.moves)) == (game.foundation_cards, game.steps)
        records.replay(record)


def test_evaluate_hands_records_to_a_function_and_keeps_the_bank(tmp_path: Path) -> None:
    kept: list[Record] = []
    agent = make_agent("random", PRESETS["Klondike-Vegas-v0"])
    agent.name = "somebody"
    klondike_env.evaluate(
        agent, "Klondike-Vegas-v0", [1, 2, 3], num_envs=1, cumulative=True, records=kept.append
    )
    assert [record.agent for record in kept] == ["somebody"] * 3
    assert [record.start_score for record in kept[1:]] == [r.score - 52 for r in kept[:-1]]
    for record in kept:
        records.replay(records.parse(record.to_line()))
    with pytest.raises(ValueError, match="legal moves only"):
        klondike_env.evaluate(
            agent, "Klondike-Vegas-v0", [1], illegal="ignore", records=kept.append
        )
