"""Read a page as a browser would: which elements it has, and whether they are well nested."""

from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "hr", "img", "input"}


class Read(HTMLParser):
    """Elements in order as (tag, attributes), all text outside of style, and what went wrong."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self._within: list[bool] = []  # whether each open element stands within a word's text
        self._goes_on = False
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is never closed" for tag in self._open]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) < len(attrs):
            self.faults.append(f"{tag} has an attribute twice")
        if tag not in _VOID:
            self._open.append(tag)
            self._within.append(dict(attrs).get("class") == "whole")
            self._goes_on = self._within[-1]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"{tag} is closed where it is not open")
        self._goes_on = bool(self._within and self._within.pop())

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            before = self.texts.pop() if self._goes_on and self.texts else ""
            self.texts.append(before + data)
        self._goes_on = False
