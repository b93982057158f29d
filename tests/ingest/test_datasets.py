"""Datasets from folders and from a real https server, which may do what it likes."""

import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from arcvec import read_edges
from arcvec.cli import main
from arcvec.ingest import datasets
from arcvec.ingest.datasets import CATALOGUE, Dataset, fetch_dataset, find_dataset
from tests.cli.commands import arcvec
from tests.faults.processes import finished

CONTENT = np.random.default_rng(0).bytes(300_000)
SMALL = Dataset("small", True, 2, 1, len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
HALF = len(CONTENT) // 2
WRONG = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])


class Mirror(BaseHTTPRequestHandler):
    """Serves the folder `/KIND/` in the way of its kind; counts how often it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, _, file = self.path.lstrip("/").partition("/")
        content = self.server.files.get(file, CONTENT)
        self.server.num_asked += 1
        getattr(self, f"send_{kind.replace('-', '_')}")(content)
        self.close_connection = True

    def start(self, status, length=None, **headers):
        self.send_response(status)
        if length is not None:
            headers["Content-Length"] = length
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def send_good(self, content):
        self.start(200, len(content))
        self.wfile.write(content)

    def send_wrong(self, content):
        self.send_good(WRONG)

    def send_short(self, content):
        self.send_good(content[:HALF])

    def send_long(self, content):
        self.send_good(content + b"more")

    def send_endless(self, content):
        """Send more bytes than there are, without a word on how many come, and stay."""
        self.start(200)
        self.wfile.write(content + b"!" * 100_000)
        self.wfile.flush()
        self.server.closing.wait()

    def send_cut(self, content):
        self.start(200, len(content))
        self.wfile.write(content[:HALF])

    def send_cut_chunk(self, content):
        self.start(200, Transfer_Encoding="chunked")
        self.wfile.write(b"%x\r\n" % len(content) + content[:HALF])

    def send_chunks(self, content):
        """Send many small chunks, without a word on how many come."""
        self.start(200, Transfer_Encoding="chunked")
        for first in range(0, len(content), 1000):
            part = content[first : first + 1000]
            self.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def send_stuck(self, content):
        self.send_cut(content)
        self.wfile.flush()
        self.server.halfway.set()
        self.server.closing.wait()

    def send_missing(self, content):
        self.start(404, 0)

    def send_broken(self, content):
        self.send_response(500, "\x1b[31mred\x1b[0m")
        self.end_headers()

    def send_moved(self, content):
        self.start(302, 0, Location=self.path.replace("moved", "good"))

    def send_moved_without_end(self, content):
        self.start(302, Location=self.path.replace("moved-without-end", "good"))
        self.wfile.write(b"x" * 10_000)
        self.wfile.flush()
        self.server.closing.wait()

    def send_circle(self, content):
        self.start(302, 0, Location=self.path)

    def send_to_http(self, content):
        self.start(302, 0, Location=f"http://127.0.0.1/{self.path}")

    def send_to_file(self, content):
        self.start(302, 0, Location="file:///etc/hostname")

    def send_elsewhere(self, content):
        """Propose another name for the file."""
        self.start(200, len(content), Content_Disposition='attachment; filename="../evil"')
        self.wfile.write(content)

    def send_nothing(self, content):
        self.server.closing.wait()

    def send_noise(self, content):
        self.wfile.write(b"\x1b[31mnot HTTP\r\n\r\n")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1, signed by itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, which is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    paths = folder / "certificate.pem", folder / "key.pem"
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-out", paths[0], "-keyout", paths[1]]
    subprocess.run(["openssl", *made.split(), *names, *files], check=True, capture_output=True)
    return paths


@pytest.fixture(scope="module")
def server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads, server.block_on_close = True, False
    server.handle_error = lambda *_: None  # clients that leave in the middle
    server.address = f"https://127.0.0.1:{server.server_port}"
    server.closing, server.halfway, server.files = threading.Event(), threading.Event(), {}
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def fetch(server, certificate, tmp_path, monkeypatch):
    """Give a function that fetches the small file from one kind of mirror into `tmp_path`."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    server.num_asked = 0

    def call(kind, **options):
        return fetch_dataset(SMALL, tmp_path, f"{server.address}/{kind}", **options)

    return call


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_whole(folder):
    assert files_in(folder) == ["small.txt.gz"]
    assert (folder / "small.txt.gz").read_bytes() == CONTENT


def test_a_whole_download(fetch, server, tmp_path):
    told = []
    assert fetch("good/", progress=told.append)
    assert_whole(tmp_path)
    assert told == sorted(told)
    assert told[-1] == len(CONTENT)
    assert not fetch("missing")  # kept: nobody is asked
    assert server.num_asked == 1


@pytest.mark.parametrize("kind", ["moved", "elsewhere", "chunks"])
def test_only_the_catalogue_names_files(fetch, tmp_path, record, kind):
    assert fetch(kind)
    assert_whole(tmp_path)
    record("Checks", check=f"download, {kind}", cases=1, outcome="whole, under its own name")


REFUSED = {
    "wrong": (ValueError, r"its SHA-256 is not that of small; try another mirror"),
    "long": (ValueError, r"more than the 300,000 bytes expected"),
    "short": (ValueError, r"its SHA-256 is not that of small"),
    "endless": (ValueError, r"more than the 300,000 bytes expected"),
    "cut": (ConnectionError, r"cannot be fetched \(ChunkedEncodingError\)"),
    "cut-chunk": (ConnectionError, r"cannot be fetched \(ChunkedEncodingError\)"),
    "missing": (OSError, r"the server answered 404: it has no such file"),
    "broken": (OSError, r"the server answered 500"),
    "circle": (OSError, r"the server answered 302"),
    "to-http": (ValueError, r"leads to an address that is not https"),
    "to-file": (ValueError, r"leads to an address that is not https"),
    "noise": (ConnectionError, r"cannot be fetched \(ConnectionError\)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(fetch, server, tmp_path, record, kind):
    expected, message = REFUSED[kind]
    with pytest.raises(expected, match=message) as told:
        fetch(kind)
    address = re.escape(f"{server.address}/{kind}/small.txt.gz")
    assert re.match(address + ": [^\n\x1b]+$", str(told.value))
    assert files_in(tmp_path) == []
    assert fetch("good")
    assert_whole(tmp_path)
    record("Checks", check=f"download, {kind}", cases=1, outcome="refused")


def test_a_silent_server(fetch, tmp_path, monkeypatch, record):
    monkeypatch.setattr(datasets, "TIMEOUT", 0.3)
    for kind in ("nothing", "stuck", "moved-without-end"):
        with pytest.raises(ConnectionError, match="cannot be fetched"):
            fetch(kind)
        assert files_in(tmp_path) == []
    record("Checks", check="download, silent server", cases=3, outcome="ends in time")


def test_a_certificate_that_nobody_trusts(fetch, server, tmp_path, monkeypatch, record):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(ConnectionError, match="certificate is not trusted") as told:
        fetch("good")
    assert "\n" not in str(told.value)
    assert files_in(tmp_path) == []
    assert server.num_asked == 0
    record("Checks", check="download, untrusted certificate", cases=1, outcome="refused")


ADDRESSES = {
    "http://127.0.0.1:9/": "expected a folder or an https address; http is refused",
    "HTTP://127.0.0.1:9/": "http is refused",
    "ftp://127.0.0.1/": "ftp is refused",
    "file:///tmp": "file is refused",
    "https://127.0.0.1:9": r"cannot be fetched \(ConnectionError\)",
    "https://127.0.0.1:port": r"cannot be fetched \(InvalidURL\)",
    "https://": r"cannot be fetched \(InvalidURL\)",
    "https://a..b/": "label empty or too long",
    "https://a b/": "cannot be fetched",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_bad_addresses(tmp_path, record, address):
    with pytest.raises((OSError, ValueError), match=ADDRESSES[address]):
        fetch_dataset(SMALL, tmp_path, address)
    assert files_in(tmp_path) == []
    record("Checks", check=f"mirror {address}", cases=1, outcome="refused")


@pytest.fixture
def folder(tmp_path):
    """A local mirror."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    (folder / "small.txt.gz").write_bytes(CONTENT)
    return folder


def test_a_local_mirror(tmp_path, folder):
    out = tmp_path / "some" / "folder"
    assert fetch_dataset(SMALL, out, str(folder))
    assert_whole(out)
    assert not fetch_dataset(SMALL, out, "nowhere", overwrite=True)


@pytest.mark.parametrize("content", [WRONG, CONTENT[:HALF], CONTENT + b"more", b""])
def test_a_local_mirror_with_another_file(tmp_path, folder, content, record):
    (folder / "small.txt.gz").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"{folder}/small.txt.gz: ")):
        fetch_dataset(SMALL, tmp_path / "out", str(folder))
    assert files_in(tmp_path / "out") == []
    check = f"local mirror, {len(content)} bytes, not those known"
    record("Checks", check=check, cases=1, outcome="refused")


def test_usual_folders(tmp_path, folder, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.delenv("ARCVEC_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match=r"no small.txt.gz in .*; name a folder, .*--mirror"
    ):
        fetch_dataset(SMALL, project)
    (tmp_path / "data").mkdir()
    folder.rename(tmp_path / "data" / "raw")
    monkeypatch.setenv("ARCVEC_DATA", str(tmp_path / "data"))
    assert fetch_dataset(SMALL, project / "first")
    monkeypatch.delenv("ARCVEC_DATA")
    (tmp_path / "shared").mkdir()
    (tmp_path / "data").rename(tmp_path / "shared" / "data")
    assert fetch_dataset(SMALL, project / "second")


def test_another_file_of_that_name(tmp_path, folder, record):
    out = tmp_path / "out"
    out.mkdir()
    (out / "small.txt.gz").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match=r"exists already, and its SHA-256 .* --overwrite"):
        fetch_dataset(SMALL, out, str(folder))
    assert (out / "small.txt.gz").read_bytes() == b"mine"
    with pytest.raises(FileNotFoundError):
        fetch_dataset(SMALL, out, "nowhere", overwrite=True)
    assert (out / "small.txt.gz").read_bytes() == b"mine"
    assert fetch_dataset(SMALL, out, str(folder), overwrite=True)
    assert_whole(out)
    record("Checks", check="dataset over another file", cases=3, outcome="kept until replaced")


def test_a_full_disk(tmp_path, folder, record):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        with pytest.raises(OSError, match="no space left on the disk; make room"):
            fetch_dataset(SMALL, disk, str(folder))
        assert files_in(disk) == []
        subprocess.run([*mount[:4], "remount,size=1m", *mount[5:]], check=True)
        assert fetch_dataset(SMALL, disk, str(folder))
        assert_whole(disk)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
    record("Checks", check="dataset onto a full disk", cases=1, outcome="told; then fetched")


NAMES = {
    "wiki-vote": "did you mean wiki-Vote?",
    "soc-epinions": "did you mean soc-Epinions1?",
    "ca-Hepth": "did you mean ca-HepTh",
    "xyzzy": "known: wiki-Vote, soc-Epinions1, ",
    "../wiki-Vote": "no dataset is called",
    "../../etc/passwd": "no dataset is called",
    "/etc/passwd": "no dataset is called",
    "wiki-Vote/../ppi": "no dataset is called",
    "wiki-Vote\0": "no dataset is called",
    "": "no dataset is called",
}


def test_names_that_are_not_known(tmp_path, monkeypatch, capsys, record):
    monkeypatch.chdir(tmp_path)
    for name, message in NAMES.items():
        with pytest.raises(ValueError, match=re.escape(message)):
            find_dataset(name)
        with pytest.raises(SystemExit):
            main(["datasets", "ppi", name])
        assert message in capsys.readouterr().err
    assert files_in(tmp_path) == []
    record("Checks", check="names of datasets", cases=len(NAMES), outcome="refused")


@pytest.mark.parametrize("dataset", CATALOGUE.values(), ids=CATALOGUE)
def test_the_real_files_are_those_known(shared_data, dataset):
    path = shared_data(f"raw/{dataset.file}")
    assert dataset.is_at(path)
    if dataset.size < 1_000_000:
        graph = read_edges(path, directed=dataset.directed)
        assert (graph.num_nodes, graph.num_edges) == (dataset.num_nodes, dataset.num_edges)


def test_the_list(shared_data, tmp_path, monkeypatch, capsys):
    raw = shared_data("raw")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARCVEC_DATA", str(tmp_path))
    main(["datasets", "ppi", "-o", "data", "--mirror", str(raw), "--quiet"])
    told = capsys.readouterr()
    assert told.out == "data/ppi.txt.gz: 3,890 nodes, 37,845 edges, undirected\n"
    assert told.err == ""
    main(["datasets"])
    rows = {
        line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[3:-1]
    }
    assert rows["ppi"] == ["undirected", "3,890", "37,845", "110.8", "kB", "yes"]
    assert rows["cnr-2000"] == ["directed", "325,557", "3,128,710", "7.6", "MB", "no"]
    assert list(rows) == list(CATALOGUE)
    main(["datasets", "--json"])
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(CATALOGUE)
    assert listed["ppi"]["path"] == "data/ppi.txt.gz"
    assert listed["wiki-Vote"]["path"] is None
    assert listed["wiki-Vote"]["sha256"] == CATALOGUE["wiki-Vote"].sha256


def test_a_command_that_is_killed_leaves_nothing_in_the_way(
    shared_data, server, certificate, tmp_path, times, record
):
    """The certificate is trusted by `REQUESTS_CA_BUNDLE`, as anyone can."""
    path = shared_data("raw/ppi.txt.gz")
    server.files[path.name], server.num_asked = path.read_bytes(), 0
    trusting = {**os.environ, "REQUESTS_CA_BUNDLE": str(certificate[0])}
    kills = times(1, 10)
    for number in range(kills):
        out = tmp_path / str(number)
        server.halfway.clear()
        command = ("datasets", "ppi", "-o", out, "--mirror")
        with arcvec(*command, f"{server.address}/stuck", env=trusting) as process:
            assert server.halfway.wait(60)
            while not list(out.glob(".ppi.txt.gz.partial-*")):
                assert process.poll() is None
            process.kill()
        code, error = finished(*command, f"{server.address}/good", env=trusting)
        assert code == 0, error
        assert files_in(out) == ["ppi.txt.gz"]
        assert CATALOGUE["ppi"].is_at(out / "ppi.txt.gz")
    record("Checks", check="kill -9 of datasets", cases=kills, outcome="fetched again")
