"""Graphs that papers measure on, by name: pinned by size and SHA-256, whoever keeps the files."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Dataset:
    """A graph as a gzipped edge list.

    Attributes:
        num_nodes, num_edges: as `arcvec ingest` counts them, without self-loops.
        size: bytes of the file.
        sha256: of the file, in hexadecimal digits.
    """

    name: str
    directed: bool
    num_nodes: int
    num_edges: int
    size: int
    sha256: str

    @property
    def file(self) -> str:
        """The name of the file, in a mirror and wherever it is put."""
        return f"{self.name}.txt.gz"

    def is_at(self, path: Path) -> bool:
        """Tell whether a path is this very file."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


_KNOWN = (
    Dataset(
        name="wiki-Vote",
        directed=True,
        num_nodes=7_115,
        num_edges=103_689,
        size=285_412,
        sha256="0d0110e04ef8c976900a319304ca674202588e184ebb4691571bfc9f062ff3a3",
    ),
    Dataset(
        name="soc-Epinions1",
        directed=True,
        num_nodes=75_879,
        num_edges=508_837,
        size=1_595_355,
        sha256="5707d9475b22e19c6e450f41696a7378852d07f3fca976ab7936ec8eb6670005",
    ),
    Dataset(
        name="ca-HepTh",
        directed=False,
        num_nodes=9_877,
        num_edges=25_973,
        size=202_149,
        sha256="f1489277c46b6f9ddcbc329c21a061f03d5c214fad0aa2c059de5ec4a7361adb",
    ),
    Dataset(
        name="ca-AstroPh",
        directed=False,
        num_nodes=18_772,
        num_edges=198_050,
        size=1_103_282,
        sha256="019af228b391bde9a35921b5f867f71d06683fb4eb31458b26539d84b05b96d7",
    ),
    Dataset(
        name="ego-Facebook",
        directed=False,
        num_nodes=4_039,
        num_edges=88_234,
        size=223_064,
        sha256="e2f423b9c30f68beee772d1a55eaac022bb5090a7f7dc8c47578bfbb07228360",
    ),
    Dataset(
        name="ppi",
        directed=False,
        num_nodes=3_890,
        num_edges=37_845,
        size=110_839,
        sha256="a02544b2e781d9cc42a3925a37bdddfdb56c9ce7310412bb1833c38a4e86084d",
    ),
    Dataset(
        name="cnr-2000",
        directed=True,
        num_nodes=325_557,
        num_edges=3_128_710,
        size=7_561_439,
        sha256="7a3f3ab6df7ff32c6391d46eab7bddd07be4a6f0e2486283e9e13f0826189880",
    ),
)
CATALOGUE: Mapping[str, Dataset] = {dataset.name: dataset for dataset in _KNOWN}


def find_dataset(name: str, catalogue: Mapping[str, Dataset] = CATALOGUE) -> Dataset:
    """Return the dataset of that name, or say which names are close."""
    if name in catalogue:
        return catalogue[name]
    lower = {known.lower(): known for known in catalogue}
    close = [lower[text] for text in difflib.get_close_matches(name.lower(), lower, n=2)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(catalogue)}"
    raise ValueError(f'no dataset is called "{name}"; {hint}')
