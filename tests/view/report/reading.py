"""A page as a reader meets it: headings, tables, pictures, text."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "img"}


class Page(HTMLParser):
    """Collects what is in a page, and fails where a tag is not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.pictures, self.tables = [], [], [], []
        self.sections, self.text, self.ids = {}, "", []
        self._section = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self._section = attributes["id"]
            self.sections[self._section] = ""
        elif tag == "img":
            self.pictures.append(attributes)
        elif tag == "table":
            self.tables.append({"section": self._section, "caption": "", "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("th", "td"):
            self.tables[-1]["rows"][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if self._section:
            self.sections[self._section] += data
        if "caption" in self.open:
            self.tables[-1]["caption"] += data
        elif "th" in self.open or "td" in self.open:
            self.tables[-1]["rows"][-1][-1] += data

    def said(self, section):
        """Return the text of a section, each white space one blank."""
        return " ".join(self.sections[section].split())

    def tables_in(self, section):
        """Return the tables of a section by caption: lists of rows of stripped texts."""
        return {
            table["caption"]: [[cell.strip() for cell in row] for row in table["rows"]]
            for table in self.tables
            if table["section"] == section
        }


def without_pictures(html):
    """Return a page without the drawings inside it."""
    return re.sub(r"data:image/svg\+xml;base64,[\w+/=]+", "data:", html)
