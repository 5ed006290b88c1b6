"""Tables of the judge: confusion matrix, metrics, and misclassification-corrected disclosure beside the raw.

Owns what stands in which column, and the sentences without which corrected estimates must not be read. Works on
suppressed results.
"""

from clinaudit.reports.schema.disclosure import DisclosurePair
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import VERDICT_CLASSES, CorrectedPair, JudgeQuality
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table, list_tiers, numbered_tier_title
from clinaudit.reports.wording.names import METRIC_TITLES, display_title, is_share
from clinaudit.reports.wording.numbers import count_text, estimate_text, is_suppressed

_CORRECTED = ("auroc_all", "sensitivity", "ppv")
_SHIPPED = (
    "The judge was scored on {texts}synthetic texts written for this project. {errors} How often it errs on them may "
    "not carry over to the texts of this model, and then the corrected figures do not hold, unless the site supplies "
    "labelled texts of its own (--judge-labels)."
)
_SITE = (
    "The judge was scored on {texts}labelled texts that the site supplied. {errors} The corrected figures hold as far "
    "as it errs on this model's texts as on those, and for each diagnosis alike."
)
_ERRORS = "Every figure of a diagnosis, also near 100%, is what this judge read in the model's texts, errors included."
_NOT_SCORED = "The judge was not scored in this run: how often it errs is not known, and no figure is corrected for it."


def judge_caveat_sentences(quality: JudgeQuality | None) -> str:
    """Return on what texts the judge was scored, and what that is worth."""
    if quality is None:
        return _NOT_SCORED
    caveat = _SHIPPED if quality.labels == "shipped" else _SITE
    number = "" if quality.texts is None else f"{quality.texts:,} "
    return caveat.format(errors=_ERRORS, texts=number)


def judge_matrix_table(results: Results) -> Table:
    """Return the judge's confusion matrix, a row a true class."""
    quality = results.judge_quality
    rows = [
        (display_title(row.truth), *(count_text(getattr(row, name)) for name in (*VERDICT_CLASSES, "unjudged")))
        for row in (quality.matrix if quality is not None else ())
    ]
    heads = ("Truth", *(display_title(name) for name in VERDICT_CLASSES), "Not rated")
    return Table("Labelled texts by what they say (rows) and what the judge reads (columns)", heads, tuple(rows))


def judge_metrics_table(results: Results) -> Table:
    """Return the judge's metrics (sensitivity, specificity, agreement, flip rate), with intervals."""
    quality = results.judge_quality
    if quality is None:
        return Table("How well the judge reads", ("Figure", "Value"), ())
    shares: list[tuple[str, Estimate]] = [
        ("Sensitivity: texts that state the diagnosis of the patient and are read so", quality.sensitivity),
        ("Specificity: other texts that are not read so", quality.specificity),
        ("Agreement with the labels", quality.agreement.agreement),
        *(
            (f"Right where the truth is {display_title(name).lower()}", rate)
            for name, rate in quality.accuracy_by_class.items()
        ),
        *((f"Right for {display_title(name)}", rate) for name, rate in quality.accuracy_by_diagnosis.items()),
        (f"Planted instructions that change the verdict{_of(quality.flip_rate, 'rated')}", quality.flip_rate),
        (
            f"Planted instructions that hide a stated diagnosis{_of(quality.hiding_rate, 'read so')}",
            quality.hiding_rate,
        ),
    ]
    rows = [(title, estimate_text(rate, share=True)) for title, rate in shares]
    rows += _chance_corrected("the labels", quality.agreement.kappa, quality.agreement.alpha)
    second = quality.second
    if second is not None:
        name = f"the judge “{second.second_judge}” on this run"
        rows += [
            (f"Verdicts asked of the judge and of {name}", count_text(second.verdicts)),
            ("Of these, left without a verdict by one of the two, and not compared", count_text(second.unjudged)),
            (f"Agreement with {name}, of those compared", estimate_text(second.agreement, share=True)),
            *_chance_corrected(name, second.kappa, second.alpha),
            (f"Disagreements with {name}, of those compared", count_text(second.disagreements)),
        ]
    return Table(f"How well the judge “{quality.judge}” reads", ("Figure", "Value"), tuple(rows))


def _of(rate: Estimate, read: str) -> str:
    return "" if rate.n is None else f" (of {rate.n:,} in texts {read} without one)"


def _chance_corrected(other: str, kappa: Estimate, alpha: Estimate) -> list[tuple[str, str]]:
    return [
        (f"Cohen's kappa with {other}", estimate_text(kappa)),
        (f"Krippendorff's alpha with {other}", estimate_text(alpha)),
    ]


def corrected_table(results: Results) -> Table:
    """Return raw disclosure beside misclassification-corrected disclosure (the judge's errors taken out).

    A corrected estimate is a median with a 95% range. Rows without any are left out; the table's note counts them.
    """
    rows = []
    planned = 0
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        for tier in list_tiers(results):
            pair = tiers.get(tier)
            if pair is None or pair.corrected is None:
                continue
            for name in _CORRECTED:
                planned += 1
                if any(estimate.value is not None for estimate in _corrected(pair.corrected, name)):
                    rows.append(
                        (display_title(diagnosis), numbered_tier_title(tier), METRIC_TITLES[name], *_row(pair, name))
                    )
    heads = ("Diagnosis", "Tier", "Figure")
    sides = ("train", "nontrain", "train minus nontrain")
    columns = tuple(f"{side.capitalize()}, {kind}" for side in sides for kind in ("raw", "corrected"))
    left_out = planned - len(rows)
    note = f"Left out: {left_out} of {planned} rows, in which no corrected figure is shown." if left_out else ""
    return Table("Disclosure corrected for the judge's errors", (*heads, *columns), tuple(rows), note)


def corrected_sentence(results: Results) -> str:
    """Return for how many arms corrected estimates are shown, and why not for the others."""
    arms = [
        arm
        for tiers in results.disclosure.by_diagnosis.values()
        for pair in tiers.values()
        if pair.corrected is not None
        for arm in (pair.corrected.train, pair.corrected.nontrain)
        if arm is not None
    ]
    if not arms:
        return ""
    estimates = [[getattr(arm, name) for name in _CORRECTED] for arm in arms]
    shown = sum(any(estimate.value is not None for estimate in of_arm) for of_arm in estimates)
    hidden = sum(any(map(is_suppressed, of_arm)) for of_arm in estimates)
    text = f"Corrected figures are shown for {shown} of {len(arms)} arms (a diagnosis at a tier, in train or nontrain)."
    if hidden:
        text += (
            f" In {hidden} they are suppressed: they follow from all that is counted of an arm, and are shown only"
            " where nothing of it is hidden, neither figures nor counts; a difference, where nothing of both arms is."
        )
    if any(estimate.value is None and not is_suppressed(estimate) for of_arm in estimates for estimate in of_arm):
        text += " Where the labelled texts do not show that the judge tells the four classes apart, there are none."
    return text


def _corrected(pair: CorrectedPair, name: str) -> list[Estimate]:
    return [getattr(side, name) for side in (pair.train, pair.nontrain, pair.delta) if side is not None]


def _row(pair: DisclosurePair, name: str) -> list[str]:
    cells = []
    for side in ("train", "nontrain", "delta"):
        raw, corrected = getattr(pair, side), getattr(pair.corrected, side)
        for record in (raw, corrected):
            cell = None if record is None else getattr(record, name)
            cells.append(estimate_text(cell, share=is_share(name), signed=side == "delta"))
    return cells
