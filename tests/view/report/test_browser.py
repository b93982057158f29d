"""The page in a real browser, opened as a file."""

import pytest

from arcvec.view.report.page import write_report
from tests.view.report.conftest import EVIL

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def path(embeddings, split, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(embeddings, split, path, title=EVIL[1], nodes=EVIL)
    return path


@pytest.fixture
def open_report(browser, path):
    """Give a function that opens the report; no page may have erred or asked anybody anything."""
    contexts, errors, asked = [], [], []

    def open_file(**options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert errors == []
    assert {url.split("#")[0] for url in asked if not url.startswith("data:")} == {path.as_uri()}


def test_pictures_are_shown_and_names_are_text(open_report):
    page = open_report()
    sizes = page.eval_on_selector_all("img", "all => all.map(i => [i.naturalWidth, i.width])")
    assert len(sizes) == 3
    assert all(natural > 300 and shown > 300 for natural, shown in sizes)
    assert page.text_content("h1") == EVIL[1]
    captions = page.eval_on_selector_all("#samples caption", "all => all.map(c => c.textContent)")
    assert captions == list(EVIL)
    assert page.locator("script").count() == 0


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_sticks_out(open_report, width):
    page = open_report(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_light_dark_and_paper(open_report):
    light, dark = (open_report(color_scheme=scheme) for scheme in ("light", "dark"))
    assert light.evaluate(BACKGROUND) != dark.evaluate(BACKGROUND)
    dark.emulate_media(media="print")
    assert dark.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
    assert dark.evaluate("getComputedStyle(document.querySelector('img')).filter") == "none"


def test_keys_lead_to_sections_and_open_all_settings(open_report):
    page = open_report()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#settings"
    assert not page.is_visible("text=All settings; those that differ are bold")
    page.focus("summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=All settings; those that differ are bold")
