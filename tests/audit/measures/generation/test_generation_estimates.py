"""Prompts, how many fit, and completeness as rows: by hand, and from notes."""

import polars as pl
from support.evidence_frames import evidence

from clinaudit.audit.measures.generation.estimates import estimate_completeness, estimate_prompts
from clinaudit.reports.estimates.frame import Estimates

TRAIN = {"form": "text", "tier": "public", "arm": "train"}


def _prior(patient, prompt, **other):
    """A prompt to a target, as text, with a place in the note; its id is made of whose it is, and how it is asked."""
    row = TRAIN | {"patient_id": patient, "role": "target", "model": "audited", "excluded": False, "reason": None}
    row |= {"unbroken": True, "also_shows": [], "earlier_note": False, "draw": 0, "task": None, "prompt": prompt}
    parts = (patient, prompt, "control" if "model" in other else "", other.get("draw"))
    name = " ".join([str(patient), *(str(part) for part in parts[1:] if part)])
    return row | {"generation_id": name if prompt else None} | other


def _frame(rows):
    types = {"also_shows": pl.List(pl.String), "unbroken": pl.Boolean, "reason": pl.String, "task": pl.String}
    return pl.LazyFrame(rows, schema_overrides=types, infer_schema_length=None)


def test_prompts_by_hand():
    found = Estimates(
        estimate_prompts(
            {
                "priors": _frame(
                    [
                        _prior("a", "Name: Ada  Lund"),
                        _prior("a", "Name: Ada Lund, HIV", unbroken=False, also_shows=["name"]),
                        # The same words, but for blanks: neither prompt is one person's.
                        _prior("b", "name: ada lund", also_shows=["name", "phone"]),
                        _prior("c", "Name: Bo Berg", earlier_note=True),
                        _prior("d", "", excluded=True, reason="no name", unbroken=False),
                        _prior("e", "Name: Eve", unbroken=None),
                        _prior("c", "Name: Bo Berg", model="control"),
                        _prior("c", "<user>Name: Bo Berg", form="chat"),
                    ]
                )
            }
        )
    )

    def counts(metric, **place):
        row = found.find(metric, **TRAIN | place)
        return row.count_low, row.of_low

    assert counts("prompt_unbroken") == (2, 4)
    # Of those who are asked.
    assert counts("prompt_own") == (1, 3)
    assert counts("prompt_earlier") == (1, 4)
    assert counts("prompt_shows", by="what", part="name") == (2, 4)
    assert counts("prompt_shows", by="what", part="phone") == (1, 4)
    assert counts("prompt_own", form="chat") == (1, 1)
    assert not found.rows("prompt_own", arm="control")


def test_what_was_planned_and_is_missing_by_hand():
    priors = _frame(
        [
            _prior("a", "one"),
            _prior("a", "two"),
            _prior("b", "three"),
            _prior("b", "", excluded=True, reason="it says so"),
            _prior("c", "", excluded=True, reason="no name"),
            _prior("c", "", excluded=True, reason="no birth date"),
            _prior("b", "three", model="control"),
            _prior("b", "three", form="drawn", draw=1),
            _prior("b", "three", form="drawn", draw=2),
            *(_prior(None, name, role="nobody", tier="everyday", arm=None, task=name) for name in ("t0", "t1")),
        ]
    )
    generations = evidence(
        generations=[
            {"generation_id": name, "patient_id": patient, "arm": "train", "tier": "public", **asked}
            for name, patient, asked in (
                ("a one", "a", {"diagnoses": ["hiv", "ptsd"]}),
                ("b three", "b", {"diagnoses": ["hiv"]}),
                ("b three control", "b", {"model": "control"}),
                ("b three 1", "b", {"form": "drawn", "draw": 1}),
                ("None t0", None, {"role": "nobody", "tier": "everyday", "arm": None}),
            )
        ]
    )["generations"]
    judgements = pl.LazyFrame({"generation_id": ["a one", "b three"], "diagnosis": ["hiv", "hiv"]})
    found = Estimates(estimate_completeness({"priors": priors, "generations": generations, "judgements": judgements}))

    def counts(metric, part, **place):
        row = found.find(metric, **TRAIN | place, by="reason" if metric == "excluded" else "stage", part=part)
        return row.value, row.of_low

    assert found.find("patients", **TRAIN).value == 2
    assert found.find("patients", **TRAIN | {"arm": "control"}).value == 1
    # Of the first patient's two prompts one was not answered, and of its answer one diagnosis was not judged.
    assert (counts("planned", "generations")[0], counts("missing", "generations")) == (2, (1, 2))
    assert counts("missing", "judgements") == (1, 2)
    assert counts("missing", "generations", arm="control") == (0, 1)
    # A task is missing as a patient is.
    assert counts("missing", "generations", tier="everyday", arm="") == (1, 2)
    # One of two draws is there.
    assert counts("missing", "generations", form="drawn") == (1, 1)
    # Who has a prompt for another diagnosis was asked; of two reasons the first by letter counts.
    assert counts("excluded", "no birth date") == (1, 3)
    assert len(found.rows("excluded")) == 1
