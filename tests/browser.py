"""A real browser for the tests, Debian's chromium driven by Playwright; and a live server that is played by hand."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, WebSocketRoute, expect, sync_playwright
from werkzeug.serving import make_server

from tests.servers import STRICT

SCREENSHOTS = Path(__file__).parent / "screenshots"
PATIENCE_MS = 20_000
_QUIET = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync")
_TELL_OF_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""


def launch() -> Iterator[Browser]:
    """Start a browser, and end it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        message = "chromium is not here: install your system's chromium"
        pytest.fail(message) if STRICT else pytest.skip(message)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(_QUIET), timeout=60_000)
        yield browser
        browser.close()


class Tab:
    """A page whose every complaint is kept: errors of the console, of scripts, and of the content security policy."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(_TELL_OF_VIOLATIONS)
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda told: self.complaints.append(told.text) if told.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def wait(self, check: Callable[[], Any]) -> Any:
        """Give the first true answer; the page goes on meanwhile."""
        for _ in range(PATIENCE_MS // 20):
            if found := check():
                return found
            self.page.wait_for_timeout(20)
        raise AssertionError(f"it did not come about; complaints: {self.complaints}")

    def names(self) -> list[str]:
        return self.page.locator(".top .name").all_text_contents()

    def shoot(self, name: str) -> None:
        """Keep what is seen as a picture."""
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def serious_problems(self) -> list[str]:
        """List what axe finds that keeps people out."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{rule['id']}: {node['html']} {node['failureSummary']}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]


@contextmanager
def open_tab(browser: Browser, **how: Any) -> Iterator[Tab]:
    """Open a tab of its own; nothing in it may have complained at the end."""
    context = browser.new_context(**{"reduced_motion": "reduce", "viewport": {"width": 900, "height": 900}, **how})
    try:
        tab = Tab(context)
        yield tab
        assert not tab.complaints, tab.complaints
    finally:
        context.close()


@contextmanager
def served(app: Flask) -> Iterator[str]:
    """Serve an app from a thread; gives its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class LiveScript:
    """The server of the live protocol as a test plays it: what came, and what to say."""

    def __init__(self, page: Page) -> None:
        self.sockets: list[WebSocketRoute] = []
        self.heard: list[dict[str, Any]] = []
        self.welcome: Callable[[dict[str, Any]], None] = lambda message: None
        page.route_web_socket(re.compile(r"/v1/live(\?|$)"), self._meet)

    def tell(self, **message: Any) -> None:
        self.sockets[-1].send(json.dumps(message))

    def subscriptions(self) -> list[dict[str, Any]]:
        return [message for message in self.heard if message["type"] == "subscribe"]

    def _meet(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        socket.on_message(self._hear)

    def _hear(self, text: str | bytes) -> None:
        message = json.loads(text)
        self.heard.append(message)
        if message["type"] == "subscribe":
            self.welcome(message)


def snapshot(subscription: dict[str, Any], entries: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Give the message that answers a subscription with a whole ranking."""
    usual = {
        "type": "snapshot",
        "reason": "subscribed",
        "id": subscription["id"],
        "board": "arena",
        "window": "all",
        "period": "all",
    }
    ranking = {"segment": None, "ranking": "sparse", "seq": 1, "sum": "one", "total": len(entries), "entries": entries}
    return {**usual, **ranking, **more}


def entry(rank: int, user_id: str, score: float, user_name: str | None = None) -> dict[str, Any]:
    return {"rank": rank, "user_id": user_id, "user_name": user_name, "score": score}
