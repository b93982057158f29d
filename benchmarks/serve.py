"""Requests a second and their latencies at `arcvec serve`, with reloads under load.

python benchmarks/serve.py --seconds 30 --connections 4 8 16 --save

The load comes from the same machine, in a process of its own: as many connections as asked for,
each of which asks about a node drawn at random, waits for the answer and asks again. Nodes are
drawn uniformly, which leaves little to the server's cache.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from measure import Report, Table, command_line, example_result, run_benchmark


@dataclass
class Load:
    """What the connections saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    broken: int = 0


async def ask_until(
    end: float, address: tuple[str, int], paths: list[str], load: Load, most: int
) -> None:
    """Ask over one connection until the time is over or enough requests were made."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        while time.perf_counter() < end and len(load.seconds) < most:
            request = f"GET {random.choice(paths)} HTTP/1.1\r\nHost: {address[0]}\r\n\r\n"
            start = time.perf_counter()
            writer.write(request.encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
            await reader.readexactly(length)
            load.seconds.append(time.perf_counter() - start)
            status = head[9:12].decode()
            load.statuses[status] = load.statuses.get(status, 0) + 1
    except (OSError, asyncio.IncompleteReadError):
        load.broken += 1
    finally:
        writer.close()


async def reload_at(times: list[float], pid: int) -> None:
    """Send SIGHUP at these times."""
    for at in times:
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        os.kill(pid, signal.SIGHUP)


async def put_under_load(
    address: tuple[str, int], paths: list[str], pid: int, asked: argparse.Namespace
) -> tuple[Load, float]:
    """Return what happened under load, and how long it took."""
    load, start = Load(), time.perf_counter()
    end = start + asked.seconds
    times = [start + asked.seconds * (i + 1) / (asked.reloads + 1) for i in range(asked.reloads)]
    reloading = asyncio.create_task(reload_at(times, pid))
    await asyncio.gather(
        *(ask_until(end, address, paths, load, asked.requests) for _ in range(asked.connections))
    )
    took = time.perf_counter() - start
    await reloading
    return load, took


def read_metrics(url: str) -> dict[str, float]:
    """Return the server's own counts without labels."""
    text = urllib.request.urlopen(f"{url}/metrics", timeout=30).read().decode()
    plain = re.findall(r"^(\w+) ([\d.]+)$", text, re.MULTILINE)
    short = (name.removeprefix("arcvec_").removesuffix("_total") for name, _ in plain)
    return dict(zip(short, (float(value) for _, value in plain), strict=True))


def start_server(asked: argparse.Namespace) -> tuple[subprocess.Popen[str], str]:
    """Return the server's process and its URL."""
    command = [sys.executable, "-m", "arcvec", "serve", str(asked.result), "--port", "0"]
    command += ["--graph", str(asked.graph)] if asked.graph else []
    command += ["--cache", str(asked.cache), "--batch", str(asked.batch)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()  # type: ignore[union-attr]
    found = re.search(r"http://\S+", line)
    if found is None:
        sys.exit(f"the server did not start: {line}")
    return server, found[0]


def summarise(
    load: Load, took: float, counts: dict[str, float], asked: argparse.Namespace
) -> dict[str, object]:
    """Return the figures of a run."""
    ordered = sorted(load.seconds)
    errors = sum(count for status, count in load.statuses.items() if status != "200")
    return {
        "connections": asked.connections,
        "requests a second": len(ordered) / took,
        **{
            f"p{name}, ms": 1000 * ordered[int(len(ordered) * part)]
            for name, part in (("50", 0.5), ("95", 0.95), ("99", 0.99))
        },
        "longest, ms": 1000 * ordered[-1],
        "errors": errors + load.broken,
        "reloads": int(counts["reloads"]),
        "CPU of the server, ms a request": 1000 * counts["process_cpu_seconds"] / len(ordered),
        "nodes a batch": counts["batch_nodes"] / max(counts["batches"], 1),
        "cache hits": int(counts["cache_hits"]),
    }


def measure(asked: argparse.Namespace) -> Report:
    """Start a server for each number of connections, load it, reload it."""
    if asked.result is None:
        asked.result, asked.graph = example_result()
    names = (asked.result / "nodes.txt").read_text().splitlines()[: asked.nodes]
    paths = [f"/v1/recommend?node={quote(name, safe='')}&k={asked.k}" for name in names]
    random.seed(0)
    rows = []
    for connections in asked.connections:
        one = argparse.Namespace(**{**vars(asked), "connections": connections})
        server, url = start_server(one)
        try:
            host, port = url.removeprefix("http://").split(":")
            before = read_metrics(url)["process_cpu_seconds"]
            load, took = asyncio.run(put_under_load((host, int(port)), paths, server.pid, one))
            counts = read_metrics(url)
            counts["process_cpu_seconds"] -= before
            rows.append(summarise(load, took, counts, one))
        finally:
            server.terminate()
            server.wait(30)
    return Report(command_line(), [Table("Answers over HTTP", rows)])


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", type=Path, nargs="?", help="by default one of soc-epinions")
    parser.add_argument("--graph", type=Path, help="graph with known edges")
    parser.add_argument("--connections", type=int, nargs="+", default=[16])
    parser.add_argument("--seconds", type=float, default=20, help="a run at most so long")
    parser.add_argument("--requests", type=int, default=200_000, help="and of so many requests")
    parser.add_argument("--reloads", type=int, default=3)
    parser.add_argument("--nodes", type=int, help="ask about so many nodes only, by default all")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--cache", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=32)
    run_benchmark(parser, measure)


if __name__ == "__main__":
    main()
