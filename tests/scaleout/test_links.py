import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch._C._distributed_c10d import HashStore

from arcvec.scaleout.links import Links, LostWorkerError

PATIENCE = timedelta(seconds=20)


@pytest.fixture
def connect():
    """Give a function that returns the links of each of so many workers."""
    made = []

    def links_of(count, store=None, patience=PATIENCE):
        store = store or HashStore()
        with ThreadPoolExecutor(count) as threads:
            futures = [threads.submit(Links, store, "l", r, count, patience) for r in range(count)]
        made.extend(future.result() for future in futures)
        return made

    yield links_of
    for links in made:
        links.close()


def message(sender, receiver, size):
    piece = bytes((sender * 16 + receiver + i) % 256 for i in range(999))
    return (piece * -(-size // len(piece)))[:size]


@pytest.mark.parametrize("size", [1, 5000, 20_000_000], ids=str)
def test_each_worker_gets_what_the_others_have_for_it(connect, size):
    count = 3
    links = connect(count)

    def exchange(me):
        sizes = [[size * (1 + (a + b) % 2) * (b != 0) for b in range(count)] for a in range(count)]
        sent = [message(me, peer, sizes[me][peer]) for peer in range(count)]
        got = [bytearray(sizes[peer][me]) for peer in range(count)]
        links[me].exchange([memoryview(m) for m in sent], [memoryview(g) for g in got])
        for peer in set(range(count)) - {me}:
            assert got[peer] == message(peer, me, len(got[peer]))
        assert not any(got[me]), "nothing goes to oneself"
        return sum(map(len, got))

    with ThreadPoolExecutor(count) as threads:
        assert sum(threads.map(exchange, range(count))) > size


def test_a_worker_that_goes_is_missed_at_once(connect):
    first, second = connect(2)
    second.close()
    with pytest.raises(LostWorkerError, match="worker 1"):
        first.exchange([memoryview(b""), memoryview(b"x")], [memoryview(bytearray(1))] * 2)


def test_a_worker_that_keeps_silent_is_missed_in_the_end(connect):
    first, _ = connect(2, patience=timedelta(seconds=0.2))
    with pytest.raises(LostWorkerError, match="worker 1 does not answer"):
        first.exchange([memoryview(b"")] * 2, [memoryview(bytearray(1))] * 2)


def test_strangers_are_not_let_in(connect):
    store, strangers = HashStore(), []

    def knock():
        host, port, word = json.loads(store.get("l-0"))
        for said in (bytes(20), bytes.fromhex(word)[:-1] + b"?" + bytes([0, 0, 0, 1]), b""):
            stranger = socket.create_connection((host, port))
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            strangers.append(stranger)

    knocking = threading.Thread(target=knock)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(Links, store, "l", 0, 2, PATIENCE)
        knocking.start()
        knocking.join()
        assert [stranger.recv(1) for stranger in strangers] == [b""] * 3, "they are sent away"
        assert not waiting.done()
        second = Links(store, "l", 1, 2, PATIENCE)
        first = waiting.result()
        got = bytearray(2)
        thread = threading.Thread(
            target=second.exchange, args=([memoryview(b"hi")] * 2, [memoryview(b"")] * 2)
        )
        thread.start()
        first.exchange([memoryview(b"")] * 2, [memoryview(b""), memoryview(got)])
        thread.join()
    assert got == b"hi"
    for each in (first, second, *strangers):
        each.close()
