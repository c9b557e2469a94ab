"""Text, pictures and windows: what the player sees, all of it, and nothing more."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import os
import pickle
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import klondike_env
from klondike_env.cards import CARDS
from klondike_env.games.base import UNSEEN, Board
from klondike_env.games.klondike.board import board, board_text
from klondike_env.games.klondike.rules import PRESETS
from klondike_env.rendering import text
from klondike_env.rendering.picture import FELT, MARK, Painter
from klondike_env.rendering.shapes import places
from tests.test_laws import shuffle_unseen

ROOT = Path(__file__).parent.parent
FAN = {
    "tableau": ["9H", "", "", "", "", "", ""],
    "waste": "4S JD 8C",
    "foundations": {"C": 7, "D": 10, "H": 8, "S": 3},
    "stock": "5S 6S",
    "rest": "stock",
}


@pytest.fixture(autouse=True)
def _no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for name in ("DISPLAY", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def random_game(env: Any, steps: int, seed: int = 1) -> Any:
    """Yields after the reset and after each of some random steps."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    yield info
    for _ in range(steps):
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        _, _, terminated, truncated, info = env.step(action)
        yield info
        if terminated or truncated:
            return


def make_vector(env_id: str = "Klondike-Draw3-v0", num_envs: int = 3, **options: Any) -> Any:
    return gym.make_vec(
        env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **options
    )


# Render modes


@pytest.mark.parametrize("env_id", PRESETS)
def test_every_id_draws_itself_single_and_in_a_vector(env_id: str) -> None:
    env = gym.make(env_id, render_mode="rgb_array")
    frames = [env.render() for _ in random_game(env, 15)]
    assert {(frame.shape, frame.dtype.name) for frame in frames} == {((516, 640, 3), "uint8")}
    assert len({frame.tobytes() for frame in frames}) == len(frames)
    envs = make_vector(env_id, render_mode="rgb_array")
    envs.reset(seed=[1, 2, 1])
    first, second, third = envs.render()
    assert (first == third).all()
    assert (first != second).any()
    single = gym.make(env_id, render_mode="rgb_array")
    single.reset(seed=1)
    assert (first == single.render()).all()
    for each in (make_vector(env_id, render_mode="ansi"), gym.make(env_id, render_mode="ansi")):
        each.reset(seed=4)
        shown = each.render()
        assert "foundations" in (shown if isinstance(shown, str) else shown[2])
        each.close()


def test_rows_of_a_vector_show_what_single_games_show() -> None:
    """Marks of the last move too, and none where a new game has begun."""
    options = {"render_mode": "rgb_array", "max_episode_steps": 6}
    envs = make_vector(num_envs=2, autoreset_mode="SameStep", **options)
    singles = [gym.make("Klondike-Draw3-v0", **options) for _ in range(2)]
    _, infos = envs.reset(seed=[5, 6])
    for seed, single in zip((5, 6), singles, strict=True):
        single.reset(seed=seed)
    rng = np.random.default_rng(2)
    for _ in range(14):
        actions = klondike_env.sample_actions(infos["action_mask"], rng)
        *_, infos = envs.step(actions)
        for single, action in zip(singles, actions, strict=True):
            _, _, terminated, truncated, _ = single.step(int(action))
            if terminated or truncated:
                single.reset()
        for row, single in enumerate(singles):
            assert (envs.render()[row] == single.render()).all()


@pytest.mark.parametrize("vector", [False, True])
def test_modes_that_do_not_exist_are_refused(vector: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError, match="render_mode is None or one of ansi, rgb_array, human"):
            make_vector(render_mode="video") if vector else gym.make(
                "Klondike-Draw3-v0", render_mode="video"
            )


def test_nothing_but_a_window_needs_a_display_or_a_window_library() -> None:
    """R16: openai/gym PR #3037, #2936; Farama-Foundation/HighwayEnv #688; Gymnasium PR #143."""
    code = """
import gymnasium as gym, klondike_env, sys, warnings
for mode in (None, "ansi", "rgb_array"):
    for env in (
        gym.make("Klondike-Draw3-v0", render_mode=mode),
        gym.make_vec("Klondike-Draw3-v0", num_envs=2, vectorization_mode="vector_entry_point",
                     render_mode=mode),
    ):
        env.reset(seed=1)
        env.step(0 if env.unwrapped.action_space.shape == () else [0, 0])
        if mode is None:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                assert env.render() is None
            assert caught, "no warning"
        else:
            shown = env.render()
            if mode == "ansi":
                print(shown if isinstance(shown, str) else shown[1])
        env.close()
        env.close()
assert not {"pygame", "tkinter", "matplotlib", "torch"} & set(sys.modules)
"""
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={**environment, "LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("stock (21)") == 2


# What is shown


@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Thoughtful-Draw3-v0"])
def test_the_board_is_the_observation_and_so_is_its_text(env_id: str) -> None:
    """R24: vayun-mathur/Modern-Apps #539, #335: 50 states, read back."""
    env: Any = gym.make(env_id).unwrapped
    shown_as = ("", *CARDS, UNSEEN)
    states = 0
    for _ in random_game(env, 49):
        states += 1
        observation, info = env.observe()
        down = observation.get("face_down", (observation["tableau"] == 53).sum(axis=1))
        drawn = board(env.get_state())
        piles = {pile.name: pile.cards for pile in drawn.piles}
        for i, row in enumerate(observation["tableau"]):
            expected = [shown_as[card] for card in row.tolist() if card]
            low = [card.lower() for card in expected[: int(down[i])]]
            assert piles[f"T{i + 1}"] == (*low, *expected[int(down[i]) :])
        talon = [
            [shown_as[card] for card in observation[name].tolist() if card]
            for name in ("waste", "stock")
        ]
        assert piles["waste"] == tuple(talon[0])
        assert piles["stock"] == tuple(card.lower() for card in reversed(talon[1]))
        ups = observation["foundations"].tolist()
        assert [len(piles[suit]) for suit in "CDHS"] == ups
        assert dict(drawn.counters)["score"] == str(info["score"])
        assert dict(drawn.counters)["up"] == f"{info['foundation_cards']}/52"

        lines = board_text(env.get_state()).splitlines()
        assert not re.search(r"[{}]|None|nan", "\n".join(lines))
        assert lines[1].split()[2:] == (talon[1] or ["--"])
        assert lines[2].split()[2:] == (talon[0] or ["--"])
        for i, row in enumerate(observation["tableau"]):
            column = [line[5 * i : 5 * i + 5].strip(" ()") for line in lines[4:]]
            expected = [shown_as[card] for card in row.tolist() if card] or ["--"]
            assert list(filter(None, column)) == expected
    assert states == 50


@pytest.mark.parametrize("draw_count", [1, 3])
def test_cards_that_were_never_seen_are_in_no_picture(draw_count: int) -> None:
    rng = random.Random(5)
    env: Any = gym.make("Klondike-Draw3-v0", draw_count=draw_count).unwrapped
    painter = None
    for step, _ in enumerate(random_game(env, 60, seed=draw_count)):
        if step % 12:
            continue
        boards, pictures = [], []
        for position in (env.position(), shuffle_unseen(env, rng)):
            other: Any = gym.make("Klondike-Draw3-v0", draw_count=draw_count).unwrapped
            other.reset(options={"position": position})
            boards.append(board(other.get_state()))
            painter = painter or Painter(boards[0])
            pictures.append(Painter(boards[-1]).paint(boards[-1]))
            everything = board(other.get_state(), all_cards=True)
            shown = sorted(card.upper() for pile in everything.piles for card in pile.cards)
            assert shown == sorted(CARDS)
        assert boards[0] == boards[1]
        assert (pictures[0] == pictures[1]).all()


def test_the_fan_shows_the_cards_still_in_the_waste() -> None:
    """K02: SoundGoddess/OpenSolitaire #6; brianstrauch/solitaire-tui #4; virtualtabletop #1078."""
    env: Any = gym.make("Klondike-Draw3-v0", render_mode="rgb_array")
    env.reset(options={"position": FAN})

    def fan() -> tuple[str, ...]:
        return next(p for p in board(env.unwrapped.get_state()).piles if p.name == "waste").cards

    def part(frame: np.ndarray) -> np.ndarray:
        return frame[35:150, 100:270]

    assert fan() == ("4S", "JD", "8C")
    before = env.render()
    observation, *_, info = env.step(3)
    assert fan() == ("4S", "JD")
    assert [CARDS[card - 1] for card in observation["waste"].tolist() if card] == ["4S", "JD"]
    assert info["action_mask"][2] == 1  # JD is free at once, and goes up
    after = env.render()
    assert (part(before) != part(after)).any()
    fresh: Any = gym.make("Klondike-Draw3-v0", render_mode="rgb_array")
    fresh.reset(options={"position": env.unwrapped.position()})
    assert (part(after) == part(fresh.render())).all()


def test_the_fan_spreads_three_cards_and_covers_the_others() -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(seed=1)
    for _ in range(3):
        env.step(0)
    drawn = board(env.get_state())
    waste = next(pile for pile in drawn.piles if pile.name == "waste")
    lefts = [x - waste.x for x, _ in places(waste, drawn.height)]
    assert len(lefts) == 9
    assert lefts[:7] == [0.0] * 7
    assert 0 < lefts[7] < lefts[8] < 1


def test_no_pile_is_longer_than_the_board() -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    run = "KH QS JH TS 9H 8S 7H 6S 5H 4S 3H 2S AH"
    tableau = ["", "(AC)(2C)(3C)(4C)(5C)(6C) " + run, *[""] * 5]
    env.reset(options={"position": {"tableau": tableau, "foundations": {"D": 13}, "rest": "stock"}})
    drawn = board(env.get_state())
    pile = next(pile for pile in drawn.piles if pile.name == "T2")
    spots = places(pile, drawn.height)
    assert len(spots) == 19
    assert spots[-1][1] + 1 <= drawn.height + 1e-9
    assert all(low > high for (_, high), (_, low) in itertools.pairwise(spots))


def test_a_painter_never_leaves_stale_cards() -> None:
    """R24: what is drawn anew in part equals what is drawn anew as a whole."""
    env: Any = gym.make("Klondike-Draw1-v0").unwrapped
    painter, before = None, None
    for step, _ in enumerate(random_game(env, 120, seed=8)):
        now = board(env.get_state())
        painter = painter or Painter(now, 320)
        frame = painter.paint(now, before)
        if step % 10 == 0:
            assert (frame == Painter(now, 320).paint(now, before)).all()
        before = now


def test_frames_are_the_caller_s_own() -> None:
    env = gym.make("Klondike-Draw3-v0", render_mode="rgb_array")
    env.reset(seed=1)
    frame = env.render()
    kept = frame.copy()
    frame[:] = 0
    assert (env.render() == kept).all()


def test_the_last_move_is_marked() -> None:
    env: Any = gym.make("Klondike-Draw3-v0", render_mode="rgb_array")
    env.reset(options={"position": FAN})
    assert not marked(env.render()).any()
    env.step(3)
    rows, columns = np.nonzero(marked(env.render()))
    assert columns.max() < 110  # around the first pile, not around the fan
    assert rows.min() > 160
    state = env.unwrapped.get_state()
    env.unwrapped.set_state(state)
    assert not marked(env.render()).any()
    env.reset(seed=1)
    assert not marked(env.render()).any()
    env.step(0)
    rows, columns = np.nonzero(marked(env.render()))
    assert rows.max() < 160
    assert 100 < columns.min() < columns.max() < 250


def marked(frame: np.ndarray) -> np.ndarray:
    return (frame == MARK).all(axis=2)


def test_face_down_cards_that_are_known_look_unlike_backs_and_faces() -> None:
    env: Any = gym.make("Klondike-Thoughtful-Draw3-v0").unwrapped
    env.reset(seed=1)
    known = board(env.get_state())
    hidden = Board(
        known.width,
        known.height,
        tuple(
            dataclasses.replace(pile, cards=tuple(c if c.isupper() else UNSEEN for c in pile.cards))
            for pile in known.piles
        ),
        known.counters,
    )
    assert [p.cards for p in hidden.piles] != [p.cards for p in known.piles]
    frames = [Painter(each).paint(each) for each in (known, hidden)]
    stock = [frame[45:140, 20:88] for frame in frames]
    assert (stock[0] != stock[1]).any(axis=2).mean() > 0.9


@pytest.mark.parametrize("width", [200, 333, 1000])
def test_pictures_of_any_width_have_even_sides(width: int) -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(seed=1)
    drawn = board(env.get_state())
    frame = Painter(drawn, width).paint(drawn)
    assert frame.shape[0] % 2 == frame.shape[1] % 2 == 0
    assert frame.shape[1] in (width, width - 1)
    assert (frame[-3, -3] == FELT).all()


# Text in colours


def test_colours_are_for_terminals_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gym.make("Klondike-Draw3-v0", render_mode="ansi")
    env.reset(seed=1)
    plain = env.render()
    assert plain.isascii()
    assert "\033" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = env.render()
    assert coloured != plain
    assert re.sub(r"\033\[\d+m", "", coloured) == plain
    for card in re.findall(r"\b[A2-9TJQK][DH]\b", plain):
        assert f"\033[31m{card}\033[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert env.render() == plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert text.has_colours()
    monkeypatch.setenv("TERM", "dumb")
    assert not text.has_colours()


# Windows, wrappers, copies


def pygame_is_open() -> bool:
    import pygame

    return bool(pygame.display.get_init() and pygame.display.get_surface())


@pytest.mark.parametrize("vector", [False, True])
def test_a_window_opens_shows_every_step_and_closes(vector: bool) -> None:
    pygame = pytest.importorskip("pygame")
    env: Any = (
        make_vector(num_envs=11, render_mode="human")
        if vector
        else gym.make("Klondike-Draw3-v0", render_mode="human")
    )
    env.reset(seed=1)
    assert pygame_is_open()
    first = pygame.surfarray.array3d(pygame.display.get_surface())
    env.step([0] * 11 if vector else 0)
    second = pygame.surfarray.array3d(pygame.display.get_surface())
    assert (first != second).any()
    assert env.render() is None
    twin = copy.deepcopy(env)  # without the window, which stays the original's
    twin.close()
    assert pygame_is_open()
    env.close()
    env.close()
    assert not pygame_is_open()


def test_a_window_closed_by_its_user_stays_closed() -> None:
    pygame = pytest.importorskip("pygame")
    env = gym.make("Klondike-Draw3-v0", render_mode="human")
    env.reset(seed=1)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.step(0)
    assert not pygame_is_open()
    env.step(0)
    assert not pygame_is_open()
    env.close()
    again = gym.make("Klondike-Draw3-v0", render_mode="human")
    again.reset(seed=1)
    assert pygame_is_open()
    again.close()


def test_the_window_keeps_the_pace_of_render_fps() -> None:
    pytest.importorskip("pygame")
    import time

    env = gym.make("Klondike-Draw3-v0", render_mode="human")
    env.reset(seed=1)
    began = time.perf_counter()
    for _ in range(3):
        env.step(0)
    assert time.perf_counter() - began > 2 / env.metadata["render_fps"]
    env.close()


def test_copies_and_pickles_of_drawn_environments_draw_the_same() -> None:
    env = gym.make("Klondike-Draw3-v0", render_mode="rgb_array")
    env.reset(seed=3)
    env.render()
    env.step(0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert (twin.render() == env.render()).all()
        twin.step(0)
    env.step(0)
    assert (twin.render() == env.render()).all()


def test_gymnasium_s_wrappers_take_the_frames(tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    from gymnasium.wrappers import HumanRendering, RenderCollection

    env: Any = HumanRendering(gym.make("Klondike-Draw3-v0", render_mode="rgb_array"))
    env.reset(seed=1)
    env.step(0)
    assert pygame_is_open()
    env.close()
    collected = RenderCollection(gym.make("Klondike-Draw3-v0", render_mode="rgb_array"))
    collected.reset(seed=1)
    collected.step(0)
    assert [frame.shape for frame in collected.render()] == [(516, 640, 3)] * 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("vector", [False, True])
def test_record_video_writes_a_film(vector: bool, tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    if vector:
        from gymnasium.wrappers.vector import RecordVideo

        env: Any = RecordVideo(make_vector(num_envs=2, render_mode="rgb_array"), str(tmp_path))
    else:
        from gymnasium.wrappers import RecordVideo as RecordOne

        env = RecordOne(gym.make("Klondike-Draw3-v0", render_mode="rgb_array"), str(tmp_path))
    env.reset(seed=1)
    for _ in range(4):
        env.step([0, 0] if vector else 0)
    env.close()
    (film,) = tmp_path.glob("*.mp4")
    assert film.stat().st_size > 2_000


def test_a_missing_extra_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    for name in [name for name in sys.modules if name.startswith("klondike_env.rendering.")]:
        monkeypatch.delitem(sys.modules, name)
    env = gym.make("Klondike-Draw3-v0", render_mode="rgb_array", disable_env_checker=True)
    env.reset(seed=1)
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"Pillow: pip install .*\[render\]"):
        env.render()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pygame", None)
    window = gym.make("Klondike-Draw3-v0", render_mode="human")
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"pygame: pip install .*\[render\]"):
        window.reset(seed=1)
