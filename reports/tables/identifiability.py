"""Tables of how identifiable the patients are: how many patients a prompt fits, tags, and notes that were too long.

Owns what stands in which column.
"""

from clinaudit.reports.schema.corpus import NOT_ASKED, UNIQUENESS_BINS, PublishedCorpus
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.tables.table import Table, asked_about, order_tiers
from clinaudit.reports.wording.names import display_title
from clinaudit.reports.wording.numbers import count_text, estimate_text


def uniqueness_table(corpus: PublishedCorpus) -> Table:
    """Return how many patients of the corpus a tier's facts fit, by tier and split."""
    rows = [
        (
            *asked_about(tier, arm),
            *(count_text(split.uniqueness[tier][name]) for name in (*UNIQUENESS_BINS, NOT_ASKED)),
            *(estimate_text(share, share=True) for share in split.fewer_than[tier].values()),
        )
        for tier in order_tiers({tier for split in corpus.identifiability.values() for tier in split.uniqueness})
        for arm in ARMS
        if (split := corpus.identifiability.get(arm)) is not None and tier in split.uniqueness
    ]
    if not rows:
        return Table("How many patients a prompt fits", (), ())
    bins = ("Fits the patient alone", "2 to 4", "5 to 10", "More", "Has none")
    shares = ("Fits fewer than 2", "fewer than 5", "fewer than 11")
    note = (
        "Of each patient, how many patients of the corpus have the same facts as the tier's prompt holds. A prompt "
        "that fits one patient asks about that patient, whoever writes it. Shares are of those who have a prompt."
    )
    return Table("How many patients a prompt fits", ("Tier", "Split", *bins, *shares), tuple(rows), note)


def notes_table(corpus: PublishedCorpus) -> Table:
    """Return in whose notes tags of de-identification stand, and whose are too long to have been trained on."""
    rows = []
    for arm, split in corpus.identifiability.items():
        for style, count in split.tagged.items():
            share = estimate_text(split.tagged_share[style], share=True)
            rows.append((f"Tags such as {style}", display_title(arm), count_text(count), share))
        if split.longer_than_trained.high:
            longer = count_text(split.longer_than_trained)
            rows.append(("A note longer than what the model was trained on", display_title(arm), longer, ""))
        if split.several_ids.high:
            rows.append(("More than one id", display_title(arm), count_text(split.several_ids), ""))
    if corpus.targets_in_both_splits is not None and corpus.targets_in_both_splits.high:
        both = count_text(corpus.targets_in_both_splits)
        rows.append(("Ids in both splits, of the targets", display_title("train"), both, ""))
    heads = ("Patients with", "Split", "Patients", "Share")
    return Table("De-identification, length of the notes, and ids", heads, tuple(rows))
