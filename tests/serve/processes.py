"""Real servers on the loopback, and a client that sends what it is told."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote, urlsplit


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        assert self.status >= 400, self
        assert set(self.json) == {"error"}
        return self.json["error"]


@dataclass
class Server:
    """A server that runs.

    Attributes:
        log: file with what it wrote to standard error.
    """

    process: subprocess.Popen
    url: str
    log: object

    @property
    def address(self):
        parts = urlsplit(self.url)
        return parts.hostname, parts.port

    def get(self, path, headers=None, **query):
        asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        return self.ask("GET", f"{path}?{asked}" if asked else path, headers=headers)

    def post(self, path, value, headers=None):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        headers = {"content-type": "application/json", **(headers or {})}
        return self.ask("POST", path, body, headers)

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, dict(response.headers), response.read())
        finally:
            connection.close()

    def metric(self, name):
        text = self.get("/metrics").body.decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])

    def hang_up(self):
        os.kill(self.process.pid, signal.SIGHUP)

    def logged(self):
        self.log.seek(0)
        return self.log.read()


@contextmanager
def running(folder, command, *flags, **environment):
    """Give a server started by a command; it is ended when the block is."""
    variables = {name: value for name, value in os.environ.items() if name != "ARCVEC_TOKEN"}
    with (folder / f"{command}-{os.urandom(4).hex()}.log").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "arcvec", command, *map(str, flags), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**variables, **environment},
        )
        try:
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            server = Server(process, found[0] if found else "", log)
            assert found, server.logged()
            yield server
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()
