"""GLiNER without its weights: its parts of a text, its labels, and what is said where it is absent."""

import pytest

from clinaudit.audit.pii.systems import gliner
from clinaudit.audit.pii.systems.gliner import GlinerDetector, cut_between_sentences, load_gliner
from clinaudit.errors import BadInputError, UsageError


class Recognizer:
    """Finds `ward 7` wherever it stands, by the label of a ward."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def predict_entities(self, text: str, labels: list[str], **_options: object) -> list[dict[str, object]]:
        self.labels = labels
        start = text.find("ward 7")
        return [] if start < 0 else [{"start": start, "end": start + 6, "label": "ward or room"}]


def test_a_long_text_is_read_in_parts_and_offsets_are_those_of_the_whole() -> None:
    text = "It rains. " * 200 + "She lies on ward 7. " + "It rains.\n" * 200 + "Back to ward 7."
    parts = list(cut_between_sentences(text))
    assert "".join(part for _, part in parts) == text
    assert all(text[start : start + len(part)] == part for start, part in parts)
    assert max(len(part.split()) for _, part in parts) <= 250 < len(text.split())
    recognizer = Recognizer()
    found = GlinerDetector(recognizer).detect(text)
    assert [(text[span.start : span.end], span.category) for span in found] == [("ward 7", "ward")] * 2
    assert "medical record number" in recognizer.labels


@pytest.mark.parametrize("text", ["", "one", "No end", "A.B.C. 3.5 mg\n\n", "word " * 600])
def test_parts_are_the_text(text: str) -> None:
    assert "".join(part for _, part in cut_between_sentences(text)) == text


def test_a_folder_without_a_model_is_bad_input(tmp_path) -> None:
    with pytest.raises(BadInputError, match=r"gliner_config\.json"):
        load_gliner(tmp_path)


def test_the_absent_package_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "gliner_config.json").write_text("{}")
    monkeypatch.setattr(gliner, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="package gliner, which is not installed"):
        load_gliner(tmp_path)
