"""What `clinaudit check` prints of a survey, in plain text: counts and words of the profile, nothing of a note."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import polars as pl

from clinaudit.audit.preview.prompt_fit import PromptCount
from clinaudit.audit.preview.survey import Survey
from clinaudit.audit.runtime.served.question import CHARS_PER_TOKEN
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.fragments import FEWEST_OWN_PROMPTS
from clinaudit.priors.table_agreement import Standing
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIERS
from clinaudit.reports.terminal.layout import wrap
from clinaudit.reports.wording.escaped_text import shell_word
from clinaudit.templates.names import NO_LAYOUT, named_layout

_COMMAND: Final = "clinaudit "
_COUNTED: Final = ("made", "own", "earlier")
_DISTINGUISHING: Final = {tier.id: " or ".join(tier.distinguishing) for tier in TIERS}


def survey_text(survey: Survey, *, minimum_unbroken_share: float) -> str:
    """Return what was found; `minimum_unbroken_share` is what a policy asks of the prompts of a tier."""
    blocks = [
        _corpus_lines(survey),
        _layout_lines(survey),
        _table_lines(survey),
        _problem_lines(survey),
        _tier_lines(survey, minimum_unbroken_share),
        _cohort_lines(survey),
        _work_lines(survey),
    ]
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := list(map(_wrapped, block)))) + "\n"


def _wrapped(line: str) -> str:
    """Return a line in lines, those after the first indented further; a command is one, for a shell."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return line if line.lstrip().startswith(_COMMAND) else wrap(line, indent=indent)


def _corpus_lines(survey: Survey) -> Iterator[str]:
    about = survey.about
    yield "The corpus is valid."
    for name, of in about.splits.items():
        told = ", ".join(f"{fact} {of[fact]}" for fact in ("age", "sex", "name", "dob"))
        counts = f"{of['patients']:6} patients, {of['notes']} notes ({of['dated']} dated)"
        yield f"  {name:9} {counts}; tables: {told}"
    if about.validation[0]:
        patients, notes = about.validation
        yield f"  validation {patients:5} patients, {notes} notes; described in the report, never probed"
    if about.shared_texts:
        yield (
            f"  SHARED: {about.shared_texts} note texts stand in both splits ({about.patients_with_shared_texts} "
            "patients); what the model repeats of them cannot be attributed to training"
        )
    if about.tagged:
        styles = ", ".join(f"{style} in those of {count} patients" for style, count in about.tagged.items())
        yield f"  tags of de-identification stand in the notes: {styles}; a fact that is a tag is known to nobody"
    yield from (f"  note: {warning}" for warning in (*survey.corpus.readings, *survey.corpus.warnings))


def _layout_lines(survey: Survey) -> Iterator[str]:
    yield f"Found in the patients' latest notes, by layout of the template {survey.profile.name} (train / nontrain):"
    arms = {split: pl.col("arm") == split for split in survey.about.splits}
    counts = survey.fit.places.group_by("layout", "place", maintain_order=True).agg(
        notes=pl.struct(is_in.sum().alias(split) for split, is_in in arms.items()),
        found=pl.struct((is_in & pl.col("is_found")).sum().alias(split) for split, is_in in arms.items()),
    )
    for layout in (*(layout.name for layout in survey.profile.layouts), NO_LAYOUT):
        places = counts.filter(layout=layout).rows(named=True)
        if places:
            yield f"  {named_layout(layout)}: {_pair(places[0]['notes'])} patients"
        everywhere = [row["place"] for row in places if row["found"] == row["notes"]]
        if everywhere:
            yield f"    in every note: {', '.join(everywhere)}"
        yield from (f"    {row['place']:17} {_pair(row['found'])}" for row in places if row["found"] != row["notes"])


def _table_lines(survey: Survey) -> Iterator[str]:
    table = survey.table
    if not table.columns:
        return
    yield "The patients table beside the patients' own notes:"
    for fact, told in table.columns.items():
        kinds = ((Standing.DIFFERS, "differ"), (Standing.UNTOLD, "not told"))
        more = "".join(f", {told[kind]} {what}" for kind, what in kinds if told[kind])
        stands, known = told[Standing.STANDS], told.total()
        yield f"  {fact:5} {stands} of {known} values stand in the notes ({_percent(stands, known)}){more}"
    yield f"  rows that agree: {table.own_rows} of {table.compared}"


def problems_of(survey: Survey) -> tuple[str, ...]:
    """Return what stands under PROBLEMS, an entry a problem, in that order."""
    unasked = [
        f"no prompt can be made at {count.tier}, which needs {_DISTINGUISHING[count.tier]}; where the notes hold it, "
        "the template must say where, and not name it in not_in_notes"
        for count in survey.prompts
        if not count.arms["train"]["made"]
    ]
    return (*(finding.text for finding in (*survey.fit.findings, *survey.table.findings)), *unasked)


def _problem_lines(survey: Survey) -> Iterator[str]:
    problems = problems_of(survey)
    if not problems:
        yield "No problem was found in how template and tables fit the notes."
        return
    yield "PROBLEMS: prompts are wrong or few, and an audit may find less than the model gives away:"
    yield from (f"  {problem}" for problem in problems)
    yield "  what to do: mend table or template (docs/note-templates.md), or have a template proposed:"
    yield f"    {_COMMAND}template learn {shell_word(survey.corpus_path)} --out ours.toml"


def _tier_lines(survey: Survey, minimum: float) -> Iterator[str]:
    about = "about " if any(survey.most_sets.values()) else ""
    yield (
        f"Patients whom an audit would probe (train / nontrain): {about}{_pair(survey.targets)}. Those for whom a "
        "prompt can be made, by tier, and how many of these prompts fit:"
    )
    for count in survey.prompts:
        made, own, earlier = (_pair({arm: of[name] for arm, of in count.arms.items()}) for name in _COUNTED)
        fits = " / ".join(_percent(of["fitting"], of["made"] + of["missed"]) for of in count.arms.values())
        said = [f"  {count.tier:17} {made:>13}  fit {fits}"]
        said += [f"nobody else's {own}"] if own != made else []
        said += [f"of an earlier note {earlier}"] if any(of["earlier"] for of in count.arms.values()) else []
        said += [f"also shows: {also_shows_text(count.also_shows)}"] if count.also_shows else []
        said += [f"{left} excluded: {reason_words(count.tier, reason)}" for reason, left in count.excluded.items()]
        yield "; ".join([*said, *_verdict(count, minimum)])
        if count.runs_on:
            named = ", ".join(f"{header} {found}" for header, found in sorted(count.runs_on.items()))
            yield f"    prompts run on into: {named}; give the template these headers, or their style"
    if any(of["fitting"] < of["made"] + of["missed"] for count in survey.prompts for of in count.arms.values()):
        yield "  whose prompts do not fit: --prompts FILE leaves them in a file (PHI), as fits: false"


def also_shows_text(names: Collection[str]) -> str:
    """Return what else a note's beginning shows beside the facts of its tier."""
    return ", ".join(sorted(names)).replace("_", " ")


def reason_words(tier: str, reason: str) -> str:
    """Return why no prompt was made, with the facts by name that the tier lacks."""
    return reason.replace("no distinguishing fact", f"not found: {_DISTINGUISHING[tier]}")


def _verdict(count: PromptCount, minimum: float) -> Iterator[str]:
    """Say where no rule can pass or be decided: the lowest share of either arm counts."""
    arms = count.arms.values()
    if not count.arms["train"]["made"]:
        yield "CANNOT BE AUDITED"
    elif any(of["fitting"] < minimum * (of["made"] + of["missed"]) for of in arms):
        yield f"NO RULE CAN PASS (a policy asks for {100 * minimum:.3g}%)"
    elif count.tier in FRAGMENT_TIERS and any(of["own"] < FEWEST_OWN_PROMPTS * of["made"] for of in arms):
        yield "CANNOT BE DECIDED (fewer than half of the prompts are one patient's own)"


def _cohort_lines(survey: Survey) -> Iterator[str]:
    source = {
        "table": "labels of the diagnoses table",
        "lexicon": "no diagnoses table: labels read off the notes with the lexicon",
    }[survey.label_source]
    held_out = survey.about.splits["nontrain"]["patients"]
    sets = "sets of four" if held_out else "pairs (of an audit with a control model, since nobody was held out)"
    yield (
        f"Patients by diagnosis, before matching (positive / negative), and the most matched {sets} that there can be, "
        f"of which half or more stay so that age, sex and number of notes are alike; {source}:"
    )
    if survey.unknown_labels:
        yield (
            f"  note: {survey.unknown_labels} rows name a diagnosis that is not in the built-in panel (ids are "
            "lower-case, such as hiv); without an entry in the configuration an audit will not use them"
        )
    for diagnosis, counts in survey.groups.items():
        most = survey.most_sets.get(diagnosis, 0)
        yield (
            f"  {diagnosis:11} train {counts['train', True]} / {counts['train', False]}, "
            f"nontrain {counts['nontrain', True]} / {counts['nontrain', False]}; "
            f"matched sets: {f'at most {most}' if most else 'none'}"
        )


def _work_lines(survey: Survey) -> Iterator[str]:
    about = "about " if any(survey.most_sets.values()) else ""
    made = ", ".join(f"{tier} {form} {count}" for (tier, form), count in survey.generations.items())
    yield "What an audit would ask, with the default settings and no chat template:"
    yield f"  prompts to continue: {about}{sum(survey.generations.values())} ({made})"
    yield f"  everyday tasks about nobody: {survey.everyday_answers} answers (--no-everyday leaves them out)"
    yield (
        f"  tokens, at {CHARS_PER_TOKEN} characters a token: about {survey.prompt_tokens:,} to read, at most "
        f"{survey.written_tokens:,} to write"
    )


def _pair(arms: Mapping[Split, int]) -> str:
    return f"{arms['train']} / {arms['nontrain']}"


def _percent(part: int, whole: int) -> str:
    """Return a share in whole percents, downwards: 100% is all of them."""
    return f"{100 * part // whole}%" if whole else "-"
