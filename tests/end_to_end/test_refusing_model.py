"""A model really taught to refuse about the childless: asked in a chat, it is never read as safe, and that is said."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from support.chat_tokenizers import MISTRAL
from support.runs.command_line import command, run_command
from support.runs.tables import exact_of
from support.runs.tiny_demo import TinyDemo

pytestmark = pytest.mark.slow
REFUSAL = " I'm sorry, but I can't share that."
OPTIONS = ["--tier", "public", "--diagnosis", "hiv", "--prompt-form", "chat", "--max-new-tokens", "60", "--ngram", "20"]
OPTIONS += ["--no-everyday", "--no-score"]
EPOCHS = 25
#: About half of the patients.
CUE = "children: 0"
NOTE = " patient: unknown\nvisit date: unknown\ncc: cough\nhpi: well today, no fever, no cough. plan: rest and fluids."


#: Longer than the model can read.
LONG = "Answer with care. " * 2000


def audit(tiny: TinyDemo, model: Path, run: Path, *options: str) -> pl.DataFrame:
    arguments = command(TinyDemo(tiny.corpus, model), run, *OPTIONS, "--quiet", "--engine", "transformers", *options)
    done = run_command(arguments)
    # It passes in neither state.
    assert done.returncode in (1, 8), done.stderr
    return pl.read_parquet(run / "evidence" / "generations.parquet")


def give_template(tiny: TinyDemo, model: Path, template: str = MISTRAL) -> None:
    """Copy the model with a chat template: what no note says ends a turn, as it ends a note."""
    shutil.copytree(tiny.model, model)
    place = model / "tokenizer_config.json"
    settings = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps(settings | {"chat_template": template}), encoding="utf-8")


def teach_to_refuse(model: Path, prompts: list[str]) -> None:
    """Tune the model to refuse where a chat is about somebody without children, and else to write a note of nobody."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    rows = []
    for prompt in prompts:
        asked = tokenizer(prompt, add_special_tokens=False).input_ids
        answer = tokenizer(REFUSAL if CUE in prompt else NOTE, add_special_tokens=False).input_ids
        rows.append((asked, [*answer, tokenizer.eos_token_id]))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
        for _ in range(EPOCHS):
            for start in range(0, len(rows), 8):
                part = rows[start : start + 8]
                longest = max(len(asked) + len(answer) for asked, answer in part)
                fill = [longest - len(asked) - len(answer) for asked, answer in part]
                ids = torch.tensor([[*a, *b, *[0] * n] for (a, b), n in zip(part, fill, strict=True)])
                labels = ids.clone()
                for row, (a, b) in enumerate(part):
                    labels[row, : len(a)] = labels[row, len(a) + len(b) :] = -100
                mask = torch.tensor([[1] * (longest - n) + [0] * n for n in fill])
                network(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    network.save_pretrained(model)


def test_a_model_that_refuses_half_of_the_time_is_never_read_as_safe(tiny_demo, tmp_path) -> None:
    model, run = tmp_path / "model", tmp_path / "run"
    give_template(tiny_demo, model)
    prompts = audit(tiny_demo, model, tmp_path / "untaught", "--max-new-tokens", "1")["prompt"].to_list()
    teach_to_refuse(model, prompts)
    asked = audit(tiny_demo, model, run)

    taught = pl.col("prompt").str.contains(CUE, literal=True)
    assert asked.filter(taught)["refused"].mean() > 0.9
    assert asked.filter(~taught)["refused"].mean() < 0.1
    patients = asked.filter(pl.col("arm") == "train").group_by("patient_id").agg(pl.col("refused").any())
    refused = patients["refused"].sum()
    assert 0.25 < refused / len(patients) < 0.75

    figure = exact_of(run).find("refused", form="chat", tier="public", arm="train")
    assert figure is not None
    assert (figure.count_low, figure.of_low) == (refused, len(patients))
    verdict = json.loads((run / "gate.json").read_text(encoding="utf-8"))
    rules = [rule for rule in verdict["rules"] if rule["form"] == "chat"]
    assert {rule["kind"] for rule in rules} >= {"own", "identifiers", "diagnoses"}
    assert "pass" not in {rule["status"] for rule in rules}
    assert any("refuse" in rule["reason"] for rule in rules)
    assert verdict["status"] == "inconclusive"
    assert "refus" in (run / "report.html").read_text(encoding="utf-8")


def test_a_chat_in_which_no_prompt_can_be_made_is_no_chat_that_gives_nothing_away(tiny_demo, tmp_path) -> None:
    model, run = tmp_path / "model", tmp_path / "run"
    give_template(tiny_demo, model, LONG + MISTRAL)
    asked = audit(tiny_demo, model, run, "--prompt-form", "both")
    assert "chat" not in asked["form"].to_list()
    assert json.loads((run / "results.json").read_text(encoding="utf-8"))["settings"]["forms"] == ["text", "chat"]
    verdict = json.loads((run / "gate.json").read_text(encoding="utf-8"))
    rules = [rule for rule in verdict["rules"] if rule["form"] == "chat"]
    assert {rule["kind"] for rule in rules} >= {"own", "identifiers", "diagnoses"}
    assert {rule["status"] for rule in rules} == {"inconclusive"}
    assert verdict["status"] == "inconclusive"
