"""The demonstration: the import graph of Python's standard library, from edge list to result."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from arcvec.baselines.by_name import BASELINES, CHEAP_BASELINES
from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import Split, save_split, split_edges
from arcvec.ingest.ingest import read_edges
from arcvec.recommendation.exact import recommend
from arcvec.storage.atomic import DEMO_MARKER, new_folder
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.hooks import Hooks
from arcvec.view.console import escape, note, output, results_tables, training_progress
from arcvec.view.figures import save_figure
from arcvec.view.spaces import spaces_figure
from arcvec.view.table_text import compare_reports

MODULES = ("asyncio.events", "email.message", "zipfile")


def read_demo_graph() -> Graph:
    """Return the embedded graph: module -> imported module."""
    with as_file(files("arcvec") / "data" / "stdlib_imports.txt.gz") as path:
        return read_edges(path, directed=True)


def run_demo(out: Path, seed: int) -> None:
    """Split, fit, draw, recommend and evaluate, printing each step, and keep it all in a folder."""
    if out.exists() and not (out / DEMO_MARKER).is_file():
        raise FileExistsError(f"{out} exists already and is no demo's; choose another name")
    with new_folder(out, overwrite=True) as folder:
        (folder / DEMO_MARKER).write_text("Made by `arcvec demo`, which replaces this folder.\n")
        output.print("[bold]1. The graph[/]: which module of Python's library imports which")
        graph = read_demo_graph()
        output.print(f"   {graph}")
        split = split_edges(graph, test_fraction=0.2, seed=seed)
        save_split(split, folder / "split")
        output.print(f"[bold]2. The split[/]: {len(split.test):,} imports hidden for the test")
        output.print("[bold]3. The fit[/]: two vectors of 16 numbers for every module")
        with training_progress() as report:
            embeddings = EdgeProjection(dim=32, seed=seed).fit(split.train, Hooks(report))
        embeddings.save(folder / "result")
        output.print("[bold]4. The picture[/]: where modules stand as importers and as imported")
        try:
            save_figure(spaces_figure(embeddings, split.train), [folder / "spaces.png"])
        except ImportError as error:
            note(str(error))
        output.print("[bold]5. Recommendations[/] ([green]✓[/] is an import hidden from training)")
        output.print(_recommendation_table(embeddings, split))
        reports = {f"arcvec, dim {embeddings.dim}": link_prediction(embeddings, split)}
        for name in CHEAP_BASELINES:
            reports[name] = link_prediction(BASELINES[name]().fit(split.train), split)
        output.print(*results_tables(compare_reports(reports, "6. Hidden imports found")))
    output.print(f"Written to {escape(str(out))}: split/ result/ spaces.png. Next, try:")
    command = f"   arcvec recommend {out}/result --node json -k 5 --exclude {out}/split"
    output.print(command, soft_wrap=True, markup=False)


def _recommendation_table(embeddings: EdgeEmbeddings, split: Split) -> Table:
    names, _ = recommend(embeddings, MODULES, k=5, exclude=split.train)
    headings = (f"{module} imports" for module in MODULES)
    table = Table(*headings, box=SIMPLE_HEAD, pad_edge=False)
    hidden = {(split.train.nodes[u], split.train.nodes[v]) for u, v in split.test.tolist()}
    for row in names.T:
        cells = (
            f"[green]✓ {escape(name)}[/]" if (module, name) in hidden else f"  {escape(name)}"
            for module, name in zip(MODULES, row, strict=True)
        )
        table.add_row(*cells)
    return table
