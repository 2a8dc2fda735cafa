"""Every endpoint and every error of the REST API, on memory://, embedded:// and a Redis server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import Schema, ValidationError

from flask_leaderboard.rules.instants import DAY, to_datetime
from flask_leaderboard.web.schemas import SubmissionSchema
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.servers import Fake, Server
from tests.web import ADMIN, SUBMIT, arena, code, make_app, seasonal

Backend = Callable[[str], Server | Fake]


@pytest.fixture(params=["memory", "embedded", "redis70"])
def redis_url(request: pytest.FixtureRequest, backends: Backend, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "memory":
        return "memory://"
    if request.param == "embedded":
        folder: Path = request.getfixturevalue("embedded_folder")
        return f"embedded://{folder}"
    server = backends("redis70")
    assert isinstance(server, Server)
    return f"unix://{server.socket}"


@pytest.fixture(scope="module")
def embedded_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedded")


@pytest.fixture
def app(redis_url: str, clock: SetClock) -> Iterator[Flask]:
    app = make_app([arena(), seasonal()], clock=clock, redis_url=redis_url)
    hub = service_of(app).hub
    hub.caller.client.flushall()
    yield app
    hub.close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def submit(client: FlaskClient, user_id: Any, points: Any, **fields: Any) -> Any:
    return client.post("/v1/scores", json={"user_id": user_id, "points": points, **fields}, headers=SUBMIT)


def test_submit_gives_a_receipt(client: FlaskClient) -> None:
    submit(client, "bob", 20)
    told = submit(client, "mary", 10, segments={"country": "NL"}, user_name="Mary").json
    assert (told["board"], told["user_id"], told["duplicate"], told["pending"], told["number"]) == (
        "arena",
        "mary",
        False,
        False,
        2,
    )
    labels = [(change["window"], change["segment"]) for change in told["changes"]]
    assert labels == [(window, cut) for cut in (None, "country=NL") for window in ("all", "daily", "weekly")]
    first = told["changes"][0]
    assert (first["old_score"], first["new_score"], first["old_rank"], first["new_rank"], first["changed"]) == (
        None,
        10,
        None,
        2,
        True,
    )
    again = submit(client, "mary", 15).json["changes"][0]
    assert (again["old_score"], again["new_score"], again["old_rank"], again["new_rank"]) == (10, 25, 2, 1)


def test_submit_again_with_its_id_changes_nothing(client: FlaskClient) -> None:
    assert submit(client, "mary", 10, submission_id="m1").json["duplicate"] is False
    again = submit(client, "mary", 10, submission_id="m1").json
    assert (again["duplicate"], again["changes"][0]["new_score"], again["changes"][0]["changed"]) == (True, 10, False)
    assert code(submit(client, "mary", 11, submission_id="m1")) == (409, "submission_conflict")


def test_numbers_as_ids_are_taken_as_their_text(client: FlaskClient) -> None:
    assert submit(client, 42, 1, submission_id=7).json["user_id"] == "42"
    assert client.get("/v1/scores/42").json["user_info"]["score"] == 1
    assert submit(client, "42", 1, submission_id="7").json["duplicate"]


def test_late_submission_counts_where_it_still_can(client: FlaskClient, clock: SetClock) -> None:
    late = to_datetime(clock.now - DAY).isoformat()
    told = submit(client, "mary", 10, at=late).json
    assert told["closed"] == ["daily"]
    assert code(submit(client, "mary", 10, at=to_datetime(clock.now - 30 * DAY).isoformat())) == (400, "closed_period")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"points": 1.5}, "bad_points"),
        ({"points": True}, "bad_points"),
        ({"points": "5"}, "bad_points"),
        ({"points": None}, "bad_input"),
        ({"points": 2**53}, "bad_points"),
        ({"user_id": ""}, "bad_id"),
        ({"user_id": "a/b"}, "bad_id"),
        ({"user_id": "a\nb"}, "bad_id"),
        ({"user_id": "é" * 128}, "bad_id"),
        ({"user_id": 1.5}, "bad_input"),
        ({"user_id": None}, "bad_input"),
        ({"user_id": ["a"]}, "bad_input"),
        ({"submission_id": "x" * 256}, "bad_id"),
        ({"submission_id": ""}, "bad_id"),
        ({"user_name": "a\tb"}, "bad_id"),
        ({"at": "yesterday"}, "bad_input"),
        ({"at": "2050-07-02T12:00:00"}, "bad_input"),
        ({"at": "2051-01-01T00:00:00Z"}, "bad_time"),
        ({"at": 5}, "bad_input"),
        ({"segments": {"league": "gold"}}, "bad_id"),
        ({"segments": {"country": "N L"}}, "bad_id"),
        ({"segments": {"country": 5}}, "bad_input"),
        ({"segments": ["country"]}, "bad_input"),
        ({"update": "best"}, "update_not_allowed"),
        ({"update": "worst"}, "bad_input"),
        ({"points_": 5}, "bad_input"),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else value,
)
def test_bad_submission_is_refused_and_changes_nothing(client: FlaskClient, fields: dict[str, Any], expected: str) -> None:
    response = client.post("/v1/scores", json={"user_id": "mary", "points": 1, **fields}, headers=SUBMIT)
    assert code(response) == (400, expected)
    assert client.get("/v1/scores").json["total"] == 0


def test_missing_fields_are_named(client: FlaskClient) -> None:
    response = client.post("/v1/scores", json={}, headers=SUBMIT)
    assert code(response) == (400, "bad_input")
    assert set(response.json["errors"]) == {"user_id", "points"}


def test_limits_of_the_board(redis_url: str, clock: SetClock) -> None:
    app = make_app([arena(score_range=(0, 100), points_range=(-5, 50), per_minute=2)], clock=clock, redis_url=redis_url)
    service_of(app).hub.caller.client.flushall()
    client = app.test_client()
    assert code(submit(client, "mary", 51)) == (400, "bad_points")
    assert code(submit(client, "mary", -1)) == (400, "score_range")
    assert submit(client, "mary", 50, segments={"country": "NL"}).status_code == 200
    assert submit(client, "mary", 50, segments={"country": "BE"}).status_code == 200
    limited = submit(client, "mary", 0)
    assert (code(limited), limited.headers["Retry-After"]) == ((429, "rate_limited"), "60")
    assert code(submit(client, "bob", 1, segments={"country": "DE"})) == (400, "segment_limit")
    service_of(app).hub.close()


def test_unknown_board_and_window(client: FlaskClient) -> None:
    assert code(submit(client, "mary", 1, board="nope")) == (404, "unknown_board")
    for path in (
        "/v1/scores?board=nope",
        "/v1/boards/nope",
        "/v1/scores/mary?board=nope",
        "/v1/scores/mary/neighbors?board=nope",
    ):
        assert code(client.get(path)) == (404, "unknown_board")
    for query in ("window=hourly", "period=2050-13", "window=daily&period=2050-02-30", "window=weekly&period=never"):
        assert code(client.get(f"/v1/scores?{query}")) == (404, "unknown_window")


def fill(client: FlaskClient, scores: dict[str, int], **fields: Any) -> None:
    items = [{"user_id": user, "points": points, **fields} for user, points in scores.items()]
    response = client.post("/v1/scores/batch", json={"submissions": items, "ranks": False}, headers=SUBMIT)
    assert response.json["refused"] == 0, response.json


def test_batch_gives_a_result_for_each_item(client: FlaskClient) -> None:
    items = [
        {"user_id": "ann", "points": 5, "submission_id": "m1"},
        {"user_id": "ann", "points": 5, "submission_id": "m1"},
        {"user_id": "bob"},
        {"user_id": "cat", "points": 1.5},
        None,
        {"user_id": "eve", "points": 0.5, "board": "cup"},
        {"user_id": "fay", "points": 1, "board": "nope"},
        {"user_id": "ann", "points": 2},
    ]
    told = client.post("/v1/scores/batch", json={"submissions": items}, headers=SUBMIT).json
    assert [result["status"] for result in told["results"]] == [200, 200, 400, 400, 400, 200, 404, 200]
    assert (told["accepted"], told["duplicates"], told["refused"]) == (3, 1, 4)
    assert told["results"][7]["receipt"]["changes"][0]["new_score"] == 7
    assert [result["error"]["code"] for result in told["results"] if "error" in result] == [
        "bad_input",
        "bad_points",
        "bad_input",
        "unknown_board",
    ]
    assert told["results"][5]["receipt"]["closed"] == ["season"]


def test_batch_has_its_limits(client: FlaskClient) -> None:
    items = [{"user_id": f"u{number}", "points": 1} for number in range(1001)]
    assert code(client.post("/v1/scores/batch", json={"submissions": items}, headers=SUBMIT)) == (400, "bad_input")
    assert client.get("/v1/scores").json["total"] == 0
    told = client.post("/v1/scores/batch", json={"submissions": items[:1000], "ranks": False}, headers=SUBMIT).json
    assert (told["accepted"], told["results"][0]["receipt"]["changes"][0]["new_rank"]) == (1000, None)
    assert client.post("/v1/scores/batch", json={"submissions": []}, headers=SUBMIT).json["results"] == []
    assert code(client.post("/v1/scores/batch", json={"submissions": {}}, headers=SUBMIT)) == (400, "bad_input")
    assert code(client.post("/v1/scores/batch", json={"submissions": [], "ranks": "no"}, headers=SUBMIT)) == (400, "bad_input")


def test_top_has_the_shape_of_the_contract(client: FlaskClient, clock: SetClock) -> None:
    fill(client, {"ann": 30, "bob": 20, "cat": 20, "dan": 10})
    told = client.get("/v1/scores").json
    assert [(row["rank"], row["user_id"], row["user_name"], row["score"]) for row in told["data"]] == [
        (1, "ann", None, 30),
        (2, "bob", None, 20),
        (2, "cat", None, 20),
        (4, "dan", None, 10),
    ]
    assert (told["count"], told["total"], told["board"], told["window"], told["period"]) == (4, 4, "arena", "all", "all")
    assert (told["segment"], told["ranking"], told["cursor"]) == (None, "sparse", None)
    assert datetime.fromisoformat(told["as_of"]) == to_datetime(clock.now)


@pytest.mark.parametrize(("kind", "ranks"), [("unique", [1, 2, 3]), ("modified", [1, 3, 3]), ("sparse", [1, 2, 2])])
def test_ranking_kind_is_chosen_per_request(client: FlaskClient, kind: str, ranks: list[int]) -> None:
    fill(client, {"ann": 30, "bob": 20, "cat": 20})
    assert [row["rank"] for row in client.get(f"/v1/scores?ranking={kind}").json["data"]] == ranks


def test_dense_only_where_it_is_kept(client: FlaskClient) -> None:
    assert code(client.get("/v1/scores?ranking=dense")) == (400, "dense_not_kept")
    assert client.get("/v1/scores?board=cup&window=all&ranking=dense").status_code == 200
    assert code(client.get("/v1/scores?ranking=olympic")) == (400, "bad_input")


def test_pages_neither_repeat_nor_skip(client: FlaskClient) -> None:
    fill(client, {f"u{number:03}": number // 7 for number in range(100)})
    seen, cursor, pages = [], "", 0
    while pages == 0 or cursor:
        told = client.get(f"/v1/scores?limit=9&window=daily{f'&cursor={cursor}' if cursor else ''}").json
        seen += [(row["rank"], row["user_id"]) for row in told["data"]]
        cursor, pages = told["cursor"], pages + 1
        submit(client, "u000", 1000 + pages)
    expected = sorted((f"u{number:03}" for number in range(1, 100)), key=lambda user: (-(int(user[1:]) // 7), user))
    assert [user for _, user in seen if user != "u000"] == expected
    assert pages == 11


def test_pages_go_on_in_their_period_when_a_new_one_begins(client: FlaskClient, clock: SetClock) -> None:
    fill(client, {"ann": 3, "bob": 2, "cat": 1})
    first = client.get("/v1/scores?limit=2&window=daily").json
    clock.now += DAY
    second = client.get(f"/v1/scores?limit=2&window=daily&cursor={first['cursor']}").json
    assert ([row["user_id"] for row in second["data"]], second["period"]) == (["cat"], first["period"])


def test_pages_of_the_previous_period_stay_there(client: FlaskClient, clock: SetClock) -> None:
    fill(client, {"ann": 3, "bob": 2, "cat": 1})
    clock.now += DAY
    first = client.get("/v1/scores?limit=2&window=daily&period=previous").json
    clock.now += DAY // 2
    second = client.get(f"/v1/scores?limit=2&window=daily&period=previous&cursor={first['cursor']}").json
    assert ([row["user_id"] for row in second["data"]], second["period"]) == (["cat"], "2050-07-02")


def test_cursor_is_bound_to_its_ranking(client: FlaskClient, app: Flask) -> None:
    fill(client, {"ann": 3, "bob": 2})
    cursor = client.get("/v1/scores?limit=1").json["cursor"]
    for query in ("window=daily", "ranking=unique", "board=cup&window=all", "segment=country%3DNL"):
        assert code(client.get(f"/v1/scores?cursor={cursor}&{query}")) == (400, "bad_cursor")
    body, _, signature = cursor.rpartition(".")
    for forged in (body, f"{body}.x", f"{body}x.{signature}", signature, "é", "%00"):
        assert code(client.get("/v1/scores", query_string={"cursor": forged})) == (400, "bad_cursor")


def test_scores_between_two_bounds(client: FlaskClient) -> None:
    fill(client, {f"u{number}": number for number in range(10)})
    first = client.get("/v1/scores?min=3&max=6&limit=3").json
    assert [(row["rank"], row["score"]) for row in first["data"]] == [(4, 6), (5, 5), (6, 4)]
    rest = client.get(f"/v1/scores?min=3&max=6&limit=3&cursor={first['cursor']}").json
    assert ([row["score"] for row in rest["data"]], rest["cursor"], rest["total"]) == ([3], None, 10)
    for wrong in ("min=a", "min=1e999", "min=0x10", "max=%205", "min=NaN", "min=", "min=1.5"):
        assert client.get(f"/v1/scores?{wrong}").status_code == 400


@pytest.mark.parametrize(
    "query", ["limit=101", "limit=-1", "limit=1.5", "limit=ten", "limit=", "limit=1&limit=2", "page=2", "limit=٣"]
)
def test_bad_query_is_refused(client: FlaskClient, query: str) -> None:
    assert code(client.get(f"/v1/scores?{query}")) == (400, "bad_input")


def test_segments_have_rankings_of_their_own(client: FlaskClient) -> None:
    fill(client, {"ann": 30, "bob": 20}, segments={"country": "NL"})
    fill(client, {"cat": 25})
    told = client.get("/v1/scores?segment=country=NL").json
    assert ([row["user_id"] for row in told["data"]], told["segment"]) == (["ann", "bob"], "country=NL")
    assert client.get("/v1/scores/bob?segment=country=NL").json["user_info"]["rank"] == 2
    for wrong in ("country", "country=", "league=gold", "=", "country=N%20L"):
        assert code(client.get(f"/v1/scores?segment={wrong}")) == (400, "bad_id")


def test_previous_period(client: FlaskClient, clock: SetClock) -> None:
    fill(client, {"ann": 3})
    before = client.get("/v1/scores?window=daily").json["period"]
    clock.now += DAY
    assert client.get("/v1/scores?window=daily").json["total"] == 0
    told = client.get("/v1/scores?window=daily&period=previous").json
    assert (told["period"], told["total"]) == (before, 1)


def test_rank_of_a_user(client: FlaskClient) -> None:
    fill(client, {"ann": 30, "bob": 20, "cat": 20, "dan": 10})
    told = client.get("/v1/scores/cat?window=daily").json
    assert told["user_info"] == {"user_id": "cat", "user_name": None, "rank": 2, "score": 20, "percentile": 75.0}
    assert (told["board"], told["window"], told["period"]) == ("arena", "daily", "2050-07-02")
    assert client.get("/v1/scores/cat?ranking=unique").json["user_info"]["rank"] == 3
    assert code(client.get("/v1/scores/zoe")) == (404, "not_ranked")
    assert code(client.get(f"/v1/scores/{'z' * 256}")) == (400, "bad_id")


def test_rank_in_every_window(client: FlaskClient, clock: SetClock) -> None:
    submit(client, "ann", 30, user_name="Ann", at=to_datetime(clock.now - DAY).isoformat())
    told = client.get("/v1/scores/ann?window=*").json
    assert told["user_info"] == {"user_id": "ann", "user_name": "Ann"}
    assert [(row["window"], row["rank"]) for row in told["windows"]] == [("all", 1), ("weekly", 1)]
    assert code(client.get("/v1/scores/zoe?window=*")) == (404, "not_ranked")
    assert code(client.get("/v1/scores/ann?window=*&period=2050-07-01")) == (400, "bad_input")


def test_own_rank_is_never_from_before_the_own_submission(redis_url: str, clock: SetClock) -> None:
    app = make_app([arena()], clock=clock, redis_url=redis_url, cache_ms=60_000)
    service_of(app).hub.caller.client.flushall()
    client = app.test_client()
    for score in range(1, 20):
        submit(client, "ann", 1)
        assert client.get("/v1/scores/ann").json["user_info"]["score"] == score
        assert client.get("/v1/scores/ann").headers["Cache-Control"] == "private, no-cache"
    service_of(app).hub.close()


def test_neighbors(client: FlaskClient) -> None:
    fill(client, {f"u{number}": number for number in range(20)})
    told = client.get("/v1/scores/u10/neighbors?above=2&below=1").json
    assert [(row["rank"], row["user_id"]) for row in told["data"]] == [(8, "u12"), (9, "u11"), (10, "u10"), (11, "u9")]
    assert client.get("/v1/scores/u10/neighbors").json["count"] == 9
    assert code(client.get("/v1/scores/zoe/neighbors")) == (404, "not_ranked")
    assert code(client.get("/v1/scores/u10/neighbors?above=101")) == (400, "bad_input")


def test_friends(client: FlaskClient) -> None:
    fill(client, {"ann": 30, "bob": 20, "cat": 20, "dan": 10})
    told = client.post("/v1/scores/query", json={"user_ids": ["dan", "cat", "bob", "zoe", "cat"], "window": "weekly"}).json
    assert [(row["rank"], row["board_rank"], row["user_id"]) for row in told["data"]] == [
        (1, 2, "bob"),
        (1, 2, "cat"),
        (3, 4, "dan"),
    ]
    assert (told["missing"], told["window"], told["count"]) == (["zoe"], "weekly", 3)
    assert code(client.post("/v1/scores/query", json={"user_ids": [f"u{n}" for n in range(501)]})) == (400, "bad_input")
    assert code(client.post("/v1/scores/query", json={"user_ids": "ann"})) == (400, "bad_input")
    assert code(client.post("/v1/scores/query", json={"user_ids": ["a/b"]})) == (400, "bad_id")


def test_users_called_like_a_path(client: FlaskClient) -> None:
    fill(client, {"batch": 2, "query": 1})
    assert client.get("/v1/scores/batch").json["user_info"]["rank"] == 1
    assert client.get("/v1/scores/query").json["user_info"]["rank"] == 2


@pytest.mark.parametrize("user", ["{x}:y z", "🦊", "ö?#%&+", "a b", "O'Neil", "%2e", "..x"])
def test_strange_user_ids(client: FlaskClient, user: str) -> None:
    submit(client, user, 5)
    assert client.get(f"/v1/scores/{quote(user)}").json["user_info"]["user_id"] == user
    assert client.get("/v1/scores").json["data"][0]["user_id"] == user


def test_boards(client: FlaskClient, clock: SetClock) -> None:
    fill(client, {"ann": 30, "bob": 20})
    told = client.get("/v1/boards").json
    assert [board["name"] for board in told["data"]] == ["arena", "cup"]
    one = client.get("/v1/boards/arena?percentile=100").json
    daily = next(window for window in one["windows"] if window["name"] == "daily")
    assert (daily["period"], daily["periods"], daily["count"], daily["score_at_percentile"], daily["archived"]) == (
        "2050-07-02",
        ["2050-07-02", "2050-07-01"],
        2,
        30,
        [],
    )
    assert (one["update"], one["segments"], one["order"], one["mode"]) == ("increment", ["country"], "desc", "redis_only")
    assert code(client.get("/v1/boards/arena?percentile=101")) == (400, "bad_input")
    season = next(window for window in client.get("/v1/boards/cup").json["windows"] if window["name"] == "season")
    assert (season["period"], season["count"]) == (None, 0)


def test_season_window_without_a_season(client: FlaskClient, app: Flask) -> None:
    told = client.get("/v1/scores?board=cup").json
    assert (told["window"], told["period"], told["data"]) == ("season", None, [])
    assert code(client.get("/v1/scores/ann?board=cup")) == (404, "not_ranked")
    assert client.post("/v1/scores/query", json={"user_ids": ["ann"], "board": "cup"}).json["missing"] == ["ann"]
    service_of(app).hub["cup"].start_season("one")
    submit(client, "ann", 0.1, board="cup")
    assert client.get("/v1/scores/ann?board=cup").json["user_info"]["score"] == 0.1


def test_users(client: FlaskClient) -> None:
    assert code(client.get("/v1/users/ann")) == (404, "unknown_user")
    submit(client, "ann", 5, user_name="Ann")
    assert client.get("/v1/users/ann").json == {"user_id": "ann", "user_name": "Ann", "metadata": None}
    put = client.put(
        "/v1/users/ann", json={"user_name": "Änn", "metadata": {"picture": "cat.png", "n": [1, 0.5]}}, headers=SUBMIT
    )
    assert put.json == client.get("/v1/users/ann").json
    row = client.get("/v1/scores?include=metadata").json["data"][0]
    assert (row["user_name"], row["metadata"]) == ("Änn", {"picture": "cat.png", "n": [1, 0.5]})
    assert "metadata" not in client.get("/v1/scores").json["data"][0]
    assert client.get("/v1/scores/ann?include=metadata").json["user_info"]["metadata"]["picture"] == "cat.png"
    for wrong in ({}, {"user_name": "a\nb"}, {"metadata": []}, {"metadata": {"x": "y" * 2048}}, {"picture": "x"}):
        assert client.put("/v1/users/ann", json=wrong, headers=SUBMIT).status_code == 400
    exact = client.put(
        "/v1/users/ann", data=b'{"metadata": {"x": 0.1000000000000000055}}', headers=SUBMIT, content_type="application/json"
    )
    assert code(exact) == (400, "bad_input")


def test_erase_takes_a_user_off_everything(client: FlaskClient) -> None:
    submit(client, "ann", 5, user_name="Ann", segments={"country": "NL"})
    submit(client, "ann", 5, board="cup")
    assert code(client.delete("/v1/users/ann", headers=SUBMIT)) == (403, "forbidden")
    assert client.delete("/v1/users/ann", headers=ADMIN).status_code == 200
    for path in (
        "/v1/scores/ann?window=*",
        "/v1/scores/ann?segment=country=NL",
        "/v1/scores/ann?board=cup&window=all",
        "/v1/users/ann",
    ):
        assert client.get(path).status_code == 404


def test_top_can_be_kept_by_caches(client: FlaskClient, clock: SetClock) -> None:
    fill(client, {"ann": 3})
    first = client.get("/v1/scores")
    assert first.headers["Cache-Control"] == "public, max-age=5"
    clock.now += 1000
    for tag in (first.headers["ETag"], first.headers["ETag"].removeprefix("W/"), f'"x", {first.headers["ETag"]}', "*"):
        same = client.get("/v1/scores", headers={"If-None-Match": tag})
        assert (same.status_code, same.data, same.headers["ETag"]) == (304, b"", first.headers["ETag"])
    submit(client, "bob", 1)
    assert client.get("/v1/scores", headers={"If-None-Match": first.headers["ETag"]}).json["total"] == 2


def test_head_and_wrong_methods(client: FlaskClient) -> None:
    assert client.head("/v1/scores").status_code == 200
    wrong = client.patch("/v1/scores")
    assert (code(wrong), wrong.headers["Allow"]) == ((405, "method_not_allowed"), "GET, POST")
    assert code(client.delete("/v1/scores/ann")) == (405, "method_not_allowed")
    assert client.options("/v1/scores").headers["Allow"] == "GET, POST, OPTIONS"
    for path in ("health", "docs", "docs.css", "openapi.json"):
        assert client.options(f"/v1/{path}").headers["Allow"] == "GET, OPTIONS"
        assert client.head(f"/v1/{path}").status_code == 200
        wrong = client.put(f"/v1/{path}")
        assert (code(wrong), wrong.headers["Allow"]) == ((405, "method_not_allowed"), "GET")


def test_health(client: FlaskClient) -> None:
    told = client.get("/v1/health").json
    assert (told["status"], told["warnings"]) == ("ok", [])


def test_docs(client: FlaskClient) -> None:
    page = client.get("/v1/docs")
    assert page.mimetype == "text/html"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "http" not in page.text.replace("https", "http").split("<body>")[1]
    assert client.get("/v1/docs.css").mimetype == "text/css"
    assert client.get("/v1/openapi.json").json["openapi"] == "3.1.0"


def test_a_day_in_a_timezone_is_told_in_utc(client: FlaskClient, clock: SetClock) -> None:
    at = (to_datetime(clock.now) - timedelta(minutes=5)).astimezone(UTC).isoformat()
    assert submit(client, "ann", 1, at=at.replace("+00:00", "Z")).status_code == 200


@given(
    st.dictionaries(
        st.sampled_from(["user_id", "points", "board", "submission_id", "user_name", "at", "update", "segments", "other"]),
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just("best"), st.just({"country": "NL"})),
    )
)
def test_the_short_way_of_loading_gives_what_the_long_way_gives(data: dict[str, Any]) -> None:
    def outcome(load: Callable[..., Any]) -> str:
        try:
            given = load(data)
        except ValidationError as error:
            given = error.messages_dict
        return repr(sorted(given.items(), key=lambda item: item[0]))

    schema = SubmissionSchema()
    assert outcome(schema.load) == outcome(partial(Schema.load, schema))
