"""The ready page and the component's files as the server gives them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from flask_leaderboard import Board, Daily, Season, Segment, Weekly, current_leaderboards
from flask_leaderboard.web import assets
from flask_leaderboard.web.assets import version
from tests.web import make_app

FOLDER = Path(assets.__file__).parent / "static" / "live_leaderboard"
NAMES = ["<script>alert(1)</script>", "\"><img src=x onerror=alert('1')>", "{{ 7 * 7 }}", "O'Neil & \u202esnoS"]


def game(**config: Any) -> Flask:
    boards = [Board("arena", windows=[Weekly(), Daily()], segments=[Segment("country")]), Board("race-times", windows=[Season()])]
    app = make_app(boards, **config)
    with app.app_context():
        for number, name in enumerate(NAMES):
            current_leaderboards["arena"].submit(f"u{number}", number, user_name=name, segments={"country": "NL"})
    return app


@pytest.fixture
def client() -> FlaskClient:
    return game().test_client()


def test_page_shows_the_board_to_who_runs_no_scripts(client: FlaskClient) -> None:
    page = client.get("/v1/board/arena?user=u1")
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert '<live-leaderboard level="1" board="arena" heading="Arena" user="u1">' in page.text
    assert re.findall(r"<tr[^>]*><td>(\d)</td>", page.text) == ["1", "2", "3", "4"]
    assert page.text.index("3</td></tr>") < page.text.index("0</td></tr>")
    assert page.text.count('aria-current="true"') == 1
    assert "<noscript>" in page.text


def test_page_runs_nothing_that_is_not_its_own(client: FlaskClient) -> None:
    page = client.get("/v1/board/arena")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["img-src"] == "'self'"
    assert policy["connect-src"] == "'self' ws://localhost wss://localhost"
    assert policy["require-trusted-types-for"] == "'script'"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert re.findall(r"<script(?! type=\"module\" src=\"/v1/[^\"]+\"></script>)", page.text) == []
    assert re.findall(r"<style| style=| on\w+=\"|https?://", page.text) == []


def test_page_gives_names_as_text(client: FlaskClient) -> None:
    text = client.get("/v1/board/arena").text
    for forbidden in ("<script>alert", "<img", "49"):
        assert forbidden not in text
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in text
    assert "<bdi>{{ 7 * 7 }}</bdi>" in text
    marked = client.get("/v1/board/arena?user=" + "%22%3E%3Cscript%3Ealert(1)").text
    assert 'user="&#34;&gt;&lt;script&gt;alert(1)"' in marked


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("nope", 404, "unknown_board"),
        ("arena?window=nope", 404, "unknown_window"),
        ("arena?user=a/b", 400, "bad_id"),
        ("arena?user=a%00b", 400, "bad_id"),
        ("arena?user=", 400, "bad_id"),
        ("arena?segment=city=X", 400, "bad_id"),
        ("arena?segment=country=a/b", 400, "bad_id"),
        ("arena?ranking=dense", 400, "dense_not_kept"),
        ("arena?ranking=best", 400, "bad_input"),
        ("arena?theme=red", 400, "bad_input"),
        ("arena?top=0", 400, "bad_input"),
        ("arena?top=101", 400, "bad_input"),
        ("arena?top=ten", 400, "bad_input"),
    ],
)
def test_page_refuses_with_a_page(client: FlaskClient, path: str, status: int, code: str) -> None:
    page = client.get(f"/v1/board/{path}")
    assert (page.status_code, page.mimetype, page.headers["Cache-Control"]) == (status, "text/html", "no-store")
    assert f"<code>{code}</code>" in page.text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


def test_page_takes_what_the_address_says_and_no_more(client: FlaskClient) -> None:
    page = client.get("/v1/board/arena?window=daily&segment=country=NL&ranking=unique&top=2&theme=dark&utm_source=post")
    tag = re.search(r"<live-leaderboard ([^>]+)>", page.text)
    assert tag is not None
    assert tag[1].split() == [
        'level="1"', 'board="arena"', 'heading="Arena"', 'window="daily"', 'segment="country=NL"', 'ranking="unique"', 'top="2"',
        'theme="dark"',
    ]  # fmt: skip
    assert page.text.count("<tr>") == 3
    assert 'data-theme="dark"' in page.text
    assert "utm" not in page.text


def test_page_of_a_window_that_has_nothing_running(client: FlaskClient) -> None:
    page = client.get("/v1/board/race-times")
    assert page.status_code == 200
    assert "<h1>Race times</h1>" in page.text
    assert "Nobody has scored yet" in page.text


def test_page_may_be_kept_as_a_ranking(client: FlaskClient) -> None:
    page = client.get("/v1/board/arena")
    assert page.headers["Cache-Control"] == "public, max-age=5"
    again = client.get("/v1/board/arena", headers={"If-None-Match": page.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert "Content-Security-Policy" in again.headers
    with client.application.app_context():
        current_leaderboards["arena"].submit("u0", 9)
    assert client.get("/v1/board/arena", headers={"If-None-Match": page.headers["ETag"]}).status_code == 200


def test_page_is_there_while_redis_is_away() -> None:
    app = make_app([Board("arena")], redis_url="redis://127.0.0.1:1/0")
    page = app.test_client().get("/v1/board/arena")
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert "can’t be read now" in page.text
    assert '<live-leaderboard level="1" board="arena"' in page.text


def test_page_is_read_by_who_may_read() -> None:
    app = game(tokens={"read": ["look"]})
    refused = app.test_client().get("/v1/board/arena")
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, 'Bearer realm="leaderboard"')
    assert "<code>unauthorized</code>" in refused.text
    allowed = app.test_client().get("/v1/board/arena", headers={"Authorization": "Bearer look"})
    assert (allowed.status_code, allowed.headers["Cache-Control"]) == (200, "private, max-age=5")


def test_a_strange_host_does_not_get_into_the_policy(client: FlaskClient) -> None:
    page = client.get("/v1/board/arena", headers={"Host": "x;script-src *"})
    assert "script-src *" not in page.headers.get("Content-Security-Policy", "")


def test_files_are_kept_for_ever_under_an_address_of_their_own(client: FlaskClient) -> None:
    entry = client.get("/v1/live-leaderboard.js")
    assert entry.mimetype == "text/javascript"
    named = re.findall(rf'"\./static/{version()}/(\w+\.js)";', entry.text)
    assert sorted([*named, "page.js"]) == sorted(file.name for file in FOLDER.glob("*.js"))
    assert entry.text.endswith(f'export * from "./static/{version()}/element.js";\n')
    assert entry.headers["Cache-Control"] == "public, max-age=300"
    for file in FOLDER.iterdir():
        told = client.get(f"/v1/static/{version()}/{file.name}")
        assert told.data == file.read_bytes()
        assert told.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert told.headers["X-Content-Type-Options"] == "nosniff"
        kept = client.get(f"/v1/static/{version()}/{file.name}", headers={"If-None-Match": told.headers["ETag"]})
        assert kept.status_code == 304
    assert client.get("/v1/static/older/element.js").headers["Cache-Control"] == "public, no-cache"


def test_no_other_file_is_served(client: FlaskClient) -> None:
    for name in ("nope.js", "..%2fdocs.css", "..%2f..%2fpages.py", "docs.css", ""):
        assert client.get(f"/v1/static/{version()}/{name}").status_code in (404, 405)


@pytest.mark.parametrize("path", ["board/arena", "live-leaderboard.js", "static/any/element.js"])
def test_other_methods_are_refused_as_by_the_api(path: str) -> None:
    app = game()
    app.register_error_handler(405, lambda error: ("the host's", 405))
    refused = app.test_client().post(f"/v1/{path}")
    assert (refused.status_code, refused.mimetype, refused.json["code"]) == (
        405,
        "application/problem+json",
        "method_not_allowed",
    )
    assert app.test_client().options(f"/v1/{path}").headers["Allow"] == "GET, OPTIONS"
    assert app.test_client().head(f"/v1/{path}").status_code == 200


def test_addresses_follow_the_prefix() -> None:
    app = game(url_prefix="/api/ranks")
    page = app.test_client().get("/api/ranks/board/arena", environ_overrides={"SCRIPT_NAME": "/game"})
    assert re.findall(r'(?:src|href)="([^"]+)"', page.text) == [
        f"/game/api/ranks/static/{version()}/icon.svg",
        f"/game/api/ranks/static/{version()}/page.css",
        "/game/api/ranks/live-leaderboard.js",
        f"/game/api/ranks/static/{version()}/page.js",
    ]


def test_pages_can_be_switched_off() -> None:
    client = game(pages=False).test_client()
    for path in ("board/arena", "live-leaderboard.js", f"static/{version()}/element.js"):
        assert client.get(f"/v1/{path}").status_code == 404


def test_page_asks_where_nothing_can_be_followed() -> None:
    page = game(live=False).test_client().get("/v1/board/arena")
    assert '<live-leaderboard level="1" board="arena" heading="Arena" live="poll">' in page.text


def test_modules_are_small_and_take_names_as_text_only() -> None:
    modules = sorted(FOLDER.glob("*.js"))
    assert len(modules) > 5
    for module in modules:
        source = module.read_text("utf-8")
        assert source.count("\n") <= 300
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", source) == []
        assert re.findall(r"from \"(?!\./)", source) == []
