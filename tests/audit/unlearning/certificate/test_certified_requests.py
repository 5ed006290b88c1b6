"""Many deletion requests on one page: nothing that a certificate does not publish, and no folder believed unread."""

import json
import re
import stat
from functools import cache
from pathlib import Path

import pytest
from support.hostile_text import GROUPS, Tree, steers
from support.results.compared_results import compared, forgetting
from support.results.published_numbers import Notation

from clinaudit.audit.commands.main import run as command
from clinaudit.audit.comparison.files import write_comparison
from clinaudit.reports.pages.requests import render_requests
from clinaudit.reports.schema.certificate import Certificate, Trigger
from clinaudit.reports.schema.comparison import Difference, PublishedComparison, PublishedForgetting
from clinaudit.reports.schema.numbers import CountRange, PublishedEstimate
from clinaudit.reports.schema.requests import CertifiedRequest, CertifiedRequests

#: A digit of a figure, of a digest or of a date, with what belongs to it.
_FIGURE = re.compile(r"[0-9][0-9a-f.,%–]*")


@cache
def uncertified() -> PublishedComparison:
    """A comparison without tables, which take time to draw."""
    return compared(certified=False).comparison.model_copy(update={"memorization": {}, "disclosure": {}})


def few() -> PublishedForgetting:
    """A certificate over 1 to 10 patients: the verdict alone."""
    return forgetting(Notation()).model_copy(
        update={
            "verdict": "forgotten",
            "named": CountRange(low=1, high=10),
            "patients": {},
            "before": None,
            "reasons": [],
            "beside": ["sealed canaries"],
        }
    )


def many() -> PublishedForgetting:
    """A certificate over 14 patients with what it cost others."""
    cost = {"same": {"much worse": (21, 40), "better": (0, 0)}, "others": {"much worse": (0, 0), "better": (61, 80)}}
    return forgetting(Notation()).model_copy(
        update={
            "collateral": {
                group: {name: CountRange(low=low, high=high) for name, (low, high) in bins.items()}
                for group, bins in cost.items()
            }
        }
    )


def write(
    folder: Path,
    of: PublishedForgetting | None,
    *,
    trigger: Trigger | None = None,
    date: str | None = None,
    model: str = "bbbbbbbbbbbb",
) -> Path:
    """Write a comparison as `compare --out` does, with a certificate of a patient `pt-77` where there is one."""
    comparison = uncertified().model_copy(
        update={"forgetting": of, "date": date, "differences": [Difference(name="MODEL", a="aaaaaaaaaaaa", b=model)]}
    )
    certificate = None
    if of is not None:
        certificate = Certificate(
            verdict=of.verdict,
            trigger=trigger,
            collapsed=of.collapsed,
            controls_above_level=PublishedEstimate(value=0.0123, low=0.0123, high=0.0123),
            health=[],
            differences=[],
            patients=[
                {"patient_id": "pt-77", "verdict": of.verdict, "leaked_before": True, "reasons": [], "measures": []}
            ],
        )
    write_comparison(folder, comparison, certificate)
    return folder


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three requests as the command names them."""
    tmp_path = tmp_path_factory.mktemp("three")
    write(tmp_path / "request-1", few(), trigger="part-2-consent", date="2026-07-03")
    write(tmp_path / "request-2", many(), trigger="gdpr-17", model="cccccccccccc")
    write(tmp_path / "c", many())
    return [str(tmp_path / "request-1"), str(tmp_path / "request-2"), f"2026-015={tmp_path / 'c'}"]


def test_the_page_gives_each_request_its_verdict_and_what_it_cost(three: list[str], tmp_path: Path, capsys) -> None:
    out = tmp_path / "page"
    assert command(["unlearn", "requests", *three, "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("3 deletion requests: still leaks 2, forgotten 1.\n")
    assert re.search(r"^request-1 +2026-07-03 +bbbbbbbbbbbb +1–10 +✓ Forgotten$", printed.out, re.MULTILINE)
    assert re.search(r"^2026-015 +not given +bbbbbbbbbbbb +11–20 +✗ Still leaks$", printed.out, re.MULTILINE)
    page = (out / "requests.html").read_text(encoding="utf-8")
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    assert ["request-2", "11–20", "with a disease of a named patient", "21–40", "0"] in rows
    assert ["request-2", "11–20", "others retained", "0", "61–80"] in rows
    # Of the request of few patients the verdict alone stands there.
    assert sum(row[0] == "request-1" for row in rows) == 2
    assert "1 to 10 patients are named: request-1." in page
    assert "Audit the model in use" in page
    held = json.loads((out / "requests.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in held["requests"]] == ["request-1", "request-2", "2026-015"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_file()} == {0o600}


def test_every_figure_of_the_page_stands_in_a_certificate(three: list[str], tmp_path: Path) -> None:
    out = tmp_path / "page"
    assert command(["unlearn", "requests", *three, "--out", str(out)]) == 0
    folders = [Path(value.rpartition("=")[2]) for value in three]
    documents = [json.loads((folder / "compare.json").read_text(encoding="utf-8")) for folder in folders]
    held = json.loads((out / "requests.json").read_text(encoding="utf-8"))["requests"]
    assert [one["forgetting"] for one in held] == [document["forgetting"] for document in documents]
    assert [one["model"] for one in held] == [document["differences"][0] for document in documents]
    shown = " ".join((folder / "compare.html").read_text(encoding="utf-8").split("<body>")[1] for folder in folders)
    table = (
        (out / "requests.html")
        .read_text(encoding="utf-8")
        .split('<main id="main">')[1]
        .split('<section id="limits">')[0]
    )
    cells = re.findall(r"<td>(.*?)</td>", table)
    figures = {figure for cell in cells for figure in _FIGURE.findall(cell)}
    assert {"1–10", "11–20", "21–40", "61–80", "2026"} <= figures
    assert not {figure for figure in figures if figure not in shown}


def test_triggers_stand_in_the_evidence_alone_and_ids_nowhere(three: list[str], tmp_path: Path, capsys) -> None:
    out = tmp_path / "page"
    assert command(["unlearn", "requests", *three, "--out", str(out)]) == 0
    phi = (out / "evidence" / "requests.html").read_text(encoding="utf-8")
    assert '<p class="phi" role="note">PHI: the legal triggers' in phi
    assert "42 CFR part 2" in phi
    assert "GDPR, article 17" in phi
    handed_on = [(out / name).read_text(encoding="utf-8") for name in ("requests.html", "requests.json")]
    for text in (*handed_on, capsys.readouterr().out):
        assert "CFR" not in text
        assert "GDPR" not in text
        assert "gdpr" not in text
    assert not [text for text in (*handed_on, phi) if "pt-77" in text or "0.0123" in text]
    # A page without triggers leaves none of an earlier one behind.
    assert command(["unlearn", "requests", three[2], "--out", str(out)]) == 0
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == ["requests.html", "requests.json"]


def test_folders_without_a_certificate_are_named_all_at_once(three: list[str], tmp_path: Path, capsys) -> None:
    write(tmp_path / "uncertified", None)
    exact = write(tmp_path / "exact", few())
    (exact / "evidence" / "compare.json").write_text((exact / "compare.json").read_text())
    (exact / "compare.json").unlink()
    older = write(tmp_path / "older", few()) / "compare.json"
    older.write_text(older.read_text().replace('"schema_version": "3.0"', '"schema_version": "2.0"'))
    (write(tmp_path / "torn", few()) / "compare.json").write_text('{"schema_version": "3.0", "conclusion": "pt-77')
    odd = write(tmp_path / "odd", few()) / "compare.json"
    odd.write_text(json.dumps({**json.loads(odd.read_text()), "pt-77": 1}))
    mixed = write(tmp_path / "mixed", few()) / "evidence" / "certificate.json"
    mixed.write_text(mixed.read_text().replace('"verdict": "forgotten"', '"verdict": "collapsed"'))
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    names = ["uncertified", "exact", "older", "torn", "odd", "mixed", "empty", "absent", "loop"]
    out = tmp_path / "page"
    assert command(["unlearn", "requests", *three, *(str(tmp_path / one) for one in names), "--out", str(out)]) == 3
    first, *problems = capsys.readouterr().err.splitlines()
    assert first == "error[BAD_INPUT]: 9 of 12 folders hold no certificate to show"
    for problem, (name, words) in zip(
        problems,
        (
            ("uncertified", "it has no deletion certificate; compare again with --forgotten IDS"),
            ("exact", "it holds exact figures alone (PHI); compare again without --exact"),
            ("older", "compare.json is of another version of clinaudit"),
            ("torn", "compare.json is damaged"),
            ("odd", "compare.json is not as clinaudit writes it now"),
            ("mixed", "its certificate and its comparison are not of one run"),
            ("empty", "it is no comparison (compare.json is missing)"),
            ("absent", "there is no such folder"),
            ("loop", "there is no such folder"),
        ),
        strict=True,
    ):
        assert problem.startswith(f"  {name}: {words}")
        assert "pt-77" not in problem
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x/a", "y/a"], "two requests have the same name"),
        (["one=x/a", "two=x/a/../a"], "two requests have the same folder"),
        (["=x/a"], "give it as NAME=DIR"),
        (["one="], "give it as NAME=DIR"),
        (["one\ntwo=x/a"], "give it as NAME=DIR"),
    ],
)
def test_requests_that_cannot_be_told_apart_are_refused(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(["unlearn", "requests", *arguments, "--out", "page"]) == 2
    assert message in capsys.readouterr().err


def test_the_page_goes_to_no_folder_of_something_else(three: list[str], tmp_path: Path, capsys) -> None:
    assert command(["unlearn", "requests", *three, "--out", three[0]]) == 2
    assert "holds other things; name a new directory, or an earlier page's" in capsys.readouterr().err


@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_hostile_names_and_reasons_are_text_and_nothing_else(group: tuple[str, ...]) -> None:
    def page(text: str) -> str:
        of = many().model_copy(
            update={"reasons": [text], "beside": [text], "collateral": {text: {text: CountRange(low=1, high=20)}}}
        )
        model = Difference(name=text, a=text, b=text)
        requests = CertifiedRequests(requests=[CertifiedRequest(name=text, date=text, model=model, forgetting=of)])
        return render_requests(requests, {text: "gdpr-17"})

    made = page(" ".join(group))
    assert Tree(made).shape == Tree(page("harmless")).shape
    assert not steers(made)
    assert "GDPR" in made
