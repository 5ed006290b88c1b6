"""Hostile text in every field of a comparison and a certificate: what is parsed is what a harmless twin gives.

The free texts of the records are found by trying: a place whose string the schema lets be anything is free.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.hostile_text import GROUPS, PAYLOADS, Document, Place, Tree, find_free_places, leaves, steers, with_text
from support.runs.compared_pair import plant
from support.unlearning.bench_results import constant, write_bench_result

from clinaudit.audit.commands.main import run as command
from clinaudit.reports.pages.certificate import certificate_json, render_certificate
from clinaudit.reports.pages.comparison import comparison_json, render_comparison
from clinaudit.reports.schema.certificate import Certificate
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.terminal.comparison import comparison_text

HARMLESS = " ".join(["harmless text"] * 10)
#: Each record with its page and its JSON.
RECORDS: Any = (
    (Comparison, render_comparison, comparison_json),
    (Certificate, render_certificate, certificate_json),
)
MadeOf = Callable[[str], list[Any]]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, Document]:
    """A comparison with a certificate, cut to two patients and two tiers; what may be null and be said is said."""
    root = tmp_path_factory.mktemp("hostile")
    planted = plant(root, leaking={"pt-train-00": 60}, stated=["pt-train-01"], settings_b={"--engine": "other"})
    (root / "ids").write_text("\n".join(planted.named))
    known = constant(0.2)
    roles = {"forget": planted.named, "retain": planted.train[5:], "never_trained": planted.held_out}
    write_bench_result(root / "bench", {"before": known, "after": known}, **roles)
    runs = [str(planted.a), str(planted.b)]
    given = {"--forgotten": root / "ids", "--out": root / "out", "--bench": root / "bench"}
    command(["compare", *runs, *(str(part) for option in given.items() for part in option)])
    comparison = json.loads((root / "out" / "compare.json").read_text(encoding="utf-8"))
    certificate = json.loads((root / "out" / "evidence" / "certificate.json").read_text(encoding="utf-8"))
    del certificate["patients"][2:]
    kinds = {one["metric"]: one for one in comparison["changes"]}
    comparison["changes"] = [{**one, "difference": {**one["difference"], "reason": "said"}} for one in kinds.values()]
    for check in [*comparison["forgetting"]["health"][:1], *certificate["health"][:1]]:
        check.update(passed=None, reason="too few")
    comparison["forgetting"]["reasons"] = certificate["reasons"] = ["said"]
    comparison["forgetting"]["collateral"] = {"same": {"worse": "<11", "better": "0"}}
    for patient in certificate["patients"]:
        patient["reasons"] = ["said"]
        for row in patient["figures"]:
            row["reason"] = "said"
    return comparison, certificate


@pytest.fixture(scope="module")
def places(documents: tuple[Document, Document]) -> list[list[Place]]:
    """Where each takes free text."""
    return [find_free_places(model, document) for (model, *_), document in zip(RECORDS, documents, strict=True)]


@pytest.fixture(scope="module")
def made_of(documents: tuple[Document, Document], places: list[list[Place]]) -> MadeOf:
    """Both records with one text in every free place."""

    def make(text: str) -> list[Any]:
        of_each = zip(RECORDS, documents, places, strict=True)
        return [with_text(model, document, free, text) for (model, *_), document, free in of_each]

    return make


@pytest.fixture(scope="module")
def harmless_shapes(made_of: MadeOf) -> list[list[tuple[str, ...]]]:
    return [Tree(render(record)).shape for (_, render, _), record in zip(RECORDS, made_of(HARMLESS), strict=True)]


def test_free_places_were_found(places: list[list[Place]]) -> None:
    both = {"question", "group", "reason", "reasons"}
    wanted = (
        both | {"conclusion", "warnings", "a", "b", "name", "allowed", "tier"},
        both | {"patient_id", "measure", "model"},
    )
    for found, names in zip(places, wanted, strict=True):
        assert names <= {step for place in found for step in place}
        assert len(found) > 20


@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_pages_parse_as_their_harmless_twins_and_json_says_the_text_itself(
    made_of: MadeOf, harmless_shapes: list[list[tuple[str, ...]]], group: tuple[str, ...]
) -> None:
    text = " ".join(group)
    records = made_of(text)
    for (model, render, as_json), record, shape in zip(RECORDS, records, harmless_shapes, strict=True):
        page, printed = render(record), as_json(record)
        assert Tree(page).shape == shape
        assert not steers(page)
        assert not steers(printed)
        assert model.model_validate_json(printed) == record
    assert any(text in place for place in leaves(json.loads(comparison_json(records[0]))) for place in place)
    assert not steers(comparison_text(records[0]))


def test_hostile_settings_and_ids_of_a_run_reach_no_terminal_and_no_markup(tmp_path: Path, capsys) -> None:
    planted = plant(tmp_path, settings_b={"--engine": " ".join(PAYLOADS), "--training-log": PAYLOADS[-2]})
    ids = [text.replace("\n", " ") for text in PAYLOADS if len(text.splitlines()) == 1]
    (tmp_path / "ids").write_text("\n".join(ids), encoding="utf-8")
    arguments = ["compare", str(planted.a), str(planted.b), "--forgotten", str(tmp_path / "ids")]
    assert command([*arguments, "--out", str(tmp_path / "out")]) == 8
    assert not steers(capsys.readouterr().out)
    assert command([*arguments, "--json"]) == 8
    printed = capsys.readouterr().out
    assert not steers(printed)
    assert {row["b"] for row in json.loads(printed)["differences"]} > {" ".join(PAYLOADS), PAYLOADS[-2]}
    page = (tmp_path / "out" / "evidence" / "certificate.html").read_text(encoding="utf-8")
    assert not steers(page)
    assert not {name for name, *_ in Tree(page).shape} & {"script", "img", "iframe", "svg", "form"}


def test_a_refusal_that_names_a_hostile_setting_steers_no_terminal(tmp_path: Path, capsys) -> None:
    planted = plant(tmp_path, settings_b={f"--x{PAYLOADS[-2]}": PAYLOADS[-1], "--ngram": 20})
    assert command(["compare", str(planted.a), str(planted.b)]) == 3
    error = capsys.readouterr().err
    assert error.startswith("error[BAD_INPUT]: the runs cannot be compared")
    assert not steers(error)
