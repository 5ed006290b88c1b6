"""docs/mask.md shows what the commands really write: each file of the page is made anew and compared."""

import json
import re
from pathlib import Path

import pytest

from clinaudit.audit.commands.main import run

PAGE = Path(__file__).parents[4] / "docs" / "mask.md"
#: As in the corpus of the demo, whose other patients matter to nothing on the page.
PATIENT = "p0001,nontrain,78,female,Birgit B. Cranecott,1946-11-11"
NOTE = """patient: Birgit B. Cranecott
dob: 11/11/1946
visit date: 06/13/2022
provider: Orla Estermont, MD
location: Silverton Square Clinic
cc: panic attacks
hpi: 75-year-old female here for panic attacks.
"""


def blocks() -> list[tuple[str, str]]:
    """Language and content of every block of code, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def write_corpus(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "patients.csv").write_text(f"patient_id,split,age,sex,name,dob\n{PATIENT}\n", encoding="utf-8")
    note = {"patient_id": "p0001", "note_id": "p0001-1", "text": NOTE, "visit_date": "2022-06-13"}
    (folder / "notes.jsonl").write_text(json.dumps(note) + "\n", encoding="utf-8")


def test_the_page_shows_what_the_commands_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(Path("demo/corpus"))
    rows = [content for language, content in blocks() if language == "json"]
    said = [content for language, content in blocks() if language == "text"]
    prompts, masked, answers, read, story, story_masked = rows
    for name, content in (("prompts", prompts), ("answers", answers), ("story", story)):
        Path(f"{name}.jsonl").write_text(content, encoding="utf-8")
    typed = "".join(content for language, content in blocks() if language == "sh")
    commands = [line.split(";")[0] for line in typed.splitlines()]
    statuses = []
    for command in commands[:3]:
        assert command.startswith("clinaudit ")
        statuses.append(run([*command.split()[1:], "--quiet"]))
        shown = capsys.readouterr().out
        if said:
            assert shown == said.pop(0)
    assert statuses == [0, 0, 0]
    made = {"masked": masked, "read": read, "story-masked": story_masked}
    for name, content in made.items():
        written = [json.loads(line) for line in Path(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        assert written == [json.loads(line) for line in content.splitlines()], name
