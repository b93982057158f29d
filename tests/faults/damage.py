"""Files as they should not be: what is valid, with bytes flipped, cut, put in, doubled, swapped."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# What readers take for more than a byte of a name.
MARKS = (
    *(b"\n", b"\r", b"\r\n", b" ", b"\t", b",", b";", b'"', b'""', b"'", b"\\", b"#", b"% "),
    *(
        b"\x00",
        b"\x01",
        b"\x1a",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xc2\x85",
        b"\xc2\xa0",
        b"\xe2\x80\xa8",
    ),
    *(b"nan", b"-1", b"1e999", b"NULL", b"[", b"]", b"{", b"}", b"=", b"\xf0\x9f\xa6\x86"),
)


@st.composite
def damaged(draw, valid):
    """Draw the bytes of one of the valid files, damaged in up to four places."""
    data = bytearray(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(1, 8)))
        how = draw(st.sampled_from(["flip", "cut", "end", "insert", "double", "swap"]))
        if how == "flip" and start < len(data):
            data[start] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del data[start:stop]
        elif how == "end":
            del data[start:]
        elif how == "insert":
            data[start:start] = draw(st.sampled_from(MARKS) | st.binary(min_size=1, max_size=4))
        elif how == "double":
            data[start:start] = data[start:stop] * draw(st.sampled_from([1, 2, 300]))
        else:
            other = draw(st.integers(0, len(data)))
            taken, data[start:stop] = data[start:stop], data[other : other + stop - start]
            data[other : other + len(taken)] = taken
    return bytes(data)


def anything(valid):
    """Return a strategy for bytes: mostly damaged files, at times nothing that ever was one."""
    return st.one_of(damaged(valid), damaged(valid), damaged(valid), st.binary(max_size=200))


def fuzz(check, valid, times, quick, full):
    """Call `check` with hostile bytes, `times(quick, full)` times; quick runs are all alike."""
    run = settings(
        max_examples=times(quick, full),
        deadline=None,
        database=None,
        derandomize=times(True, False),
        suppress_health_check=list(HealthCheck),
    )
    run(given(anything(valid))(check))()


def refusal(path, read):
    """Return the one line in which a file is refused, or None if it is read."""
    try:
        read(path)
    except (ValueError, OSError) as error:
        message = str(error)
        assert str(path) in message
        assert "\n" not in message
        assert re.search("expected|; |unknown setting", message), message
        return message
    return None
