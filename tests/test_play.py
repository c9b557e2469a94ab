"""The terminal game: what it shows, what keys and mouse do, and what it keeps."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.pilot import Pilot

from klondike_env import ENV_IDS, cli, evaluate, records
from klondike_env.cards import parse_card
from klondike_env.games.klondike.moves import move_text, parse_move
from klondike_env.play import app as app_module
from klondike_env.play.advisor import Advisor, turn_line
from klondike_env.play.app import KlondikeApp
from klondike_env.play.board import Board
from klondike_env.play.choice import Choice
from klondike_env.play.dialogs import HELP
from klondike_env.play.keeping import Keeper
from klondike_env.play.picture import MIN_HEIGHT, MIN_WIDTH, Marks, Spot, card_name, draw
from klondike_env.play.session import Session
from klondike_env.play.table import FOUNDATIONS, PILES, STOCK, WASTE, Table

ROOT = Path(__file__).parent.parent
DRAW1, DRAW3 = "Klondike-Draw1-v0", "Klondike-Draw3-v0"
FAN = {  # three cards in the waste, the top one fits on pile 1
    "tableau": ["9H", "KC", "", "", "", "", ""],
    "foundations": {"C": 7, "D": 0, "H": 8, "S": 3},
    "waste": "4S JD 8C",
    "rest": "stock",
}
ALMOST = {  # two moves from a win
    "tableau": ["KS", "", "", "", "", "", ""],
    "foundations": {"C": 13, "D": 13, "H": 13, "S": 11},
    "waste": "QS",
}

DEAD = {  # nothing but draws, for ever: all low cards lie face down
    "tableau": [
        "6C", "(AC) 8C", "(AD)(5D) 8S", "(7D)(9D)(JD) TC", "(KD)(AH)(2H)(3H) TS",
        "(4H)(5H)(6H)(7H)(8H) QC", "(9H)(TH)(JH)(QH)(KH)(AS) QS",
    ],
    "rest": "stock",
}  # fmt: skip


def almost() -> Session:
    return Session(DRAW1, {"position": ALMOST})


def fan() -> Session:
    waste = {**FAN, "tableau": ["9H", "KC", *["KD QC", "KH", "KS", "", ""]]}
    waste["foundations"] = {"C": 7, "D": 10, "H": 8, "S": 3}
    return Session(DRAW3, {"position": waste})


def shown_cards(text: str) -> list[str]:
    """Names of the cards in a picture, left to right and top to bottom."""
    names = {card_name(card) for card in range(52)}
    return [word for word in text.replace("\u2594", " ").split() if word in names]


def random_games(env_id: str, count: int, moves: int) -> list[Session]:
    rng = np.random.default_rng(0)
    sessions = []
    for deal in range(count):
        session = Session(env_id, {"deal": deal})
        for _ in range(int(rng.integers(moves))):
            if session.outcome:
                break
            session.play(int(rng.choice([move.action for move in session.moves])))
        sessions.append(session)
    return sessions


# The game without a screen


@pytest.mark.parametrize("env_id", [DRAW1, DRAW3])
def test_undo_restores_everything_and_hides_again(env_id: str) -> None:
    for session in random_games(env_id, 5, 80):
        seen = []
        while session.actions:
            seen.append((session.env.get_state().tobytes(), session.table, session.score))
            assert session.undo()
        assert session.env.position() == Session(env_id, session.start).env.position()
        assert not session.undo()
        for state, table, score in reversed(seen):
            assert session.redo()
            assert (state, table, score) == (
                session.env.get_state().tobytes(), session.table, session.score
            )  # fmt: skip
        assert not session.redo()


def test_another_move_after_undo_forgets_what_was_undone() -> None:
    session = Session(DRAW3, {"deal": 7})
    session.play(0)
    session.undo()
    session.play(parse_move("T2>T6"))
    assert not session.redo()


def test_moves_are_those_of_the_mask_with_the_cards_they_take() -> None:
    for session in random_games(DRAW3, 30, 120):
        legal = set(np.flatnonzero(session.env.action_masks()).tolist())
        assert session.outcome or {move.action for move in session.moves} == legal
        for move in session.moves:
            state = session.env.get_state()
            assert move.text == session.env.game.move_text(state, move.action, "turn")
            session.play(move.action)
            if move.cards:
                assert session.table.cards[move.target][-len(move.cards) :] == move.cards
            session.undo()


def test_the_picture_shows_the_table_and_no_hidden_card() -> None:
    for session in random_games(DRAW3, 50, 150):
        table = session.table
        text = draw(table, 80, 40).text
        expected = [card for place in PILES for card in table.run(place)]
        expected += table.run(WASTE)[-3:]
        expected += [table.run(place)[-1] for place in FOUNDATIONS if table.run(place)]
        assert set(shown_cards(text)) == {card_name(card) for card in expected}
        assert not {"None", "nan", "{", "}"} & set(text.split())


def test_unseen_cards_change_nothing_that_is_shown() -> None:
    session = Session(DRAW3, {"deal": 3})
    position = session.env.position()
    other = {**position, "stock": " ".join(reversed(position["stock"].split()))}
    assert position["stock"] != other["stock"]
    tables = [Session(DRAW3, {"position": start}).table for start in (position, other)]
    assert tables[0] == tables[1]
    assert None in tables[0].cards[STOCK]


def test_the_fan_holds_exactly_what_is_in_the_waste() -> None:
    session = fan()
    assert [card_name(card) for card in session.table.run(WASTE)] == ["4♠", "J♦", "8♣"]
    session.play(parse_move("W>T1"))
    row = draw(session.table, 80, 24).text.splitlines()[1]
    assert shown_cards(row)[:2] == ["4♠", "J♦"]
    assert "8♣" not in row
    assert [card_name(card) for card in session.table.run("T1")] == ["9♥", "8♣"]


@pytest.mark.parametrize("height", [MIN_HEIGHT, 24, 40])
def test_the_tallest_pile_fits(height: int) -> None:
    run = [parse_card(rank + "SH"[place % 2]) for place, rank in enumerate("KQJT98765432A")]
    cards: dict[str, Any] = dict.fromkeys((*PILES, WASTE, STOCK, *FOUNDATIONS), ())
    cards["T7"] = (None,) * 6 + tuple(run)
    table = Table(cards, {place: 6 * (place == "T7") for place in PILES}, None)
    picture = draw(table, MIN_WIDTH, height)
    assert [name for name in shown_cards(picture.text) if name != "A♠"] == [
        card_name(card) for card in run[:-1]
    ]
    assert Spot("T7", 18) in picture.spots.values()
    assert "A♠" in picture.text


def test_known_cards_face_down_are_in_brackets() -> None:
    session = Session("Klondike-Thoughtful-Draw3-v0", {"deal": 7})
    text = draw(session.table, 80, 24).text
    assert text.count("(") == 21
    assert None not in session.table.cards[STOCK]


def test_marks_are_told_without_colour() -> None:
    session = Session(DRAW3, {"deal": 7})
    marks = Marks(cursor="T1", targets=frozenset({"T6"}), hint=("W", "T3"))
    text = draw(session.table, 80, 24, marks).text
    assert all(sign in text for sign in ("▶  1  ◀", "▼ 6 ▼", "◆ 3 ◆", "◆ w ◆"))


# Picking up and putting down


def test_pressing_places_makes_moves_or_says_why_not() -> None:
    session = Session(DRAW3, {"deal": 7})
    choice = Choice(session)
    assert "pile 6" in str(choice.press(Spot("T2")))
    assert {move.target for move in choice.moves} == {"T6"}
    assert choice.press(Spot("T1")) == session.explain(parse_move("T2>T1"))
    found = choice.press(Spot("T6"))
    assert not isinstance(found, str)
    assert found.text == "T2>T6"
    choice.spot = None
    assert choice.press(Spot("T1")) == "Nothing of pile 1 can go anywhere now."
    assert choice.press(Spot(WASTE)) == "The waste is empty: pick something up first."
    assert "w or 1-7" in str(choice.foundation_move())


def test_a_card_picks_up_what_lies_on_it() -> None:
    session = Session(DRAW3, {"position": {
        "tableau": ["9H", "TD 9S 8D", "JC", "", "", "", ""],
        "foundations": {"C": 6, "D": 6, "H": 6, "S": 6},
        "rest": "stock",
    }})  # fmt: skip
    choice = Choice(session)
    choice.press(Spot("T2", 0))
    assert [move.text for move in choice.moves] == ["T2>T3 x3"]
    assert choice.lowest == Spot("T2", 0)
    choice.spot = None
    assert choice.press(Spot("T2", 1)) == "9♠ 8♦ can go nowhere now."


# Agents


@pytest.mark.parametrize("name", ["yan", "greedy"])
def test_watching_an_agent_plays_as_an_evaluation_does(name: str) -> None:
    from agents import make_agent

    env_id = "Klondike-VegasDraw3-v0"  # passes are limited: both play the actions of the set turn
    session = Session(env_id, {"deal": 11})
    advisor = Advisor(name, session.env.rules)
    while not session.outcome and len(session.actions) < 2_000:
        session.play(advisor.advise(session)[0], name)
    played: list[records.Record] = []
    evaluate(make_agent(name, session.env.rules), env_id, [11], num_envs=1, records=played.append)
    assert tuple(session.move_texts()) == played[0].moves


def test_agents_that_know_the_stock_look_through_it_first() -> None:
    session = Session(DRAW3, {"deal": 7})
    advisor = Advisor("guide", session.env.rules)
    for _ in range(8):
        action, remark = advisor.advise(session)
        assert move_text(action) == "draw"
        assert "stock" in remark
        session.play(action)
    assert None not in session.table.cards[STOCK]
    for _ in range(60):
        if session.outcome:
            break
        action, _ = advisor.advise(session)
        assert action in [move.action for move in session.moves]
        session.play(action)
    assert session.foundation_cards > 0


def test_a_hint_depends_on_the_game_alone() -> None:
    session = Session(DRAW1, {"deal": 5})
    for _ in range(24):
        session.play(0)
    advisor = Advisor("guide", session.env.rules)
    first = advisor.advise(session)
    assert advisor.advise(session) == first
    session.play(first[0])
    advisor.advise(session)
    session.undo()
    assert advisor.advise(session)[0] == first[0]


def test_reach_actions_become_draws_and_a_move() -> None:
    session = Session(DRAW3, {"deal": 7})
    for _ in range(3):
        session.play(0)
    line = turn_line(session.table, parse_move("#6>F", "reach"), 3)
    assert [move_text(action) for action in line] == [
        *["draw"] * 5,
        "redeal",
        "draw",
        "draw",
        "W>F",
    ]
    assert turn_line(session.table, parse_move("T2>T6", "reach"), 3) == [parse_move("T2>T6")]


# The screen


def run_app(
    session: Session, path: Path, steps: Callable[..., Awaitable[None]], **options: Any
) -> KlondikeApp:
    app = KlondikeApp(session, Keeper(path), **options)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await steps(app, pilot)

    asyncio.run(run())
    return app


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "play.jsonl"


def test_a_game_is_won_with_keys(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        await pilot.press("w", "f")
        assert app.session.foundation_cards == 51
        await pilot.press("1", "S")
        assert app.session.outcome == "won"
        assert app.message.startswith("Won with 2 moves")
        await pilot.press("d", "h", "a")
        assert len(app.session.actions) == 2
        await pilot.press("u")
        assert not app.session.outcome
        await pilot.press("r")

    app = run_app(almost(), kept, steps)
    assert app.session.outcome == "won"
    (record,) = records.read(kept)
    assert (record.outcome, record.moves, record.agent) == ("won", ("W>F", "T1>F"), "person")
    records.replay(record)


def test_every_key_of_the_help_is_bound_and_others_are_refused(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        keys = " ".join(row[0] for row in HELP).replace("1-7", "1 7").replace(",", "").split()
        names = {"+": "plus", "-": "minus", "Enter": "enter", "Esc": "escape", "arrows": "left"}
        bound = set(app.active_bindings)
        assert {names.get(key, key) for key in keys if key != "mouse"} <= bound
        await pilot.press("x")
        assert app.message.startswith("No key 'x': d draw")
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 2
        await pilot.press("escape")
        assert len(app.screen_stack) == 1

    run_app(Session(DRAW3, {"deal": 7}), kept, steps)


async def click(app: KlondikeApp, pilot: Pilot[None], spot: Spot, times: int = 1) -> None:
    spots = app.query_one(Board).picture.spots
    offset = max(place for place, there in spots.items() if there == spot)
    await pilot.click(Board, offset=offset, times=times)


def test_the_mouse_clicks_drags_and_double_clicks(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        board = app.query_one(Board)
        await click(app, pilot, Spot("stock"))
        assert app.session.move_texts() == ["draw"]
        await click(app, pilot, Spot("T2", 1))
        assert "▼ 6 ▼" in board.picture.text
        await click(app, pilot, Spot("T6", 5))
        assert app.session.move_texts() == ["draw", "T2>T6"]
        await pilot.press("u", "u")
        spots = board.picture.spots
        start, end = (
            max(place for place, there in spots.items() if there == spot)
            for spot in (Spot("T2", 1), Spot("T6", 5))
        )
        await pilot.mouse_down(Board, offset=start)
        await pilot.hover(Board, offset=end)
        await pilot.mouse_up(Board, offset=end)
        await pilot.pause()
        assert app.session.move_texts() == ["T2>T6"]
        await pilot.press("u")
        await click(app, pilot, Spot("T1", 0), times=2)
        assert "not next on its foundation" in app.message

    run_app(Session(DRAW3, {"deal": 7}), kept, steps)


def test_a_double_click_plays_up(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        await click(app, pilot, Spot(WASTE), times=2)
        assert app.session.move_texts() == ["W>F"]

    run_app(almost(), kept, steps)


def test_arrows_and_enter_reach_every_place(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        reached = set()
        for _ in range(2):
            for _ in range(7):
                await pilot.press("right")
                reached.add(app._cursor)
            await pilot.press("up")
        assert reached == {STOCK, WASTE, *FOUNDATIONS, *PILES}
        while app._cursor != STOCK:
            await pilot.press("left")
        await pilot.press("enter")
        assert app.session.move_texts() == ["draw"]

    run_app(Session(DRAW3, {"deal": 7}), kept, steps)


def test_hint_autoplay_and_solver(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "DELAYS", (0.0,) * 6)

    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await app.workers.wait_for_complete()
        assert app.message == "greedy: W>F"
        assert "◆ w ◆" in app.query_one(Board).picture.text
        await pilot.press("s")
        await app.workers.wait_for_complete()
        assert app.message == "Can be won from here with 2 moves. s again: watch them."
        await pilot.press("s")
        await app.workers.wait_for_complete()
        assert app.session.outcome == "won"
        await pilot.press("u", "u", "a")
        await app.workers.wait_for_complete()
        assert app.session.outcome == "won"

    app = run_app(almost(), kept, steps, agent="greedy")
    assert app.session.record().agent == "greedy"


def test_a_hopeless_game_is_told_so(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        await pilot.press("s")
        await app.workers.wait_for_complete()
        assert app.message.startswith("Cannot be won from here")

    run_app(Session(DRAW3, {"position": DEAD}), kept, steps)


def test_an_agent_that_fails_is_one_line(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await app.workers.wait_for_complete()
        assert "\n" not in app.message
        assert "no agent 'nobody': choose from random, greedy" in app.message

    run_app(almost(), kept, steps, agent="nobody")


def test_a_new_game_by_dialog_keeps_the_last_one(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        await pilot.press("d", "n")
        await pilot.press(*"99999999999999999999", "enter")
        assert len(app.screen_stack) == 2  # no deal number: the dialog says so
        await pilot.press(*["backspace"] * 20, "4", "2", "enter")
        assert app.session.deal == 42
        await pilot.press("d")

    app = run_app(Session(DRAW1, {"deal": 7}), kept, steps)
    Keeper(kept).keep(app.session)
    assert [record.title for record in records.read(kept)] == ["deal 7", "deal 42"]


def test_the_agent_is_chosen_among_those_that_can_play(kept: Path) -> None:
    async def steps(app: KlondikeApp, pilot: Pilot[None]) -> None:
        await pilot.press("g")
        await pilot.pause()
        await pilot.press("home", "enter")
        assert app.message == "random gives the hints."

    run_app(Session("Klondike-Vegas-v0", {"deal": 7}), kept, steps)


# Records


def test_a_game_is_resumed_where_it_was_left(kept: Path) -> None:
    session = Session(DRAW3, {"deal": 7})
    for move in ("draw", "T2>T6", "draw"):
        session.play(parse_move(move))
    Keeper(kept).keep(session)
    keeper = Keeper(kept)
    again = keeper.resume()
    assert again.env.position() == session.env.position()
    again.undo()
    assert again.env.position() != session.env.position()
    again.play(parse_move("T7>T4"))
    keeper.keep(again)
    (record,) = records.read(kept)
    assert record.moves == ("draw", "T2>T6", "T7>T4")
    assert record.outcome == "unfinished"


def test_a_finished_game_stays_finished(kept: Path) -> None:
    session = almost()
    for move in ("W>F", "T1>F"):
        session.play(parse_move(move))
    Keeper(kept).keep(session)
    assert Keeper(kept).resume().outcome == "won"


def play(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["play", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "games.jsonl")
    assert ", ".join(ENV_IDS) in play(capsys, "7", "--env", "Spider-v0")
    assert "choose from random, greedy, yan" in play(capsys, "7", "--agent", "x", "--file", file)
    assert "thoughtful" in play(capsys, "7", "--agent", "solver", "--file", file)
    assert "neither a deal number nor a file" in play(capsys, "nothing.txt")
    assert "0 to 2^63" in play(capsys, str(2**63))
    assert "no game to resume" in play(capsys, "--resume", "--file", file)
    assert "leave them out" in play(capsys, "7", "--resume")
    assert "needs a terminal" in play(capsys, "7", "--file", file)
    assert "cannot be kept" in play(capsys, "7", "--file", "/proc/nowhere/games.jsonl")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no record\n")
    assert "bad.jsonl, line 1: no JSON" in play(capsys, "7", "--file", str(bad))
    session = Session(DRAW3, {"deal": 7})
    session.play(0)
    line = json.loads(session.record().to_line())
    bad.write_text(json.dumps({**line, "moves": ["redeal"]}) + "\n")
    assert "move 1, 'redeal'" in play(capsys, "--resume", "--file", str(bad))


def test_away_from_the_checkout_there_are_no_agents(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "klondike_env", tmp_path / "klondike_env")
    program = (
        "import sys; from klondike_env import KlondikeRules\n"
        "from klondike_env.play.advisor import agent_names\n"
        "sys.modules['agents'] = None\n"  # what an editable install may have put on the path
        "try: agent_names(KlondikeRules())\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "no agents here: they are not installed with the library, start from its checkout\n"
    )


# A real terminal


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_game_in_a_real_terminal(tmp_path: Path) -> None:
    kept = tmp_path / "play.jsonl"
    socket = ["tmux", "-S", str(tmp_path / "tmux")]
    command = f"{sys.executable} -m klondike_env.cli play 7 --file {kept}"

    def screen(until: str) -> str:
        deadline = time.monotonic() + 120
        text = ""
        while time.monotonic() < deadline:
            done = subprocess.run([*socket, "capture-pane", "-p"], capture_output=True, text=True)
            text = done.stdout
            if until in text:
                return text
            time.sleep(0.1)
        raise AssertionError(f"{until!r} was not shown:\n{text}")

    subprocess.run(
        [*socket, "-u", "new-session", "-d", "-x", "80", "-y", "24", f"{command}; sleep 60"],
        cwd=ROOT, check=True,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color"},
    )  # fmt: skip
    try:
        text = screen("Draw3-v0  deal 7")
        assert {"Q♦", "2♠", "7♣", "8♠", "J♥", "3♥", "7♦"} == set(shown_cards(text))
        subprocess.run([*socket, "send-keys", "d", "2"], check=True)
        assert "▼ 6 ▼" in screen("2♠: to pile 6")
        subprocess.run([*socket, "send-keys", "6"], check=True)
        screen("moves 2")
        subprocess.run([*socket, "send-keys", "q"], check=True)
        screen("--resume")
    finally:
        subprocess.run([*socket, "kill-server"], check=False)
    (record,) = records.read(kept)
    assert record.moves == ("draw", "T2>T6")
