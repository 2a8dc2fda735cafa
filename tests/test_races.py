"""Threads and processes on the same users: nothing is lost and nothing counts twice."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, Receipt, Submission
from tests.servers import Fake, Server


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_increments_of_eight_threads_add_up(client: Redis) -> None:
    board = Board("race", windows=[AllTime(), Daily()], dense=True)
    lb = Leaderboard(board, client)

    def work(_: int) -> None:
        for i in range(200):
            lb.submit(f"u{i % 2}", 1, ranks=False)

    in_threads(8, work)
    for window in ("all", "daily"):
        assert [entry.score for entry in lb.top(window=window).entries] == [800, 800]
    assert [entry.rank for entry in lb.top(ranking="dense").entries] == [1, 1]


@pytest.mark.parametrize("order", ["desc", "asc"])
def test_racing_bests_keep_the_best(client: Redis, order: Any) -> None:
    lb = Leaderboard(Board("race", update="best", order=order), client)

    def work(seed: int) -> None:
        for user in range(60):
            lb.submit(f"u{user}", (seed * 37 + user * 11) % 101, ranks=False)

    in_threads(8, work)
    choose = max if order == "desc" else min
    expected = {f"u{user}": choose((seed * 37 + user * 11) % 101 for seed in range(8)) for user in range(60)}
    assert {entry.user_id: entry.score for entry in lb.top(100).entries} == expected


def test_one_id_from_sixteen_threads_counts_once(client: Redis) -> None:
    lb = Leaderboard(Board("race"), client)
    receipts: list[Receipt] = in_threads(16, lambda _: lb.submit("mary", 5, submission_id="match-1"))
    assert sum(not receipt.duplicate for receipt in receipts) == 1
    assert {receipt["all"].new_score for receipt in receipts} == {5}
    assert lb.count(5, 5) == 1


def hammer(socket: str, seed: int) -> None:
    lb = Leaderboard(Board("race", windows=[AllTime(), Daily()], tie_break="last"), Redis(unix_socket_path=socket))
    for _ in range(10):
        lb.submit_many([Submission(f"u{(seed + i) % 5}", 1, submission_id=f"{seed}-{i % 40}") for i in range(50)], ranks=False)


def test_processes_lose_nothing(backends: Callable[[str], Server | Fake]) -> None:
    server = backends("valkey9")
    assert isinstance(server, Server)
    server.client.flushall()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=hammer, args=(str(server.socket), seed)) for seed in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    lb = Leaderboard(Board("race", windows=[AllTime(), Daily()], tie_break="last"), server.client)
    # Fifty submissions a round carry forty ids; the ten with a used id are of the same user and points.
    assert sum(entry.score for entry in lb.top().entries) == 3 * 40
