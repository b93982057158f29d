"""The page in a real browser: what a person does, and what they see."""

import json
import re
import time

import numpy as np

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from tests.cli.commands import arcvec
from tests.serve.processes import running
from tests.view.explore.conftest import NAMES, make_parts


def listed(page, section):
    """Return names in a list of the side."""
    page.wait_for_selector(f"#{section}")
    return page.eval_on_selector_all(
        f"#{section} .rows button", "all => all.map(b => b.dataset.node)"
    )


def until(page, expression):
    """Wait until an expression is true, without the eval that the page's policy forbids."""
    end = time.monotonic() + 30
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(30)


def heading(page):
    return page.text_content("#details h2")


def predicted(server, node, direction="targets", k=10):
    answer = server.get("/v1/recommend", node=node, direction=direction, k=k).json
    return [one["node"] for one in answer["recommendations"]]


def known(node, direction="targets"):
    _, graph = make_parts(2)
    rows = graph if direction == "targets" else graph.transposed
    (i,) = NAMES.ids([node])
    return {NAMES[j] for j in rows.indices[rows.indptr[i] : rows.indptr[i + 1]]}


def pixel_of(page, node, side):
    """Return where a node is on the screen, from its place and from the view in the address."""
    until(page, f"new URLSearchParams(location.hash.slice(1)).has('{side}')")
    x, y, half = map(
        float, re.search(rf"{side}=([^&]+)", page.url)[1].replace("%2C", ",").split(",")
    )
    box = page.locator(f"#{side} .points").bounding_box()
    unit = min(box["width"], box["height"]) / 2 / half
    embeddings, _ = make_parts(2)
    place = getattr(embeddings, side)[NAMES.ids([node])[0]].tolist()
    return (
        box["x"] + box["width"] / 2 + (place[0] - x) * unit,
        box["y"] + box["height"] / 2 - (place[1] - y) * unit,
    )


def apart(side, reach):
    """Return the two nodes near the origin that are farthest from any other."""
    embeddings, _ = make_parts(2)
    points = getattr(embeddings, side)
    gaps = np.linalg.norm(points[:, None] - points, axis=2) + 1e9 * np.eye(len(points))
    lonely = gaps.min(axis=1) * (np.abs(points).max(axis=1) < reach)
    return [NAMES[int(i)] for i in np.argsort(-lonely)[:2]]


def test_search_offers_names_and_shows_the_one_chosen(server, open_page):
    page = open_page(server)
    assert heading(page) == "Pick a node"
    page.keyboard.press("/")
    page.keyboard.type("node12")
    page.wait_for_selector("#matches [role=option]:has-text('node12')")
    offered = page.eval_on_selector_all(
        "#matches [role=option] span:first-child", "all => all.map(s => s.textContent)"
    )
    assert offered[0] == "node12"
    assert all(name.startswith("node12") for name in offered)
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#search", "aria-activedescendant") == "match-1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert listed(page, "predictions") == predicted(server, "node12")
    assert heading(page) == "node12"
    page.keyboard.press("Escape")
    page.wait_for_selector(".welcome")
    assert "node=" not in page.url


def test_a_click_on_a_dot_shows_its_node(server, open_page):
    page = open_page(server, "/#source=0,0,1.5&target=0,0,1.5")
    first, second = apart("source", 1.0)
    for node in (first, second):
        page.mouse.click(*pixel_of(page, node, "source"))
        until(page, f"document.querySelector('#details h2').textContent === '{node}'")
        assert listed(page, "predictions") == predicted(server, node)
        assert set(listed(page, "known")) == known(node)
    page.go_back()
    until(page, f"document.querySelector('#details h2').textContent === '{first}'")


def test_the_direction_is_switched(server, open_page):
    page = open_page(server, "/#node=node50")
    assert listed(page, "predictions") == predicted(server, "node50")
    page.locator("#directions label", has_text="Sources").click()
    page.wait_for_selector("#predictions h3:has-text('Predicted sources')")
    assert listed(page, "predictions") == predicted(server, "node50", "sources")
    assert set(listed(page, "known")) == known("node50", "sources")
    assert "direction=sources" in page.url


def test_a_link_opens_the_same_view(server, open_page):
    first = open_page(server)
    first.fill("#search", "a&b")
    first.wait_for_selector("#matches [role=option]")
    first.keyboard.press("Enter")
    first.locator("#directions label", has_text="Sources").click()
    first.select_option("#colouring", "parity")
    first.locator("#target .points").focus()
    first.keyboard.press("+")
    first.keyboard.press("ArrowLeft")
    until(first, "location.hash.includes('target=')")
    listed(first, "predictions")
    second = open_page(server, "/" + first.url.split("/", 3)[3])
    assert listed(second, "predictions") == predicted(server, "a&b=c#d", "sources")
    assert second.input_value("#colouring") == "parity"
    assert second.is_checked("#directions input[value=sources]")
    second.wait_for_timeout(500)
    assert second.url == first.url


def test_keys_lead_through_the_lists(server, open_page):
    page = open_page(server, "/#node=node50")
    names = listed(page, "predictions")
    page.focus("#predictions .rows button")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.node") == names[2]
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.node") == names[-1]
    page.keyboard.press("Enter")
    until(page, f"document.querySelector('#details h2').textContent === {json.dumps(names[-1])}")
    page.click("#predictions >> text=Show more")
    until(page, "document.querySelectorAll('#predictions .rows button').length === 50")
    assert listed(page, "predictions") == predicted(server, names[-1], k=50)


def test_everything_can_be_reached_by_tab_and_has_a_name(server, open_page):
    page = open_page(server, "/#node=node50")
    listed(page, "predictions")
    page.focus("#search")
    reached = []
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className")
        )
        if page.evaluate("document.activeElement === document.body"):
            break
    assert {"colouring", "theme", "points", "text-button"} <= set(reached)
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, select, [tabindex]')].filter(e => "
        "!(e.ariaLabel || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML)"
    )
    assert nameless == []


def test_light_and_dark(server, open_page):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    dark = open_page(server, color_scheme="dark")
    light = open_page(server, color_scheme="light")
    assert background(dark) != background(light)
    light.click("#theme")
    assert background(light) == background(dark)
    light.reload()
    light.wait_for_selector("#loading", state="hidden")
    assert background(light) == background(dark)


def test_the_cone_is_half_the_plane(server, open_page):
    """Pixels of the back of the target space, seen from the origin, one on either side."""
    page = open_page(server, "/#node=node50&target=0,0,3")
    listed(page, "predictions")
    embeddings, _ = make_parts(2)
    x, y = embeddings.source[50] / (embeddings.source[50] ** 2).sum() ** 0.5
    page.wait_for_timeout(300)
    alphas = page.evaluate(
        "([x, y]) => [1, -1].map(sign => { const back = document.querySelector('#target .back');"
        "return back.getContext('2d').getImageData(back.width / 2 + sign * x * 70 + 3,"
        "back.height / 2 - sign * y * 70 + 3, 1, 1).data[3]; })",
        [float(x), float(y)],
    )
    assert alphas[0] > 0
    assert alphas[1] == 0


def test_names_are_text_and_never_markup(server, open_page):
    page = open_page(server, "/#node=%3Cb%3Ebold%3C%2Fb%3E")
    listed(page, "predictions")
    assert heading(page) == "<b>bold</b>"
    assert page.locator("#details b").count() == 0


def test_other_kinds_of_results(folder, open_page):
    flags = (folder / "result8", "--graph", folder / "graph8")
    with running(folder, "explore", *flags) as server:
        page = open_page(server, "/#node=node50")
        assert listed(page, "predictions") == predicted(server, "node50")
        assert "best projection" in page.text_content("#source-title")
        page.close()
    with running(folder, "explore", folder / "one") as server:
        page = open_page(server, "/#node=node50")
        assert listed(page, "predictions") == predicted(server, "node50")
        assert not page.is_visible("#source")
        assert not page.is_visible("#directions")
        assert "Start with --graph" in page.text_content("#known")
        page.close()


def test_requests_from_elsewhere_and_wrong_ones(server):
    assert server.ask("GET", "/", headers={"Host": "evil.example"}).status == 400
    assert server.ask("GET", "/", headers={"Host": "evil.example:80"}).status == 400
    page = server.get("/")
    assert page.status == 200
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert b"//" not in re.sub(rb"http://www.w3.org/\S+", b"", page.body)
    assert "unknown colouring" in server.get("/explore/colours", by="x").error
    assert server.get("/explore/edges", node="nod50").status == 404
    assert server.get("/explore/edges", node="node50", limit=501).status == 422
    assert server.get("/page/nothing.js").status == 404
    assert server.get("/page/../index.html").status == 404


def test_what_cannot_be_shown_is_told_in_one_line(folder):
    process = arcvec("explore", folder / "result2", "--nodes", folder / "none.csv", "--port", 0)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.fullmatch(r"arcvec: \S+none\.csv: no such file\n", error)


def test_a_hundred_thousand_nodes_are_drawn_and_moved(tmp_path, open_page):
    count = 100_000
    source, target = np.random.default_rng(0).normal(size=(2, count, 2)).astype(np.float32)
    EdgeEmbeddings(source, target, NodeNames.numbered(count)).save(tmp_path / "result")
    with running(tmp_path, "explore", tmp_path / "result") as server:
        page = open_page(server)
        box = page.locator("#source .points").bounding_box()
        page.mouse.move(box["x"] + 200, box["y"] + 200)
        for _ in range(5):
            page.mouse.wheel(0, -200)
        page.mouse.down()
        page.mouse.move(box["x"] + 300, box["y"] + 260, steps=5)
        page.mouse.up()
        until(page, "location.hash.includes('source=')")
        assert heading(page) == "Pick a node"  # a drag is no click
        page.close()
