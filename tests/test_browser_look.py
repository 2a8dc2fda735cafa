"""The component in a real browser: for eyes, keyboards, screen readers and phones; and what it shows of names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask, request
from playwright.sync_api import Browser, expect

from flask_leaderboard import AllTime, Board, Daily, Monthly, Season, Weekly, current_leaderboards
from tests.browser import LiveScript, Tab, launch, open_tab, served
from tests.web import SUBMIT, make_app

STRANGE = {
    "script": "<script>document.title = 'owned'</script>",
    "image": "<img src=x onerror=\"document.title = 'owned'\">",
    "quotes": "\"'`>&lt;b&gt; O'Neil",
    "template": "${document.title = 'owned'} {{ 7 * 7 }}",
    "override": "\u202eevil\u202c \u2067abc",
    "arabic": "محمد علي",
    "emoji": "👩‍👩‍👧‍👦 Family 🇳🇱",
    "stacked": "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324a",
    "long": "W" * 200,
    "blank": " \u200b ",
}
SCHEMES: tuple[Any, ...] = ("light", "dark")
PICTURES = {
    "https": "https://pictures.test/1.svg",
    "javascript": "javascript:alert(1)",
    "http": "http://pictures.test/2.svg",
    "data": "data:image/svg+xml,<svg/>",
    "local": "/own.svg",
}
PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}


def make_game() -> Flask:
    boards = [Board("arena", windows=[Weekly(), Daily(), Monthly(), AllTime(), Season()])]
    app = make_app([*boards, Board("names"), Board("pictures"), Board("empty")])
    app.add_url_rule("/host", "host", lambda: HOST)
    app.add_url_rule("/pictures", "pictures", lambda: WITH_PICTURES.format(attribute=request.query_string.decode()))
    with app.app_context():
        for number in range(40):
            current_leaderboards["arena"].submit(f"p{number}", (number + 1) ** 3 + 7, user_name=f"Player {number}")
        for number, (user_id, name) in enumerate(STRANGE.items()):
            current_leaderboards["names"].submit(user_id, 9_007_199_254_740_991 - number, user_name=name)
        for number, user_id in enumerate(PICTURES):
            current_leaderboards["pictures"].submit(user_id, 9 - number)
    for user_id, url in PICTURES.items():
        app.test_client().put(f"/v1/users/{user_id}", json={"metadata": {"picture": url}}, headers=SUBMIT)
    return app


HOST = """<!doctype html><html lang="nl"><title>Game</title><link rel="icon" href="data:,">
<style>live-leaderboard { --ll-accent: rgb(200, 0, 100); --ll-max-height: 300px } ::part(heading) { color: rgb(1, 2, 3) }</style>
<script type="module">
  import { LiveLeaderboard } from "/v1/live-leaderboard.js";
  LiveLeaderboard.texts = { weekly: "Deze week", players: { one: "{count} speler", other: "{count} spelers" } };
  const board = document.createElement("live-leaderboard");
  board.texts = { you: "Jij" };
  board.formatScore = (score) => `${score} pt`;
  Object.entries({ board: "arena", user: "p38", live: "off", windows: "weekly all", heading: "Toppers", top: "30" })
    .forEach(([name, value]) => board.setAttribute(name, value));
  window.told = [];
  for (const what of ["state", "update", "rank", "window", "error"]) {
    addEventListener(`leaderboard-${what}`, ({ detail }) => told.push([what, detail]));
  }
  document.body.append(board);
</script><h1>Game</h1></html>"""

WITH_PICTURES = """<!doctype html><html lang="en"><title>Game</title><link rel="icon" href="data:,"><h1>Game</h1>
<live-leaderboard board="pictures" live="off" {attribute}></live-leaderboard>
<script type="module" src="/v1/live-leaderboard.js"></script></html>"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launch()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(make_game()) as address:
        yield address


def open_board(tab: Tab, url: str) -> None:
    """Open a page whose live connection never answers."""
    LiveScript(tab.page)
    tab.page.goto(url)
    expect(tab.page.locator(".footer, .message-title").filter(visible=True).first).not_to_have_text("Loading the leaderboard")


@pytest.mark.parametrize("place", ["arena?user=p20", "names?user=arabic", "empty", "arena?window=season", "nope"])
def test_nobody_is_kept_out(browser: Browser, address: str, place: str) -> None:
    with open_tab(browser) as tab:
        if place == "nope":
            tab.page.goto(f"{address}/v1/board/{place}")
            assert tab.complaints != []  # the browser tells of the 404
            tab.complaints.clear()
        else:
            open_board(tab, f"{address}/v1/board/{place}")
        for scheme in SCHEMES:
            tab.page.emulate_media(color_scheme=scheme)
            tab.shoot(f"{re.sub(r'[^a-z]+', '-', place)}-{scheme}")
            assert tab.serious_problems() == []


@pytest.mark.parametrize("place", ["arena?user=p20&top=20", "names?user=long"])
def test_a_phone_needs_no_scrolling_sideways(browser: Browser, address: str, place: str) -> None:
    with open_tab(browser, **PHONE) as tab:
        open_board(tab, f"{address}/v1/board/{place}")
        tab.shoot(f"phone-{place.partition('?')[0]}")
        assert tab.page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [320, 320]
        for row in tab.page.locator(".row").all():
            box, score = row.bounding_box(), row.locator(".score").bounding_box()
            assert box is not None
            assert score is not None
            assert box["x"] >= 0
            assert score["x"] + score["width"] <= box["x"] + box["width"] <= 320
        assert tab.serious_problems() == []


def test_names_are_shown_as_text(browser: Browser, address: str) -> None:
    with open_tab(browser) as tab:
        open_board(tab, f"{address}/v1/board/names")
        wanted = [*list(STRANGE.values())[:-1], "blank"]  # a name of which nothing is seen gives way to the id
        assert tab.names() == wanted
        assert tab.page.title() == "Names leaderboard"
        assert tab.page.locator(".list").locator("script, img, b").count() == 0
        directions = tab.page.locator(".top .name").evaluate_all("names => names.map((name) => getComputedStyle(name).direction)")
        assert directions[list(STRANGE).index("arabic")] == "rtl"
        assert directions[0] == "ltr"
        isolation = tab.page.locator(".top .name").evaluate_all(
            "names => names.map((name) => getComputedStyle(name).unicodeBidi)"
        )
        assert set(isolation) == {"isolate"}
        expect(tab.page.locator(".top .score").first).to_have_text("9,007,199,254,740,991")


def test_tabs_by_keyboard(browser: Browser, address: str) -> None:
    with open_tab(browser) as tab:
        open_board(tab, f"{address}/v1/board/arena")
        tabs = tab.page.get_by_role("tab")
        expect(tabs).to_have_text(["This week", "Today", "This month", "All time", "Season"])

        def expect_chosen(name: str) -> None:
            chosen = tab.page.get_by_role("tab", name=name, exact=True)
            expect(chosen).to_have_attribute("aria-selected", "true")
            expect(chosen).to_be_focused()
            expect(tab.page.locator("[role=tab][aria-selected=true]")).to_have_count(1)
            expect(tab.page.locator("[role=tab][tabindex='0']")).to_have_count(1)
            expect(tab.page.get_by_role("tabpanel")).to_have_accessible_name(name)

        tab.page.keyboard.press("Tab")
        expect_chosen("This week")
        for key, name in (("ArrowRight", "Today"), ("End", "Season"), ("ArrowRight", "This week"), ("ArrowLeft", "Season")):
            tab.page.keyboard.press(key)
            expect_chosen(name)
        expect(tab.page.locator(".message-title")).to_have_text("Nothing is running now")
        tab.page.keyboard.press("ArrowLeft")
        expect_chosen("All time")
        expect(tab.page.locator(".top .row")).to_have_count(10)
        assert tab.page.url.endswith("?window=all")
        tab.page.keyboard.press("Tab")
        assert tab.page.locator("[role=tab]:focus").count() == 0


def test_own_row_is_marked_in_the_list_and_pinned_outside_of_it(browser: Browser, address: str) -> None:
    with open_tab(browser) as tab:
        open_board(tab, f"{address}/v1/board/arena?user=p20")
        expect(tab.page.locator(".pinned .name")).to_have_text(["Player 21", "Player 20", "Player 19"])
        own = tab.page.locator(".row[aria-current=true]")
        expect(own).to_have_count(1)
        expect(own.locator(".rank")).to_have_text("20")
        expect(tab.page.locator(".footer")).to_have_text("40 playersYou are in the top 50%")
        tab.page.goto(f"{address}/v1/board/arena?user=p29")
        expect(tab.page.locator(".pinned .name")).to_have_text(["Player 29", "Player 28"])
        tab.page.goto(f"{address}/v1/board/arena?user=p38")
        expect(tab.page.locator(".row[aria-current=true] .name")).to_have_text("Player 38")
        expect(tab.page.locator(".pinned")).to_be_hidden()
        parts = tab.page.locator(".top .row").evaluate_all("rows => rows.slice(0, 4).map((row) => row.part.value)")
        assert parts == ["row medal-1", "row own medal-2", "row medal-3", "row"]


@pytest.mark.parametrize(("scheme", "theme", "ink"), [("light", "dark", "241"), ("dark", "light", "22"), ("dark", "", "241")])
def test_theme_goes_before_the_system(browser: Browser, address: str, scheme: Any, theme: str, ink: str) -> None:
    with open_tab(browser, color_scheme=scheme) as tab:
        open_board(tab, f"{address}/v1/board/arena" + (f"?theme={theme}" if theme else ""))
        colour = tab.page.locator(".heading").evaluate("heading => getComputedStyle(heading).color")
        assert re.findall(r"\d+", colour)[0] == ink


def test_the_host_has_the_last_word(browser: Browser, address: str) -> None:
    with open_tab(browser) as tab:
        tab.page.goto(f"{address}/host")
        expect(tab.page.locator(".top .row")).to_have_count(30)
        expect(tab.page.get_by_role("heading", name="Toppers", level=2)).to_be_visible()
        expect(tab.page.get_by_role("tab")).to_have_text(["Deze week", "All time"])
        expect(tab.page.locator(".footer")).to_contain_text("40 spelers")
        expect(tab.page.locator(".row[aria-current=true]")).to_contain_text("Jij")
        expect(tab.page.locator(".top .score").first).to_have_text("64007 pt")
        expect(tab.page.locator(".state")).to_be_hidden()
        colour = "element => getComputedStyle(element).color"
        assert tab.page.locator(".heading").evaluate(colour) == "rgb(1, 2, 3)"
        assert tab.page.locator(".list").evaluate("list => [list.clientHeight, list.tabIndex]") == [300, 0]
        told = tab.page.evaluate("told")
        assert [what for what, _ in told][-1] == "update"
        assert told[-1][1]["entries"][0] == {"rank": 1, "user_id": "p39", "user_name": "Player 39", "score": 64007}
        assert told[-1][1]["own"]["rank"] == 2
        tab.page.get_by_role("tab", name="All time").click()
        tab.wait(lambda: ["window", {"window": "all"}] in tab.page.evaluate("told"))
        assert tab.serious_problems() == []


def test_pictures_are_shown_where_they_are_asked_for(browser: Browser, address: str) -> None:
    with open_tab(browser) as tab:
        asked: list[str] = []

        def picture(route: Any) -> None:
            asked.append(f"{route.request.url} {route.request.headers.get('referer')}")
            if "own" in route.request.url:
                route.abort()
            else:
                route.fulfill(content_type="image/svg+xml", body='<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>')

        tab.page.route(re.compile("(pictures.test|own)"), picture)
        tab.page.goto(f"{address}/pictures?pictures")
        expect(tab.page.locator(".avatar img")).to_have_count(1)
        expect(tab.page.locator(".avatar")).to_have_text(["", "J", "H", "D", "L"])  # what can't be shown gives way to the initial
        assert sorted(asked) == [f"{address}/own.svg None", "https://pictures.test/1.svg None"]
        tab.complaints.clear()  # the browser tells of the one that did not come
        tab.page.goto(f"{address}/pictures")
        expect(tab.page.locator(".top .row")).to_have_count(5)
        assert tab.page.locator(".avatar img").count() == 0


def test_the_page_works_without_scripts(browser: Browser, address: str) -> None:
    with open_tab(browser, java_script_enabled=False) as tab:
        tab.page.goto(f"{address}/v1/board/arena?user=p38")
        expect(tab.page.locator("tbody tr")).to_have_count(10)
        expect(tab.page.locator("tr[aria-current]")).to_contain_text("Player 38")
        tab.shoot("without-scripts")


def test_rows_glide_unless_somebody_wants_them_still(browser: Browser, address: str) -> None:
    count = """async () => {
        const board = document.querySelector("live-leaderboard");
        board.shadowRoot.querySelector("#tab-daily").click();
        await new Promise((done) => board.addEventListener("leaderboard-update", done, { once: true }));
        return [...board.shadowRoot.querySelectorAll(".row")].flatMap((row) => row.getAnimations()).length;
    }"""
    for motion, moves in (("no-preference", True), ("reduce", False)):
        with open_tab(browser, reduced_motion=motion) as tab:
            tab.page.route("**/v1/scores?*window=daily*", lambda route: route.fulfill(json=reversed_page(route.fetch().json())))
            open_board(tab, f"{address}/v1/board/arena")
            expect(tab.page.locator(".top .row")).to_have_count(10)
            assert (tab.page.evaluate(count) > 0) is moves


def reversed_page(page: dict[str, Any]) -> dict[str, Any]:
    return {**page, "data": page["data"][::-1]}
