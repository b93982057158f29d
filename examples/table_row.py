"""One row of the paper's Table 1, ppi at dim 8, on the split that its authors published.

    python examples/table_row.py [FOLDER]

Small: one model, with the walks and steps of `experiments/table1.toml --quick`, beside a baseline
that needs no training. The whole table, at full size:

    arcvec experiment experiments/table1.toml -o out
"""

import os
import sys
import tempfile
from pathlib import Path

from arcvec.cli import main
from arcvec.graph.split import is_split

PROJECT = Path(__file__).resolve().parent.parent
EXPERIMENT = f"""
name = "row"
title = "ppi at dim 8, small"
datasets = ["ppi"]
dims = [8]
paper = '{PROJECT / "experiments/paper_table1.csv"}'  # its numbers are shown beside ours

[[methods]]
label = "common neighbours"
method = "common-neighbours"

[[methods]]
label = "asymmetric deep"
method = "edge-projection"
preset = "paper"
settings.walks = {{ walks_per_node = 5, walk_length = 40 }}
settings.training = {{ steps = 150 }}
"""

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="arcvec-"))
data = Path(os.environ.get("ARCVEC_DATA", PROJECT.parent / "shared" / "data")) / "splits"
if not is_split(data / "ppi"):
    print(f"skipped: no split folder {data / 'ppi'}; set ARCVEC_DATA to the folder with splits/ppi")
    sys.exit()

(folder / "row.toml").write_text(EXPERIMENT)
main(["experiment", f"{folder / 'row.toml'}", "-o", f"{folder / 'out'}", "--data", f"{data}"])
