"""A page parsed with the standard library: what tests ask of every HTML text of the package."""

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr", "base"}
Attributes = dict[str, str | None]


class Page(HTMLParser):
    """Tags with attributes, text outside style, and what is shown while everything is folded."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, Attributes]] = []
        self.text: list[str] = []
        #: Text that stands in no closed fold, and the headings' levels in order.
        self.folded: list[str] = []
        self.headings: list[int] = []
        self.stops = 0
        self.open: list[tuple[str, Attributes]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))
        if tag[0] == "h" and tag[1:].isdigit():
            self.headings.append(int(tag[1:]))
        given = dict(attrs).get("tabindex")
        is_stop = given == "0" or (given is None and tag in {"a", "summary", "button", "select"})
        self.stops += is_stop and self.is_shown

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        opened, _ = self.open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"

    def handle_data(self, data: str) -> None:
        names = [name for name, _ in self.open]
        if {"style", "title", "script"} & set(names):
            return
        self.text.append(data)
        if self.is_shown:
            self.folded.append(data)

    @property
    def is_shown(self) -> bool:
        """Whether what is read now stands in no closed fold; a summary is shown itself."""
        names = [name for name, _ in self.open]
        folds = [place for place, (name, attrs) in enumerate(self.open) if name == "details" and "open" not in attrs]
        return all("summary" in names[place + 1 : place + 2] for place in folds)

    def all(self, tag: str) -> list[Attributes]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    @property
    def folded_words(self) -> str:
        return " ".join(" ".join(self.folded).split())
