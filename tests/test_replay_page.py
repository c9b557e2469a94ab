"""The replay page: what is in its source, and how it works in a real browser."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import klondike_env
from agents import make_agent
from klondike_env import records
from klondike_env.cards import CARDS
from klondike_env.games.base import UNSEEN
from klondike_env.games.klondike.rules import PRESETS
from klondike_env.records import Replay
from klondike_env.rendering.page import replay_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def replays_of(env_id: str, agent: str, deals: range, **options: Any) -> list[Replay]:
    kept: list[records.Record] = []
    player = make_agent(agent, PRESETS[env_id])
    player.name = agent
    klondike_env.evaluate(player, env_id, deals, records=kept.append, **options)
    return [records.replay(record) for record in kept]


@pytest.fixture(scope="module")
def games() -> list[Replay]:
    """A game of 300 moves in which cards stay hidden, and two short ones."""
    long = replays_of("Klondike-Draw3-v0", "random", range(4), max_episode_steps=300)
    short = replays_of("Klondike-Draw3-Pass3-v0", "greedy", range(3, 5), max_episode_steps=25)
    return [max(long, key=lambda replay: len(replay.moves)), *short]


def data_of(page: str) -> Any:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def boards_of(view: Any) -> list[list[str]]:
    """The piles' cards at every step, put together from what the page holds."""
    piles = list(view["first"]["piles"])
    boards = [piles]
    for change in view["changes"]:
        piles = list(piles)
        for pile, stay, cards in change[0]:
            piles[pile] = piles[pile][: 2 * stay] + cards
        boards.append(piles)
    return boards


def unseen_to_the_end(replay: Replay) -> set[str]:
    seen = {
        card.upper()
        for state in replay.states
        for pile in replay.game.board(state, False).piles
        for card in pile.cards
        if card != UNSEEN
    }
    return set(CARDS) - seen


def test_a_page_needs_nothing_and_weighs_little(games: list[Replay]) -> None:
    assert len(games[0].moves) == 300
    page = replay_page(games[:1])
    assert len(page.encode()) < 300_000 / 4
    assert len(replay_page(games, all_cards=True).encode()) < 300_000
    links = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert links <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\bsrc=|@import|url\((?!#)", page)
    assert not re.search(r"%[A-Z]+%|>undefined<|NaN<|\{\{", page)


@pytest.mark.parametrize("all_cards", [False, True])
def test_the_page_s_data_is_the_game(games: list[Replay], all_cards: bool) -> None:
    """R24: the cards of every step, read back from the source."""
    data = data_of(replay_page(games, all_cards=all_cards))
    for replay, game in zip(games, data["games"], strict=True):
        assert game["moves"] == list(replay.record.moves)
        views = {"player": False, "all": True} if all_cards else {"player": False}
        assert {"player", "all"} & set(game) == set(views)
        for name, everything in views.items():
            drawn = [replay.game.board(state, everything) for state in replay.states]
            assert boards_of(game[name]) == [
                ["".join(pile.cards) for pile in board.piles] for board in drawn
            ]


def test_hidden_cards_are_nowhere_in_the_source_of_the_player_s_view() -> None:
    """R24, and also where the game starts from a position that names every card."""
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(options={"deal": 7})
    env.step(0)
    starts = [{"deal": 7}, {"deck": klondike_env.deals.deck(7)}, {"position": env.position()}]
    for start in starts:
        record = records.record_game("Klondike-Draw3-v0", start, ["draw"] * 3)
        replay = records.replay(record)
        hidden = unseen_to_the_end(replay)
        assert len(hidden) >= 30
        page = replay_page([replay])
        data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
        found = {
            text.upper()
            for cards in re.findall(r'"((?:[A2-9TJQKa-z#][CDHScdhs#])+)"', data)
            for text in re.findall("..", cards)
        }
        assert found & set(CARDS) == set(CARDS) - hidden
        rest = page.replace(data, "")
        assert not [card for card in CARDS if re.search(rf"\b{card}\b", rest)]
        everything = replay_page([replay], all_cards=True)
        assert all(card.lower() in everything for card in hidden)


def test_texts_of_a_record_cannot_break_out_of_the_page(games: list[Replay]) -> None:
    evil = "</script><script>window.evil=1</script>"
    record = dataclasses.replace(games[1].record, agent=evil)
    page = replay_page([dataclasses.replace(games[1], record=record)], title=evil)
    assert "<script>window" not in page
    assert evil in data_of(page)["games"][0]["name"]
    with pytest.raises(ValueError, match="no game"):
        replay_page([])


# In a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a page of some games; in the end no page may have complained."""
    complaints: list[str] = []
    opened: list[Any] = []

    def open_(games: list[Replay], link: str = "", all_cards: bool = False, **options: Any) -> Any:
        path = tmp_path / "replay.html"
        path.write_text(replay_page(games, all_cards=all_cards), encoding="utf-8")
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **options})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        asked: list[str] = []
        page.goto(f"file://{path}{link}")
        assert asked == [f"file://{path}{link}".partition("#")[0]]
        opened.append(page)
        return page

    yield open_
    for page in opened:
        page.close()
    assert complaints == []


def shown(page: Any) -> dict[str, list[str]]:
    """The cards of each pile as they lie in the page, bottom to top."""
    script = """() => [...document.querySelectorAll("#cards .card")].map(
        (card) => [card.dataset.pile, card.dataset.card])"""
    piles: dict[str, list[str]] = {}
    for pile, card in page.evaluate(script):
        piles.setdefault(pile, []).append(card)
    return piles


def expected(replay: Replay, step: int, all_cards: bool = False) -> dict[str, list[str]]:
    board = replay.game.board(replay.states[step], all_cards)
    return {pile.name: list(pile.cards) for pile in board.piles if pile.cards}


def test_it_steps_to_the_end_and_back(games: list[Replay], open_page: Any) -> None:
    """I09, I10: a step back hides again what the step had shown."""
    for number, replay in enumerate(games[1:], start=2):
        page = open_page(games, f"#game={number}")
        for step in range(len(replay.moves) + 1):
            assert shown(page) == expected(replay, step)
            page.keyboard.press("ArrowRight")
        assert page.locator("#forward").is_disabled()
        ending = f"{replay.record.outcome}, score {replay.record.score}"
        assert page.locator("#now").inner_text().endswith(ending)
        for step in reversed(range(len(replay.moves))):
            page.keyboard.press("ArrowLeft")
            assert shown(page) == expected(replay, step)
        assert page.locator("#back").is_disabled()
        assert page.locator(".mark").count() == 0


def test_keyboard_mouse_and_slider_reach_every_move(games: list[Replay], open_page: Any) -> None:
    page = open_page(games)
    last = len(games[0].moves)
    page.keyboard.press("End")
    assert shown(page) == expected(games[0], last)
    page.keyboard.press("Home")
    assert shown(page) == expected(games[0], 0)
    page.locator("#forward").click()
    page.locator("#forward").click()
    page.locator("#back").click()
    assert shown(page) == expected(games[0], 1)
    assert page.locator(".mark").count() >= 1
    page.locator("#scrub").fill("150")
    assert shown(page) == expected(games[0], 150)
    page.locator("#scrub").press("ArrowLeft")
    assert shown(page) == expected(games[0], 149)
    page.locator("#moves button").nth(77).click()
    assert shown(page) == expected(games[0], 77)
    assert page.locator("#moves [aria-current=step]").inner_text().split()[0] == "77"
    state = games[0].game.board(games[0].states[77], False)
    values = page.locator("#counters dd").all_inner_texts()
    assert values == [value for _, value in state.counters]
    page.keyboard.press("n")
    assert shown(page) == expected(games[1], 0)
    page.locator("#games button").nth(2).click()
    assert shown(page) == expected(games[2], 0)
    assert page.locator("#games button").nth(0).inner_text().endswith("truncated")


def test_it_plays_pauses_and_stops_at_the_end(games: list[Replay], open_page: Any) -> None:
    page = open_page(games, "#game=2")
    page.locator("#speed").select_option("40")
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "Pause"
    page.wait_for_function("document.getElementById('scrub').value > 5")
    page.locator("#play").click()
    stopped = page.locator("#scrub").input_value()
    page.wait_for_timeout(150)
    assert page.locator("#scrub").input_value() == stopped
    page.locator("body").press(" ")
    page.wait_for_function("document.getElementById('forward').disabled")
    assert page.locator("#play").inner_text() == "Play"
    assert shown(page) == expected(games[1], len(games[1].moves))


def test_all_cards_show_only_where_they_were_asked_for(games: list[Replay], open_page: Any) -> None:
    page = open_page(games)
    assert not page.locator("#all").is_visible()
    assert "never saw are not in this page" in page.locator("footer").inner_text()
    page = open_page(games, all_cards=True)
    page.keyboard.press("ArrowRight")
    page.locator("#all").check()
    assert shown(page) == expected(games[0], 1, all_cards=True)
    page.locator("#all").uncheck()
    assert shown(page) == expected(games[0], 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(
    games: list[Replay], open_page: Any, scheme: str
) -> None:
    page = open_page(games, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.keyboard.press("End")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#board").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    for button in page.locator("#controls button").all():
        size = button.bounding_box()
        assert min(size["width"], size["height"]) >= 40
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = [int(number) for number in re.findall(r"\d+", ground)]
    assert (sum(light) > 600) == (scheme == "light")


def test_screen_readers_hear_the_board_and_the_move(games: list[Replay], open_page: Any) -> None:
    page = open_page(games)
    page.keyboard.press("ArrowRight")
    assert page.locator("#board").get_attribute("role") == "img"
    assert page.locator("#board").get_attribute("aria-labelledby") == "spoken"
    spoken = page.locator("#spoken").text_content()
    assert "Stock: " in spoken
    assert re.search(r"Pile 7: 6 face down, (ace|\d+|jack|queen|king) of \w+\.", spoken)
    assert page.locator("#now").get_attribute("aria-live") == "polite"
    assert games[0].moves[0] in page.locator("#now").inner_text()
    for button in page.locator("button").all():
        assert button.get_attribute("aria-label") or button.inner_text().strip()


def test_a_game_of_300_moves_opens_in_a_second(games: list[Replay], open_page: Any) -> None:
    script = "performance.getEntriesByType('navigation')[0].loadEventEnd"
    times = []
    for _ in range(3):
        page = open_page(games[:1])
        page.wait_for_function(f"{script} > 0")
        times.append(page.evaluate(script))
        assert page.locator("#moves [aria-current]").count() == 1
    assert min(times) < 1000
