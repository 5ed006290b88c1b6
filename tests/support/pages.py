"""A page parsed with the standard library: what tests ask of every HTML text of the package."""

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr", "base"}
Attributes = dict[str, str | None]


class Page(HTMLParser):
    """Tags with attributes, and text outside style."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, Attributes]] = []
        self.text: list[str] = []
        #: The headings' levels in order.
        self.headings: list[int] = []
        self.open: list[tuple[str, Attributes]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))
        if tag[0] == "h" and tag[1:].isdigit():
            self.headings.append(int(tag[1:]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        opened, _ = self.open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"

    def handle_data(self, data: str) -> None:
        if not {"style", "title", "script"} & {name for name, _ in self.open}:
            self.text.append(data)

    def all(self, tag: str) -> list[Attributes]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())
