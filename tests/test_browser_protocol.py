"""The component against a live server that is played by hand: how it takes updates, goes on after a break, and mends itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from flask_leaderboard import AllTime, Board, Daily, current_leaderboards
from flask_leaderboard.web.assets import version
from tests.browser import LiveScript, Tab, entry, launch, open_tab, served, snapshot
from tests.web import make_app

ANN, BOB, CAT = entry(1, "ann", 30), entry(2, "bob", 20), entry(3, "cat", 10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launch()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    app = make_app([Board("arena", windows=[AllTime(), Daily()])])
    with app.app_context():
        for number, name in enumerate(("cat", "bob", "ann"), 1):
            current_leaderboards["arena"].submit(name, number * 10)
    with served(app) as address:
        yield address


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    with open_tab(browser) as tab:
        yield tab


@pytest.fixture
def live(tab: Tab) -> LiveScript:
    script = LiveScript(tab.page)
    script.welcome = lambda asked: script.tell(**snapshot(asked, [ANN, BOB, CAT]))
    return script


def update(asked: dict[str, Any], entries: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    usual = {"type": "update", "id": asked["id"], "period": "all", "seq": 2, "sum": "two", "base": "one", "total": 3, "count": 3}
    return {**usual, "entries": entries, "left": [], **more}


def rank(asked: dict[str, Any], place: int | None, **more: Any) -> dict[str, Any]:
    usual = {"type": "rank", "id": asked["id"], "period": "all", "seq": 2, "user_id": "zoe", "user_name": "Zoe", "total": 900}
    score = None if place is None else 5
    standing = {"rank": place, "old_rank": None, "score": score, "old_score": None, "percentile": 50.0}
    return {**usual, **standing, "above": None, "below": None, **more}


def shown(tab: Tab) -> list[tuple[str, str, str]]:
    rows = tab.page.locator(".top .row")
    return [
        (row.locator(".rank").inner_text(), row.locator(".name").inner_text(), row.locator(".score").inner_text())
        for row in rows.all()
    ]


def expect_names(tab: Tab, *names: str) -> None:
    expect(tab.page.locator(".top .name")).to_have_text(list(names))


def test_apply_update_moves_only_who_is_named(tab: Tab, address: str, live: LiveScript) -> None:
    tab.page.goto(f"{address}/v1/board/arena")
    expect(tab.page.locator(".state")).to_have_text("Live")
    expect_names(tab, "ann", "bob", "cat")
    asked = live.subscriptions()[0]
    assert {key: asked[key] for key in ("type", "board", "top")} == {"type": "subscribe", "board": "arena", "top": 10}
    moved = [{"place": 1, "old_rank": 2, **entry(1, "bob", 35)}, {"place": 2, "old_rank": 1, **entry(2, "ann", 30)}]
    live.tell(**update(asked, moved))
    expect_names(tab, "bob", "ann", "cat")
    assert shown(tab) == [("1", "bob", "35"), ("2", "ann", "30"), ("3", "cat", "10")]
    expect(tab.page.locator(".top .move")).to_have_text(["▲ 1up 1 place", "▼ 1down 1 place", ""])
    newcomer = [{"place": 3, "old_rank": None, **entry(3, "dan", 15, "Dan")}]
    live.tell(**update(asked, newcomer, base="two", sum="three", left=["cat"], total=4))
    expect_names(tab, "bob", "ann", "Dan")
    expect(tab.page.locator(".footer")).to_have_text("4 players")
    assert live.subscriptions() == [asked]


APPLY = """async ([version, cases]) => {
  const { updated } = await import(`/v1/static/${version}/ranking.js`);
  return cases.map(([entries, message]) => {
    const told = updated({ sum: "one", entries }, { base: "one", sum: "two", left: [], ...message });
    return told && told.entries.map((entry) => entry.user_id);
  });
}"""


@pytest.mark.usefixtures("live")
def test_apply_update_refuses_what_does_not_fit(tab: Tab, address: str) -> None:
    tab.page.goto(f"{address}/v1/board/arena")
    top = [ANN, BOB, CAT]
    cases = [
        (top, {"count": 2, "entries": [], "left": ["cat"]}),
        (top, {"count": 4, "entries": [{"place": 4, **entry(4, "dan", 1)}]}),
        (top, {"count": 3, "entries": [{"place": 1, **CAT}, {"place": 2, **ANN}, {"place": 3, **BOB}]}),
        (top, {"count": 3, "entries": [{"place": 1, **CAT}]}),  # who is at cat's place now?
        (top, {"count": 4, "entries": []}),
        (top, {"count": 3, "entries": [{"place": 9, **CAT}]}),
        (top, {"count": 3, "entries": [], "base": "other"}),
        ([], {"count": 0, "entries": []}),
    ]
    told = tab.page.evaluate(APPLY, [version(), cases])
    assert told == [["ann", "bob"], ["ann", "bob", "cat", "dan"], ["cat", "ann", "bob"], None, None, None, None, []]


def test_mismatch_subscribes_anew(tab: Tab, address: str, live: LiveScript) -> None:
    tab.page.goto(f"{address}/v1/board/arena")
    first = tab.wait(live.subscriptions)[0]
    live.welcome = lambda asked: live.tell(**snapshot(asked, [CAT, ANN, BOB], seq=9, sum="nine"))
    live.tell(**update(first, [], base="something else"))
    expect_names(tab, "cat", "ann", "bob")
    again = live.subscriptions()[1]
    assert again["id"] != first["id"]
    assert "since" not in again
    assert {"type": "unsubscribe", "id": first["id"]} in live.heard
    live.tell(**update(first, [{"place": 1, "old_rank": 2, **entry(1, "old", 1)}]))  # of the subscription before: too late
    live.tell(**update(again, [{"place": 1, "old_rank": 3, **entry(1, "bob", 40)}, {"place": 3, **CAT}], base="nine"))
    expect_names(tab, "bob", "ann", "cat")


def test_resume_goes_on_where_it_stopped(tab: Tab, address: str, live: LiveScript) -> None:
    tab.page.goto(f"{address}/v1/board/arena")
    first = tab.wait(live.subscriptions)[0]
    live.tell(**update(first, [], seq=1041, sum="two"))
    expect(tab.page.locator(".state")).to_have_text("Live")
    tab.page.wait_for_timeout(50)
    resumed = lambda asked: live.tell(type="resumed", id=asked["id"], seq=1050, sum="two", total=7)  # noqa: E731
    live.welcome = resumed
    live.sockets[-1].close(code=1012)
    tab.wait(lambda: len(live.sockets) == 2 and len(live.subscriptions()) == 2)
    again = live.subscriptions()[1]
    assert again["since"] == {"seq": 1041, "sum": "two"}
    expect(tab.page.locator(".footer")).to_have_text("7 players")
    expect(tab.page.locator(".state")).to_have_text("Live")
    assert tab.names() == ["ann", "bob", "cat"]


def test_bye_is_followed_by_a_reconnection_when_the_server_says(tab: Tab, address: str, live: LiveScript) -> None:
    tab.page.clock.install()
    tab.page.goto(f"{address}/v1/board/arena")
    tab.wait(live.subscriptions)
    live.tell(type="bye", code="restart", retry_in_ms=500_000)
    live.sockets[-1].close(code=1012)
    expect(tab.page.locator(".state")).to_have_text("Reconnecting")
    tab.page.clock.run_for(400_000)
    assert len(live.sockets) == 1
    tab.page.clock.run_for(101_000)
    tab.wait(lambda: len(live.sockets) == 2)


def test_silence_is_asked_after_and_then_given_up(tab: Tab, address: str, live: LiveScript) -> None:
    tab.page.clock.install()
    tab.page.goto(f"{address}/v1/board/arena")
    tab.wait(live.subscriptions)
    expect(tab.page.locator(".state")).to_have_text("Live")
    tab.page.clock.run_for(41_000)
    tab.wait(lambda: {"type": "ping"} in live.heard)
    live.tell(type="pong")
    tab.page.wait_for_timeout(50)
    tab.page.clock.run_for(20_000)
    assert len(live.sockets) == 1
    tab.page.clock.run_for(35_000)
    expect(tab.page.locator(".state")).to_have_text("Reconnecting")
    tab.page.clock.run_for(1_000)
    tab.wait(lambda: len(live.sockets) == 2)


def test_stale_is_told_until_scores_come_again(tab: Tab, address: str, live: LiveScript) -> None:
    tab.page.goto(f"{address}/v1/board/arena")
    asked = tab.wait(live.subscriptions)[0]
    expect(tab.page.locator(".state")).to_have_text("Live")
    live.tell(type="stale", id=asked["id"])
    expect(tab.page.locator(".state")).to_have_text("Paused")
    live.tell(type="resumed", id=asked["id"], seq=3, sum="one", total=3)
    expect(tab.page.locator(".state")).to_have_text("Live")


def test_a_refusal_is_shown_with_its_code(tab: Tab, address: str, live: LiveScript) -> None:
    live.welcome = lambda asked: live.tell(type="error", id=asked["id"], code="dense_not_kept", detail="declare dense=True")
    tab.page.goto(f"{address}/v1/board/arena")
    expect(tab.page.locator(".message")).to_contain_text("declare dense=True")
    expect(tab.page.locator(".message")).to_have_attribute("data-code", "dense_not_kept")
    live.welcome = lambda asked: live.tell(**snapshot(asked, [ANN]))
    tab.page.get_by_role("button", name="Try again").click()
    expect_names(tab, "ann")


def test_a_new_period_is_another_ranking(tab: Tab, address: str, live: LiveScript) -> None:
    live.welcome = lambda asked: live.tell(**snapshot(asked, [ANN, BOB], window="daily", period="2026-11-18"))
    tab.page.goto(f"{address}/v1/board/arena?window=daily")
    expect(tab.page.locator(".period")).to_have_text("Wednesday, November 18, 2026")
    asked = live.subscriptions()[0]
    fresh = snapshot(asked, [entry(1, "bob", 5)], window="daily", period="2026-11-19", reason="period", sum="new")
    live.tell(**fresh)
    expect(tab.page.locator(".period")).to_have_text("Thursday, November 19, 2026")
    expect_names(tab, "bob")
    expect(tab.page.locator(".top .move")).to_have_text([""])


def test_own_rank_is_pinned_with_neighbours_and_told_politely(tab: Tab, address: str, live: LiveScript) -> None:
    live.welcome = lambda asked: (live.tell(**snapshot(asked, [ANN, BOB, CAT], total=900)), live.tell(**rank(asked, None)))[0]
    tab.page.goto(f"{address}/v1/board/arena?user=zoe")
    expect(tab.page.locator(".footer")).to_have_text("900 playersYou have no score here yet")
    tab.complaints.clear()  # the browser tells of the 404 that says "not ranked"
    asked = live.subscriptions()[0]
    assert asked["user_id"] == "zoe"
    live.tell(**rank(asked, 451, above=entry(450, "yan", 6), below=entry(452, "ula", 4)))
    expect(tab.page.locator(".pinned .name")).to_have_text(["yan", "Zoe", "ula"])
    own = tab.page.locator(".row[aria-current=true]")
    expect(own).to_contain_text("Zoe")
    expect(own).to_contain_text("You")
    expect(tab.page.get_by_role("status")).to_have_text("Your rank is now 451 of 900")
    live.tell(**rank(asked, 4, above=CAT, below=entry(5, "yan", 6), percentile=99.7))
    expect(tab.page.locator(".pinned .name")).to_have_text(["Zoe", "yan"])  # cat is in the list already
    expect(own.locator(".move")).to_have_text("▲ 447up 447 places")
    expect(tab.page.get_by_role("status")).to_have_text("Your rank is now 4 of 900, up 447 places")
    expect(tab.page.locator(".footer")).to_have_text("900 playersYou are in the top 1%")
    tops = [ANN, BOB, entry(3, "zoe", 11, "Zoe")]
    live.tell(**snapshot(asked, tops, sum="new"))
    expect_names(tab, "ann", "bob", "Zoe")
    expect(tab.page.locator(".pinned")).to_be_hidden()


def test_without_sockets_the_page_listens_to_events_and_else_asks(tab: Tab, address: str) -> None:
    gone: list[str] = []
    tab.page.route_web_socket("**/v1/live", lambda socket: (gone.append("socket"), socket.close(code=1013))[0])
    tab.page.goto(f"{address}/v1/board/arena?user=bob")
    expect(tab.page.locator(".state")).to_have_text("Delayed")
    assert tab.names() == ["ann", "bob", "cat"]
    assert gone == ["socket"]  # the server is full: it is left alone for a while


def test_events_carry_the_same_messages(tab: Tab, address: str) -> None:
    asked: list[str] = []

    def serve(route: Any) -> None:
        asked.append(route.request.url)
        messages = (
            snapshot({"id": "-"}, [CAT, BOB]),
            update({"id": "-"}, [{"place": 1, "old_rank": 9, **entry(1, "eve", 90)}], count=2),
        )
        body = "".join(f"event: {item['type']}\nid: 1:one\ndata: {json.dumps(item)}\n\n" for item in messages)
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    tab.page.route_web_socket("**/v1/live", lambda socket: socket.close(code=1011))
    tab.page.route("**/v1/live/events?*", serve)
    tab.page.goto(f"{address}/v1/board/arena?user=bob")
    expect_names(tab, "eve", "bob")
    assert "board=arena" in asked[0]
    assert "user_id=bob" in asked[0]
