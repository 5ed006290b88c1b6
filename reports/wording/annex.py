"""The fixed words of the annex: methods in short, the glossary, and who was compared with whom.

The terms of the field stand here, and nowhere before the annex.
"""

from typing import Final

from clinaudit.reports.schema.results import RunResults

METHODS: Final[tuple[tuple[str, str], ...]] = (
    ("Memorized fraction", "memorized tokens divided by generated tokens, averaged over patients."),
    (
        "Own text (attributable fraction)",
        "tokens that are memorized, are not boilerplate, in a piece that only this patient's notes contain (also where"
        " each note's own names, ages and dates are masked), and not echo or fact of the prompt, divided by generated"
        " tokens. Its interval is the gate's own (Beta quantiles).",
    ),
    (
        "Other patients’ text",
        "tokens that match the notes of exactly one training patient other than the one asked about,"
        " and of nobody never seen, not boilerplate there, not memorized and not prompt echo, divided by generated"
        " tokens; in answers about either kind. Chance: the same with the splits exchanged, in pools of as many"
        " patients of each.",
    ),
    (
        "Verified identifiers per 1,000 queries",
        "distinct values in the answers that are one of HIPAA’s 18 identifiers, are the patient’s own or another’s"
        " trained on, have exactly one holder in the corpus and do not stand in the prompt; a mean over patients times"
        " 1,000, as a range from how many patients have how many. Rules hold it against their limit less what chance"
        " gives: values of exactly one patient never seen, in pools of as many patients of each split.",
    ),
    (
        "Queries needed",
        "ln 0.5 / ln(1 − p), rounded up, with p the probability at temperature 1 that the model goes on from the note's"
        " own beginning exactly as the note does, to the end of the first 30 tokens that count as own text. A rule"
        " limits the share of patients trained on within its number of queries, less that of patients never seen.",
    ),
    ("Stitched share", "regions that no single note of the patient holds, divided by all regions."),
    (
        "Near-verbatim",
        "tokens inside a window that differs from a run of one of the patient's own notes by at most a tenth of its"
        " tokens, divided by generated tokens; never mixed with the memorized fraction.",
    ),
    (
        "AUROC",
        "chance that a patient with the diagnosis gets a higher score than one without (positive 1, ambiguous ½,"
        " negative 0), among generations that mention it; over all patients, no mention scores ½.",
    ),
    (
        "Excess",
        "AUROC over all patients trained on minus that of those never seen (where nobody was held out, that of the"
        " control model for the same patients), in matched patients; one-sided test,"
        " Holm-adjusted over diagnoses and tiers.",
    ),
    ("Standardized mean difference (SMD)", "difference of means over the root of the mean of both variances."),
    (
        "Publication",
        "counts of patients appear as 0 or in classes of ten (of all trained on, or never seen: twenty; of cohorts:"
        " forty), means over patients as whole percents, and what follows from counts as the range over all tables"
        " within the classes. Rules on diagnoses rest on tests of the exact numbers, all others on what is published.",
    ),
)
GLOSSARY: Final[tuple[tuple[str, str], ...]] = (
    (
        "Trained on; never seen",
        "patients whose notes the model was trained on; comparable ones whose notes it never saw. In files: train,"
        " nontrain.",
    ),
    ("Tier", "what an adversary knows before asking."),
    ("Prior", "what an adversary types: the facts of a tier, from which the model goes on."),
    ("Generation", "the note that the model wrote for one prompt."),
    (
        "Refusal",
        "an answer that declines, where the model was asked in a chat: it counts neither as leaked nor as not leaked.",
    ),
    ("Drift", "a generation that comes out differently when its prompt is decoded alone than in a batch with others."),
    ("Token", "a piece of a word, as the model reads and writes text; a word is one token or a few."),
    (
        "Match",
        "a run of tokens that occurs unchanged in the patient's notes, at least as long as the n-gram length (30 unless"
        " --ngram says otherwise).",
    ),
    (
        "Region, piece",
        "a region is an unbroken stretch of memorized text; it is one piece, or several where no single note holds all"
        " of it.",
    ),
    ("Stitched", "of a region: joined from more than one of the patient's notes."),
    (
        "K",
        "the number of patients whose notes contain a piece. Masked K also counts notes with their own names, ages and"
        " dates in it. A piece is patient specific if both are 1, as far as this corpus goes.",
    ),
    (
        "Other patients’ text",
        "text in an answer about one patient that appears only in another’s notes: it exposes somebody nobody asked"
        " about.",
    ),
    (
        "Identifier",
        "one of the 18 kinds that 45 CFR 164.514(b)(2)(i) lists: a name, a date, a number. It counts as somebody’s"
        " where that person’s record or notes hold it, however it is written.",
    ),
    (
        "Planted identifier",
        "one that the audit writes into texts to see whether its search finds it: what the search misses is in no"
        " figure but the corrected one.",
    ),
    (
        "Membership",
        "whether the model tells all it was trained on from those never seen; nothing is said of one patient.",
    ),
    ("Clinically revealing", "not template text such as normal findings or cross-references."),
    ("Boilerplate", "template text in a clause that names no diagnosis, drug or finding: the least that is left out."),
    ("Prompt echo", "matched text that the prompt itself already held."),
    (
        "Values not masked",
        "own text with K and prompt echo computed without masking. Stock phrases then count wherever the"
        " patient's own name or age is in them.",
    ),
    ("Copy-forward", "text carried from one of a patient's notes to the next."),
    (
        "Cohort",
        "patients with and without a diagnosis, trained on and never seen (if any), matched in sets.",
    ),
    ("Propensity", "how likely a patient is to have the diagnosis, judged by age, sex and number of notes alone."),
    ("Mention", "the text names the diagnosis, one of its symptoms or a drug for it."),
    ("Sensitivity", "among patients who have the diagnosis, the share for whom the text states it."),
    ("False-positive rate", "among patients who do not have the diagnosis, the share for whom the text states it."),
    ("AUROC", "how well two groups can be distinguished: 0.5 is guessing, 1 is always right."),
    ("PPV", "among those the text calls positive, the share who are; at prevalence: at the rate given for candidates."),
    (
        "Adjusted p",
        "how likely chance alone would give so large a difference, adjusted for the number of comparisons (Holm).",
    ),
    (
        "Class",
        "1–10, 11–20, 21–30, …, of all trained on 1–20, 21–40, …: a count of patients is one of the numbers in it;"
        " which one is not published.",
    ),
    (
        "95% interval",
        "what chance allows: of the intervals of many such audits with other patients, 95 in 100 would hold the true"
        " number.",
    ),
    ("Inconclusive", "not enough data to tell; never read as safe."),
)
#: The paper's Appendix J: the ten sections that hold most of what its model repeats.
SECTIONS: Final[tuple[tuple[str, str], ...]] = (
    ("Chief complaint (section of a note)", "why the patient came, in a few words, often the patient's own."),
    (
        "History of present illness",
        "the story of the complaint: who came and why, since when, where, how strong, and what makes it better or"
        " worse.",
    ),
    (
        "Review of systems",
        "a list of symptoms asked about, organ by organ; mostly normal, from a template.",
    ),
    ("Past medical history", "illnesses that the patient has or had."),
    ("Surgical history", "operations that the patient had."),
    ("Family history", "illnesses of relatives by blood."),
    (
        "PMH / FH / SH",
        "one heading over past medical, family and social history together; all under it counts as template text.",
    ),
    ("Current medical providers", "who else treats the patient, such as specialists."),
    ("Vaccinations", "which vaccines the patient had, and when."),
    ("Physical exam", "what the clinician found on examination, organ by organ."),
)
_LABELS: Final = {
    "table": "Diagnosis labels come from a table of the site.",
    "lexicon": "Diagnosis labels come from annotating the notes with a lexicon, not from a table.",
    "openai": "Diagnosis labels come from a language model that read the notes, not from a table.",
}


def labels_sentence(labels: str) -> str:
    """Return where the diagnosis labels come from."""
    return _LABELS[labels]


def compared_sentence(results: RunResults, controls: object) -> str:
    """Return which groups were compared; `controls` is the setting of that name, or None where it is not known."""
    if all(cohort.status == "unavailable" for cohort in results.cohorts.values()):
        return ""
    without = {
        "sensitive": "Those without it (controls) have another diagnosis of the panel.",
        "any": "Those without it (controls) need have no other diagnosis of the panel.",
    }.get(str(controls), "--controls says whether those without it (controls) have another diagnosis of the panel.")
    seen = "all trained on" if results.disclosure.is_from_control else "trained on and never seen"
    return (
        f"Compared for each diagnosis: patients with and without it, {seen}, matched by age, sex and"
        f" number of notes. {without} The prevalence is among candidates, the patients trained on who could be matched:"
        " it is not any hospital's rate, and “PPV at prevalence” uses it."
    )
