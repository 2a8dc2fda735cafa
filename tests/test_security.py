"""Who may call: tokens, the host's own login, signatures; and what strangers send."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import pytest
from flask import Flask, session
from flask.testing import FlaskClient
from flask_login import LoginManager, UserMixin, current_user, login_user

from flask_leaderboard import current_leaderboards
from flask_leaderboard.web.service import service_of
from flask_leaderboard.web.signatures import sign
from tests.conftest import SetClock
from tests.web import SUBMIT, arena, code, make_app

BODY = {"user_id": "ann", "points": 1}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_without_tokens_reads_are_public_and_writes_closed() -> None:
    client = make_app([arena()], tokens={}).test_client()
    assert client.get("/v1/scores").status_code == 200
    for answer in (client.post("/v1/scores", json=BODY), client.post("/v1/scores", json=BODY, headers=bearer("x"))):
        assert code(answer) == (403, "forbidden")
        assert "LEADERBOARD_TOKENS" in answer.json["detail"]
    assert code(client.delete("/v1/users/ann")) == (403, "forbidden")
    assert code(client.put("/v1/users/ann", json={"user_name": "Ann"})) == (403, "forbidden")


def test_host_code_submits_without_tokens() -> None:
    app = make_app([arena()], tokens={})
    with app.app_context():
        assert current_leaderboards["arena"].submit("ann", 1)["all"].new_rank == 1


@pytest.mark.parametrize(
    ("token", "reads", "submits", "erases"),
    [("reader", 200, 403, 403), ("game", 200, 200, 403), ("boss", 200, 200, 200), ("nobody", 401, 401, 401), ("", 401, 401, 401)],
)
def test_roles(token: str, reads: int, submits: int, erases: int) -> None:
    tokens = {"read": ["reader"], "submit": ["old", "game"], "admin": [f"sha256:{hashlib.sha256(b'boss').hexdigest()}"]}
    client = make_app([arena()], tokens=tokens).test_client()
    assert client.get("/v1/scores", headers=bearer(token)).status_code == reads
    assert client.post("/v1/scores", json=BODY, headers=bearer(token)).status_code == submits
    assert client.delete("/v1/users/ann", headers=bearer(token)).status_code == erases


def test_digest_of_a_token_is_no_token() -> None:
    digest = f"sha256:{hashlib.sha256(b'boss').hexdigest()}"
    client = make_app([arena()], tokens={"submit": [digest]}).test_client()
    assert client.post("/v1/scores", json=BODY, headers=bearer(digest)).status_code == 401
    assert client.post("/v1/scores", json=BODY, headers=bearer("boss")).status_code == 200


@pytest.mark.parametrize(
    "header", ["s3cret", "Basic s3cret", "Bearer", "Bearer  ", "bearer s3cret", "Bearer s3cret x", "Bearer é"]
)
def test_forms_of_the_header(header: str) -> None:
    response = make_app([arena()]).test_client().post("/v1/scores", json=BODY, headers={"Authorization": header})
    assert response.status_code == (200 if header == "bearer s3cret" else 401)
    if response.status_code == 401:
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_private_reads_are_kept_by_no_shared_cache() -> None:
    client = make_app([arena()], tokens={"read": ["r"]}, cache_ms=1000).test_client()
    assert client.get("/v1/scores", headers=bearer("r")).headers["Cache-Control"] == "private, max-age=5"
    assert client.get("/v1/scores").status_code == 401
    assert client.get("/v1/health").status_code == 200


def test_host_login_decides(clock: SetClock) -> None:
    class Player(UserMixin):
        def __init__(self, name: str) -> None:
            self.id = name

    def authorize(role: str, user_id: str | None) -> bool | None:
        if role == "read":
            return user_id is None or (current_user.is_authenticated and current_user.get_id() == user_id)
        return None

    app = make_app([arena()], authorize=authorize)
    app.secret_key = "x"
    manager = LoginManager(app)
    manager.user_loader(Player)
    app.add_url_rule("/login/<name>", "login", lambda name: str(login_user(Player(name))))
    client = app.test_client()
    client.post("/v1/scores", json=BODY, headers=SUBMIT)
    assert client.get("/v1/scores").headers["Cache-Control"].startswith("private")
    assert code(client.get("/v1/scores/ann")) == (403, "forbidden")
    client.get("/login/ann")
    assert client.get("/v1/scores/ann").status_code == 200
    assert code(client.get("/v1/scores/bob")) == (403, "forbidden")
    assert code(client.post("/v1/scores", json=BODY)) == (401, "unauthorized")


def test_host_check_may_let_players_in() -> None:
    app = make_app([arena()], tokens={}, authorize=lambda role, user_id: "player" in session)
    app.secret_key = "x"
    client = app.test_client()
    assert code(client.post("/v1/scores", json=BODY)) == (403, "forbidden")
    with client.session_transaction() as open_session:
        open_session["player"] = "ann"
    assert client.post("/v1/scores", json=BODY).status_code == 200


@pytest.mark.parametrize("answer", [1, "no", [], object()])
def test_host_check_must_say_yes_or_no(answer: Any) -> None:
    client = make_app([arena()], authorize=lambda role, user_id: answer).test_client()
    response = FlaskClient(client.application).delete("/v1/users/ann")
    assert (response.status_code, response.json["code"]) == (500, "configuration")


def test_host_check_that_has_no_opinion_leaves_reads_public() -> None:
    client = make_app([arena()], authorize=lambda role, user_id: None).test_client()
    assert client.get("/v1/scores").status_code == 200
    assert code(client.post("/v1/scores", json=BODY)) == (401, "unauthorized")


@pytest.fixture
def signed_app(clock: SetClock) -> Flask:
    return make_app([arena()], clock=clock, signature_secrets=["new", "old"], signature_window_s=60)


def post_signed(client: FlaskClient, clock: SetClock, secret: str = "new", shift_ms: int = 0, **changed: Any) -> Any:
    body = json.dumps(BODY).encode()
    parts = {"timestamp": str(clock.now // 1000 + shift_ms), "method": "POST", "path": "/v1/scores", "body": body, **changed}
    headers = {
        "Leaderboard-Timestamp": str(clock.now // 1000 + shift_ms),
        "Leaderboard-Signature": sign(secret, **parts),
        **SUBMIT,
    }
    return client.post("/v1/scores", data=body, headers=headers, content_type="application/json")


def test_signature_is_asked_for_beside_the_token(signed_app: Flask, clock: SetClock) -> None:
    client = signed_app.test_client()
    assert code(client.post("/v1/scores", json=BODY, headers=SUBMIT)) == (401, "unauthorized")
    assert client.get("/v1/scores").status_code == 200
    assert post_signed(client, clock).status_code == 200
    assert post_signed(client, clock, "old", 1).status_code == 200


@pytest.mark.parametrize(
    "changed",
    [{"secret": "wrong"}, {"method": "PUT"}, {"path": "/v1/scores?x=1"}, {"body": b"{}"}, {"timestamp": "0"}],
    ids=lambda changed: next(iter(changed)),
)
def test_signature_covers_all_of_the_request(signed_app: Flask, clock: SetClock, changed: dict[str, Any]) -> None:
    client = signed_app.test_client()
    assert code(post_signed(client, clock, **changed)) == (401, "unauthorized")
    assert client.get("/v1/scores").json["total"] == 0


def test_signature_covers_the_query(signed_app: Flask, clock: SetClock) -> None:
    timestamp = str(clock.now // 1000)
    headers = {
        "Leaderboard-Timestamp": timestamp,
        "Leaderboard-Signature": sign("new", timestamp, "DELETE", "/v1/users/a?x=1", b""),
    }
    client = signed_app.test_client()
    assert code(client.delete("/v1/users/a?x=1", headers={**headers, **bearer("r00t")})) == (400, "bad_input")


@pytest.mark.parametrize(("user", "path"), [("a b", "a%20b"), ("a?b=1", "a%3Fb%3D1"), ("ö", "%C3%B6"), ("a:b", "a%3Ab")])
def test_signed_path_is_percent_encoded(signed_app: Flask, clock: SetClock, user: str, path: str) -> None:
    timestamp = str(clock.now // 1000)
    signature = sign("new", timestamp, "DELETE", f"/v1/users/{path}", b"")
    headers = {"Leaderboard-Timestamp": timestamp, "Leaderboard-Signature": signature, **bearer("r00t")}
    assert signed_app.test_client().delete(f"/v1/users/{path}", headers=headers).json["user_id"] == user


def test_strange_bytes_in_a_signed_query(signed_app: Flask, clock: SetClock) -> None:
    timestamp = str(clock.now // 1000)
    headers = {"Leaderboard-Timestamp": timestamp, "Leaderboard-Signature": "x", **SUBMIT}
    environ = {"QUERY_STRING": "\xff"}
    response = signed_app.test_client().post("/v1/scores", json=BODY, headers=headers, environ_overrides=environ)
    assert code(response) == (401, "unauthorized")


def test_signature_is_good_for_a_while_and_once(signed_app: Flask, clock: SetClock) -> None:
    client = signed_app.test_client()
    for shift in (-60_001, 60_001):
        assert code(post_signed(client, clock, shift_ms=shift)) == (401, "unauthorized")
    assert post_signed(client, clock, shift_ms=-60_000).status_code == 200
    assert code(post_signed(client, clock, shift_ms=-60_000)) == (403, "replayed")
    assert client.get("/v1/scores/ann").json["user_info"]["score"] == 1


@pytest.mark.parametrize("timestamp", ["", "x", "-5", "1e3", "٣", "9" * 400])
def test_strange_timestamps(signed_app: Flask, timestamp: str) -> None:
    headers = {"Leaderboard-Timestamp": timestamp.encode().decode("latin-1"), "Leaderboard-Signature": "x", **SUBMIT}
    assert code(signed_app.test_client().post("/v1/scores", json=BODY, headers=headers)) == (401, "unauthorized")


@pytest.fixture
def client() -> FlaskClient:
    return make_app([arena()]).test_client()


def send(client: FlaskClient, body: bytes, content_type: str = "application/json", path: str = "/v1/scores", **more: Any) -> Any:
    return client.post(path, data=body, headers=SUBMIT, content_type=content_type, **more)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"user_id": "a", "points": NaN}',
        b'{"user_id": "a", "points": Infinity}',
        b'{"user_id": "a", "points": -Infinity}',
        b'{"user_id": "a", "points": 1e999}',
        b'{"user_id": "a", "points": 1, "points": 2}',
        b'{"user_id": "a", "points": 1e-99999999999999999999}',
        b'{"user_id": "a", "points": 0e99999999999999999999}',
        b'{"user_id": "a", "points": 9007199254740993.0}',
        b'{"user_id": "a", "points": 0.10000000000000001}',
        b'{"user_id": "a", "points": ' + b"9" * 5000 + b"}",
        b'{"user_id": "a", "points": 0.' + b"1" * 5000 + b"}",
        b'{"user_id": "\\ud800", "points": 1}',
        b'{"user_id": "a", "points": 1, "user_name": "\\ud800"}',
        b'{"user_id": "a\\u0000", "points": 1}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"user_id": "a", "points": {"$gt": 0}}',
        b'{"user_id": {"a": 1}, "points": 1}',
    ],
    ids=lambda body: repr(body[:40]),
)
def test_hostile_bodies_are_refused_and_change_nothing(client: FlaskClient, body: bytes) -> None:
    response = send(client, body)
    assert response.status_code == 400
    assert response.json["code"] in ("bad_input", "bad_points", "bad_id")
    assert "sys." not in response.text
    assert client.get("/v1/scores").json["total"] == 0


def test_doubled_name_is_found_in_no_time(client: FlaskClient) -> None:
    names = [f'"{number}":1' for number in range(60_000)]
    body = ("{" + ",".join([*names, names[-1]]) + "}").encode()
    started = time.process_time()
    assert code(client.post("/v1/scores/query", data=body, content_type="application/json")) == (400, "bad_input")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("query", ["min=1e-99999999999999999999", "min=0e99999999999999999999", "min=1٢", f"max={'9' * 321}"])
def test_numbers_beyond_all_bounds(client: FlaskClient, query: str) -> None:
    assert client.get(f"/v1/scores?{query}").status_code == 400
    assert client.get(f"/v1/boards/arena?percentile={query.partition('=')[2]}").status_code == 400


def test_deep_metadata_is_refused(client: FlaskClient) -> None:
    for depth in (20, 900, 979, 1020):
        body = b'{"metadata":{"a":' + b"[" * depth + b"]" * depth + b"}}"
        assert client.put("/v1/users/a", data=body, headers=SUBMIT, content_type="application/json").status_code == 400
    assert client.get("/v1/users/a").status_code == 404


def test_large_bodies_are_refused(client: FlaskClient) -> None:
    assert code(send(client, b" " * 10_000_000)) == (413, "body_too_large")
    assert code(send(client, b" " * 1_048_577)) == (413, "body_too_large")
    assert code(send(client, b"{}" + b" " * 1_048_000)) == (400, "bad_input")


def test_body_without_a_length_is_limited_too(client: FlaskClient) -> None:
    class Endless:
        def __init__(self) -> None:
            self.given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += 65536
            assert self.given < 4_000_000
            return b" " * 65536

        readline = read

    environ = {"wsgi.input": Endless(), "wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}
    response = client.post("/v1/scores", headers=SUBMIT, content_type="application/json", environ_overrides=environ)
    assert code(response) == (413, "body_too_large")


def test_other_media_types_are_refused(client: FlaskClient) -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"):
        assert code(send(client, b"{}", content_type)) == (415, "unsupported_media_type")
    body = json.dumps(BODY).encode()
    assert send(client, body, "application/json; charset=utf-8").status_code == 200


def test_flood_of_headers_and_parameters(client: FlaskClient) -> None:
    headers = {f"X-{number}": "y" * 100 for number in range(500)}
    assert client.get("/v1/scores", headers=headers).status_code == 200
    query = "&".join(f"x{number}=1" for number in range(1000))
    assert code(client.get(f"/v1/scores?{query}")) == (400, "bad_input")
    assert code(client.get(f"/v1/scores?cursor={'x' * 20_000}")) == (400, "bad_cursor")
    assert code(client.get(f"/v1/scores?{'segment=country%3D' + 'x' * 10_000}")) == (400, "bad_id")


@pytest.mark.parametrize("path", ["%00", "%ff", "%0a", "a%2fb", "%e2%80", "%c2%85"])
def test_strange_paths(client: FlaskClient, path: str) -> None:
    assert client.get(f"/v1/scores/{path}").status_code in (400, 404)
    assert client.get(f"/v1/boards/{path}").status_code == 404


def test_body_of_a_read_is_limited(client: FlaskClient) -> None:
    assert code(client.get("/v1/scores", data=b"x" * 2_000_000)) == (413, "body_too_large")


def test_cursor_secret_is_shared_by_processes_without_a_secret_key() -> None:
    apps = [make_app([arena()], redis_url="memory://cursor-secret") for _ in range(2)]
    with apps[0].app_context():
        for user in ("ann", "bob"):
            current_leaderboards["arena"].submit(user, 1)
    cursor = apps[0].test_client().get("/v1/scores?limit=1").json["cursor"]
    assert apps[1].test_client().get(f"/v1/scores?limit=1&cursor={cursor}").json["count"] == 1


def test_cursors_outlive_a_change_of_the_secret_key() -> None:
    app = make_app([arena()])
    app.secret_key = "old"
    with app.app_context():
        for user in ("ann", "bob"):
            current_leaderboards["arena"].submit(user, 1)
    client = app.test_client()
    cursor = client.get("/v1/scores?limit=1").json["cursor"]
    app.secret_key, app.config["SECRET_KEY_FALLBACKS"] = "new", ["old"]
    assert client.get(f"/v1/scores?limit=1&cursor={cursor}").json["count"] == 1
    app.config["SECRET_KEY_FALLBACKS"] = []
    assert code(client.get(f"/v1/scores?limit=1&cursor={cursor}")) == (400, "bad_cursor")


def test_wrong_data_in_redis_is_told_to_the_log_only(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    service = service_of(client.application)
    service.hub.caller.client.set("lb1:{arena}:all:all", "not ours")
    response = FlaskClient(client.application).get("/v1/scores")
    assert (response.status_code, response.json["code"]) == (500, "protocol")
    assert "WRONGTYPE" not in response.text
    assert "WRONGTYPE" in caplog.text
