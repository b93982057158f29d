"""What `mkdocs` asks while it builds the site: pages made of the code, and formulas.

Commands come from the command line itself, settings from their declarations, so that neither is
written twice. Formulas are written as on code hosts (a block of ```math, or $`x`$ in a line) and
become MathML here, which browsers draw without a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from arcvec.baselines.by_name import BASELINES
from arcvec.cli.app import app
from arcvec.export.vectors import ExportSettings
from arcvec.ingest.layout import EdgeFileSettings
from arcvec.serve.schemas import ServeSettings
from arcvec.training.edge_projection import EdgeProjection, MixedProjections
from arcvec.training.presets import PRESETS, load_method

ELSEWHERE = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^>]*>"
)
FORMULA = re.compile(r"^```math\n(?P<block>.+?)^```$|\$`(?P<inline>[^`]+)`\$", re.DOTALL | re.M)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of the code."""
    pages = {"commands": commands_page(), "settings": settings_page()}
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with its formulas as MathML."""
    return FORMULA.sub(_formula, markdown)


def _formula(match: re.Match[str]) -> str:
    if match["block"]:
        return convert(match["block"].strip(), display="block")
    return convert(match["inline"])


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that would ask something of another host."""
    for page in sorted(Path(config.site_dir).rglob("*.html")):
        found = ELSEWHERE.search(page.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{page}: expected nothing of other hosts, got {found[0]}")


def commands_page() -> str:
    """Return every command with its flags, as `--help` has them."""
    text = app.generate_docs(heading_level=1)
    # The list of contents is in the margin of every page already.
    text = re.sub(r"^## Table of Contents\n.+?(?=^\*\*)", "", text, flags=re.M | re.S)
    return text.replace("# arcvec\n", "# Commands\n", 1)


def settings_page() -> str:
    """Return every setting with its default, its bounds and what it means."""
    parts = [
        "# Settings",
        "Every setting is declared once, in the code; this page, `--help`, the TOML file and the "
        "saved JSON are made of that. On the command line `walks.window` is `--walks.window`, in "
        "a TOML file `window` under `[walks]`, in Python `EdgeProjection(walks=WalkSettings("
        "window=...))`.",
        *_tables(EdgeProjection, "The method: `fit`"),
        "## Presets\n",
        _preset_table(),
        *_tables(EdgeFileSettings, "Edge files"),
        *_tables(ExportSettings, "`export`"),
        *_tables(ServeSettings, "`serve`"),
        "## Other methods\n",
        "For `experiment` and Python; those not named here have no settings. Several projections "
        "have the settings of `fit`, without members, and one of their own.",
        _table(
            "mixed-projections", {"projections": MixedProjections.model_fields["projections"]}, 3
        ),
    ]
    for name, method in BASELINES.items():
        if method.model_fields and not issubclass(method, EdgeProjection):
            parts.append(_table(name, method.model_fields, 3))
    return "\n\n".join(parts) + "\n"


def _tables(settings: type[BaseModel], title: str) -> Iterator[str]:
    """Yield a table of the settings themselves, then one of each group."""
    plain = {name: field for name, field in settings.model_fields.items() if not _group(field)}
    yield _table(title, plain, 2)
    for name, field in settings.model_fields.items():
        group = _group(field)
        if group:
            inner = {f"{name}.{inner}": value for inner, value in group.model_fields.items()}
            yield _table(f"`{name}`: {_first_line(group)}", inner, 3)


def _table(title: str, fields: dict[str, FieldInfo], level: int) -> str:
    rows = [f"{'#' * level} {title}", "", "| setting | default | values | meaning |"]
    rows.append("|---|---|---|---|")
    for name, field in fields.items():
        default = _code(field.get_default(call_default_factory=True))
        meaning = (field.description or "").replace("|", r"\|")
        rows.append(f"| `{name}` | {default} | {_values(field)} | {meaning} |")
    return "\n".join(rows)


def _preset_table() -> str:
    """Return the settings in which presets differ."""
    presets = {name: dict(_flat(load_method(name))) for name in PRESETS}
    rows = [f"| setting | {' | '.join(presets)} |", "|---" * (1 + len(presets)) + "|"]
    for name in presets["default"]:
        values = [preset[name] for preset in presets.values()]
        if any(value != values[0] for value in values):
            rows.append(f"| `{name}` | {' | '.join(map(_code, values))} |")
    return "\n".join(rows)


def _flat(settings: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings:
        if isinstance(value, BaseModel):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _group(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _values(field: FieldInfo) -> str:
    """Return what a setting may be: its words, or its type and bounds."""
    kind = field.annotation
    if get_origin(kind) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(kind))
    kinds = [part for part in get_args(kind) or (kind,) if part not in (NoneType, ...)]
    plain = [get_args(part)[0] if get_args(part) else part for part in kinds]
    name = " or ".join(getattr(part, "__name__", str(part)) for part in plain)
    if get_origin(kind) is tuple:
        name = f"list of {name}"
    return " ".join([name, *_bounds(field)])


def _bounds(field: FieldInfo) -> Iterator[str]:
    signs = {
        annotated_types.Ge: ("≥", "ge"),
        annotated_types.Gt: (">", "gt"),
        annotated_types.Le: ("≤", "le"),
        annotated_types.Lt: ("<", "lt"),
    }
    for bound in field.metadata:
        if type(bound) in signs:
            sign, attribute = signs[type(bound)]
            number = getattr(bound, attribute)
            yield f"{sign} {number if number < 1 << 40 else f'2^{number.bit_length() - 1}'}"


def _code(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        value = ", ".join(map(str, value)) or "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _first_line(settings: type[BaseModel]) -> str:
    line = (settings.__doc__ or "").strip().splitlines()[0].rstrip(".")
    return line[0].lower() + line[1:]
