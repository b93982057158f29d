"""Two hosts, as network namespaces with a cable between them: what they send is what is counted."""

import json
import os
import shutil
import subprocess
import sys
import uuid

import pytest

from arcvec.graph.files import save_graph
from tests.parallel.processes import PROJECT
from tests.parallel.tasks import make_graph

ADDRESSES = ("10.213.77.1", "10.213.77.2")


@pytest.fixture
def hosts():
    """Give the names of two namespaces, each with one end of a cable, called `cable`."""
    if not shutil.which("ip"):
        pytest.skip("no iproute2: hosts cannot be simulated")
    names = [f"arcvec-{uuid.uuid4().hex[:8]}" for _ in ADDRESSES]

    def ip(*arguments):
        return subprocess.run(["ip", *arguments], capture_output=True, text=True)

    made = ip("netns", "add", names[0])
    if made.returncode:
        pytest.skip(f"no right to make network namespaces: {made.stderr.strip()}")
    try:
        steps = [
            ("netns", "add", names[1]),
            ("-n", names[0], "link", "add", "cable", "type", "veth", "peer", "name", "other"),
            ("-n", names[0], "link", "set", "other", "netns", names[1], "name", "cable"),
        ]
        for name, address in zip(names, ADDRESSES, strict=True):
            steps += [
                ("-n", name, "address", "add", f"{address}/24", "dev", "cable"),
                ("-n", name, "link", "set", "cable", "up"),
                ("-n", name, "link", "set", "lo", "up"),
            ]
        for step in steps:
            done = ip(*step)
            if done.returncode:
                pytest.skip(f"ip {' '.join(step)}: {done.stderr.strip()}")
        yield names
    finally:
        for name in names:
            ip("netns", "delete", name)


def sent_over_cable(host):
    path = "/sys/class/net/cable/statistics/tx_bytes"
    command = ["ip", "netns", "exec", host, "cat", path]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.slow
def test_hosts_send_what_is_counted(hosts, tmp_path):
    graph = tmp_path / "graph"
    save_graph(make_graph(scale=13), graph)
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT / "src"),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "cable",
    }
    processes = []
    for rank, (host, address) in enumerate(zip(hosts, ADDRESSES, strict=True)):
        torchrun = [
            *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "2"),
            *("--nproc-per-node", "1", "--node-rank", str(rank), "--local-addr", address),
            *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESSES[0]}:29517"),
            *("--rdzv-id", "two-hosts", "--rdzv-conf", f"is_host={int(rank == 0)}"),
        ]
        work = [PROJECT / "benchmarks" / "scaleout_worker.py", graph, tmp_path, "--steps", "40"]
        command = ["ip", "netns", "exec", host, *torchrun, *map(str, work)]
        processes.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    answers = [process.communicate(timeout=400) for process in processes]
    for process, (_, error) in zip(processes, answers, strict=True):
        assert process.returncode == 0, error[-3000:]
    counted = sum(json.loads(printed.splitlines()[-1])["bytes of all"] for printed, _ in answers)
    measured = sum(sent_over_cable(host) for host in hosts)
    assert measured == pytest.approx(counted, rel=0.15)
