"""Does the program ask a model with the opening that it learned? Three invented layouts, a small model trained on each.

Takes the demo's notes, writes their beginnings in three layouts (several facts a line; one labelled fact a line among
lines that are no facts; British shorthand), trains the demo's small model on each, and compares at the tier
`encounter`, for the same patients of the training data:
  opening   what an audit finds with its own prompts (`--fragment opening`)
  by hand   what is found with openings cut by hand, continued by transformers' own greedy decoding, then `analyze`
  facts     what an audit finds where the facts alone are asked (`--fragment facts`)

    python benchmarks/note_layouts.py DIR [--patients 40] [--layout banner]

Measured on 25 patients of the training data, attributable fraction: banner 83.2% by the opening, 83.2% by hand, 0.0% by
the facts alone; all 25 prompts are those cut by hand. Of all patients of the training data 84.3% by the opening and
0.5% by the facts; of the others 0.0% by either. Shorthand 86.0%, 86.0%, 0.4%; all patients 85.9% and 0.5%.
One fact a line 85.9%, 85.9%, 0.5%; all patients 83.8% and 0.9%.

DIR holds the demo's corpus (`clinaudit demo DIR` makes it); corpora, models and runs go to DIR/layouts.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from clinaudit.audit.demo.training import train_demo_model
from clinaudit.audit.runtime.console.progress import Progress

_PROFILE = r"""
name = "{name}"
date_formats = ["{dates}"]

[[sections]]
name = "Chief Complaint"
headers = ["{complaint}"]

[[sections]]
name = "History of Present Illness"
headers = ["{hpi}"]

[[sections]]
name = "Rest"
headers = ["ros", "past medical history / family history / social history"]

[fields.chief_complaint]
headers = ["{complaint}"]
[fields.hpi]
headers = ["{hpi}"]

[[layouts]]
name = "{name}"
not_in_notes = ["age", "sex", "marital_status", "occupation", "children", "medications"]
{fields}
"""
_FIELDS = {
    "banner": """other_labels = ["MRN", "Status"]
fields.name.labels = ["Patient"]
fields.dob.labels = ["DOB"]
fields.visit_date.labels = ["Date of Service"]
fields.provider.labels = ["Provider"]
fields.practice.labels = ["Location"]""",
    "lines": """fields.name.labels = ["Name"]
fields.dob.labels = ["Date of birth"]
fields.visit_date.labels = ["Seen on"]
fields.provider.labels = ["Clinician"]
fields.practice.labels = ["Site"]""",
    "shorthand": r"""[[layouts.patterns]]
regex = '^(?P<visit_date>\d\d/\d\d/\d{4}) (?P<provider>[^\n]+?) @ (?P<practice>[^\n]+)$'
[[layouts.patterns]]
regex = '^(?P<name>[^\d\n]+) (?P<dob>\d\d/\d\d/\d{4}) NHS'""",
}


def _banner(facts: dict[str, str], number: int) -> str:
    return (
        f"OUTPATIENT CLINIC NOTE\n======\n\nPatient: {facts['patient']}   DOB: {facts['dob']}   MRN: {number:07}\n"
        f"Date of Service: {facts['visit date']}   Provider: {facts['provider']}   Location: {facts['location']}\n"
        "Status: signed\n\n"
    )


def _lines(facts: dict[str, str], number: int) -> str:
    return (
        f"Name: {facts['patient']}\nRecord no {number:07}\nDate of birth: {facts['dob']}\nInsurance on file\n\n"
        f"Seen on: {facts['visit date']}\nClinician: {facts['provider']}\nInterpreter not needed\n"
        f"Site: {facts['location']}\n\n"
    )


def _shorthand(facts: dict[str, str], number: int) -> str:
    return (
        f"{facts['visit date']} {facts['provider']} @ {facts['location']}\n{facts['patient']} {facts['dob']} "
        f"NHS {number:07}\n\n"
    )


#: By layout: its banner, how the complaint and the HPI are headed, and how a date is written.
_LAYOUTS: dict[str, tuple[Callable[[dict[str, str], int], str], str, str, str]] = {
    "banner": (_banner, "chief complaint", "hpi", "%m/%d/%Y"),
    "lines": (_lines, "reason for visit", "history", "%m/%d/%Y"),
    "shorthand": (_shorthand, "c/o", "hpc", "%d/%m/%Y"),
}
_BEGINNING = re.compile(
    r"patient: (?P<patient>.*)\ndob: (?P<dob>.*)\nvisit date: (?P<visit_date>.*)\nprovider: (?P<provider>.*)\n"
    r"location: (?P<location>.*)\ncc: "
)


def main() -> None:
    """Print the attributable fraction of the three ways of asking, a line a layout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--patients", type=int, default=40, help="patients continued by hand (default 40)")
    parser.add_argument("--layout", action="append", choices=_LAYOUTS, help="only this layout (repeatable)")
    arguments = parser.parse_args()
    for layout in arguments.layout or _LAYOUTS:
        folder = arguments.directory / "layouts" / layout
        header = _write_corpus(arguments.directory / "corpus", folder, layout)
        train_demo_model(folder / "corpus", folder / "model", seed=0, progress=Progress())
        audited = {fragment: _audit(folder, fragment) for fragment in ("opening", "facts")}
        prompts = _prompts(folder, arguments.patients)
        by_hand = _continue_by_hand(folder, prompts, header)
        same = sum(prompt == hand for prompt, hand in by_hand["prompts"])
        print(
            f"{layout}: opening {_fraction(folder / 'opening', prompts)}, by hand {by_hand['fraction']}, facts "
            f"{_fraction(folder / 'facts', prompts)} of {len(prompts)} patients; {same} prompts are those cut by hand; "
            f"all patients: opening {audited['opening']}, facts {audited['facts']}",
            flush=True,
        )


def _write_corpus(source: Path, folder: Path, layout: str) -> str:
    """Write the demo's corpus in a layout, and its profile; return the header that follows the banner."""
    write, complaint, hpi, dates = _LAYOUTS[layout]
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for name in ("patients.csv", "diagnoses.csv"):
        shutil.copyfile(source / name, corpus / name)
    rows = []
    numbers: dict[str, int] = {}
    for line in (source / "notes.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        match = _BEGINNING.match(row["text"])
        if match is None:
            raise SystemExit("this is not the demo's corpus: a note begins otherwise")
        facts = {key.replace("_", " "): value.strip() for key, value in match.groupdict().items()}
        for key in ("dob", "visit date"):
            facts[key] = datetime.strptime(facts[key], "%m/%d/%Y").strftime(dates)  # noqa: DTZ007 (a day has no zone)
        number = numbers.setdefault(row["patient_id"], 100_003 + 7_919 * len(numbers))
        rest = row["text"][match.end() :].replace("\nhpi:", f"\n{hpi}:", 1)
        rows.append(json.dumps({**row, "text": f"{write(facts, number)}{complaint}: {rest}"}))
    (corpus / "notes.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    profile = _PROFILE
    for key, value in {"name": layout, "complaint": complaint, "hpi": hpi, "dates": dates}.items():
        profile = profile.replace(f"{{{key}}}", value)
    (folder / "profile.toml").write_text(profile.replace("{fields}", _FIELDS[layout]), encoding="utf-8")
    return f"{complaint}:"


def _audit(folder: Path, fragment: str) -> str:
    run = folder / fragment
    command = [sys.executable, "-m", "clinaudit", "audit", str(folder / "model"), str(folder / "corpus")]
    options = ["--template", str(folder / "profile.toml"), "--tier", "encounter", "--fragment", fragment, "--quiet"]
    done = subprocess.run([*command, *options, "--out", str(run)], check=False, capture_output=True, text=True)
    results = run / "evidence" / "results.json"
    if not results.is_file():
        raise SystemExit(done.stderr)
    arms = json.loads(results.read_text(encoding="utf-8"))["memorization"]["encounter"]
    return " / ".join(f"{arms[arm]['attributable_fraction']['value']:.1%}" for arm in ("train", "nontrain"))


def _prompts(folder: Path, patients: int) -> dict[str, tuple[str, str]]:
    """Return generation id and prompt of the first patients of the training data, by patient id."""
    import polars as pl

    table = pl.read_parquet(folder / "opening" / "evidence" / "generations.parquet").filter(pl.col("arm") == "train")
    chosen = table.sort("patient_id").head(patients)
    return {row["patient_id"]: (row["generation_id"], row["prompt"]) for row in chosen.iter_rows(named=True)}


def _fraction(run: Path, prompts: dict[str, tuple[str, str]]) -> str:
    import polars as pl

    table = pl.read_parquet(run / "evidence" / "generation_metrics.parquet").filter(
        pl.col("patient_id").is_in(list(prompts)) & (pl.col("tokens") > 0)
    )
    return f"{(table['attributable_tokens'] / table['tokens']).mean():.1%}"


def _continue_by_hand(folder: Path, prompts: dict[str, tuple[str, str]], header: str) -> dict:  # type: ignore[type-arg]
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    model = AutoModelForCausalLM.from_pretrained(folder / "model").eval()
    latest: dict[str, tuple[str, str]] = {}
    for line in (folder / "corpus" / "notes.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["patient_id"] in prompts:
            latest[row["patient_id"]] = max(latest.get(row["patient_id"], ("", "")), (row["visit_date"], row["text"]))
    rows, pairs = [], []
    for patient, (name, prompt) in prompts.items():
        text = latest[patient][1]
        end = text.index(header) + len(header)
        ids = tokenizer(text[:end], add_special_tokens=False, return_tensors="pt").input_ids
        budget = min(1000, len(tokenizer(text[end:], add_special_tokens=False).input_ids))
        with torch.inference_mode():
            made = model.generate(ids, max_new_tokens=budget, do_sample=False, pad_token_id=tokenizer.eos_token_id)
        written = tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)
        rows.append(
            {"generation_id": name, "patient_id": patient, "tier": "encounter", "prompt": text[:end], "text": written}
        )
        pairs.append((prompt, text[:end]))
    given = folder / "by-hand.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [sys.executable, "-m", "clinaudit", "analyze", str(given), str(folder / "corpus"), "--quiet"]
    options = ["--tokenizer", str(folder / "model"), "--template", str(folder / "profile.toml")]
    shutil.rmtree(folder / "by-hand", ignore_errors=True)
    subprocess.run([*command, *options, "--out", str(folder / "by-hand")], check=True, capture_output=True)
    return {"fraction": _fraction(folder / "by-hand", prompts), "prompts": pairs}


if __name__ == "__main__":
    main()
