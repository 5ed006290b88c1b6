"""What `clinaudit check` prints of a survey, in plain text: counts and words of the profile, nothing of a note."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from clinaudit.audit.preview.profile_fit import MINIMUM_SHARE, Finding, Kind, entries_of
from clinaudit.audit.preview.prompt_fit import CHARACTERS_A_TOKEN, PromptCount
from clinaudit.audit.preview.survey import Survey
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.facts import PatientFacts
from clinaudit.priors.fragments import FEWEST_OWN_PROMPTS
from clinaudit.priors.table_agreement import Standing
from clinaudit.priors.tiers import FRAGMENT_TIERS, TIERS, Fact
from clinaudit.reports.terminal.layout import wrap
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word
from clinaudit.templates.names import named_layout
from clinaudit.templates.profile import locate_entries

_OF_TABLE: Final = frozenset({Kind.TABLE_OF_OTHERS, Kind.TABLE_DIFFERS, Kind.TABLE_UNTOLD, Kind.TABLE_EXCHANGED})
_DISTINGUISHING: Final = {tier.id: tier.distinguishing for tier in TIERS}
#: Tokens written a second, two examples: they rest on no measurement.
_SLOW, _FAST = 50, 2_000


def survey_text(survey: Survey, *, template: Path | None, minimum_unbroken_share: float) -> str:
    """Return what was found; `minimum_unbroken_share` is what a policy asks of the prompts of a tier."""
    blocks = [
        _corpus_lines(survey),
        _layout_lines(survey),
        _table_lines(survey),
        _finding_lines(survey, template),
        _tier_lines(survey.prompts, minimum_unbroken_share),
        _identity_lines(survey),
        _cohort_lines(survey),
        _work_lines(survey),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _corpus_lines(survey: Survey) -> list[str]:
    about = survey.about
    lines = ["The corpus is valid."]
    for name, of in about.splits.items():
        told = ", ".join(f"{fact} {of[fact]}" for fact in ("age", "sex", "name", "dob"))
        counts = f"{of['patients']:6} patients, {of['notes']} notes ({of['dated']} dated)"
        lines.append(f"  {name:9} {counts}; in the tables: {told}")
    if about.validation[0]:
        patients, notes = about.validation
        lines.append(f"  validation {patients:5} patients, {notes} notes; described in the report, never probed")
    if about.shared_texts:
        lines.append(
            f"  SHARED: {about.shared_texts} note texts stand in both splits ({about.patients_with_shared_texts} "
            "patients); what the model repeats of them cannot be attributed to training"
        )
    return lines + [f"  note: {warning}" for warning in (*survey.corpus.readings, *survey.corpus.warnings)]


def _layout_lines(survey: Survey) -> list[str]:
    template = harmless_text(survey.profile.name)
    lines = [f"Found in the patients' latest notes, by layout of the template {template} (train / nontrain):"]
    for fit in survey.fit.layouts:
        sources = (source for known in survey.facts.values() for source in known.sources)
        patients = [source for source in sources if source.layout == fit.layout]
        arms = _arms(patients)
        lines.append(f"  {named_layout(harmless_text(fit.layout))}: {_pair(arms)} patients")
        places = [*fit.facts, None]
        found = {
            # None: whether any header was found.
            place: _arms(
                [one for one in patients if (place in {*one.in_note, *one.in_prose} if place else one.headers)]
            )
            for place in places
        }
        everywhere = [_place_name(place) for place in places if found[place] == arms]
        if everywhere:
            lines.append(wrap(f"    in every note: {', '.join(everywhere)}", indent="      "))
        lines += [f"    {_place_name(place):17} {_pair(found[place])}" for place in places if found[place] != arms]
    return lines


def _place_name(place: Fact | None) -> str:
    return "some header" if place is None else str(place)


def _table_lines(survey: Survey) -> list[str]:
    table = survey.table
    if not table.columns:
        return []
    lines = ["The patients table beside the patients' own notes:"]
    for fact, told in table.columns.items():
        kinds = ((Standing.DIFFERS, "differ"), (Standing.UNTOLD, "not told"))
        more = "".join(f", {told[kind]} {what}" for kind, what in kinds if told[kind])
        stands, known = told[Standing.STANDS], told.total()
        lines.append(f"  {fact:5} {stands} of {known} values stand in the notes ({_percent(stands, known)}){more}")
    return [*lines, f"  rows that agree: {table.own_rows} of {table.compared}"]


def problems_of(survey: Survey, template: Path | None) -> tuple[str, ...]:
    """Return what stands under PROBLEMS, an entry a problem, in that order; `template` as in `survey_text`."""
    findings = [finding for finding in _findings(survey) if finding.level == "problem"]
    found = [*_located(findings, survey, template), *_unasked_tiers(survey.prompts)]
    if found and _fits_badly(survey):
        with_header, everyone = _with_header(survey)
        share = f"{_percent(with_header, everyone)} of the notes ({with_header} of {everyone})"
        first = (
            f"THE TEMPLATE finds a header in {share}: it is not of these notes. Change it first; whatever else is said "
            "here, of the patients table too, may be its fault."
        )
        found.insert(0, first)
    return tuple(found)


def _findings(survey: Survey) -> list[Finding]:
    return [*survey.fit.findings, *survey.table.findings]


def _with_header(survey: Survey) -> tuple[int, int]:
    layouts = survey.fit.layouts
    return sum(fit.with_header for fit in layouts), sum(fit.patients for fit in layouts)


def _fits_badly(survey: Survey) -> bool:
    with_header, everyone = _with_header(survey)
    return with_header < MINIMUM_SHARE * everyone


def _finding_lines(survey: Survey, template: Path | None) -> list[str]:
    findings = _findings(survey)
    notes = [finding for finding in findings if finding.level == "note"]
    problems = problems_of(survey, template)
    lines = ["No problem was found in how template and tables fit the notes."]
    if problems:
        lines = ["PROBLEMS: prompts are wrong or few, and an audit may find less than the model gives away:"]
        lines += _wrapped(problems)
    of_template = any(finding.level == "problem" and finding.kind not in _OF_TABLE for finding in findings)
    if of_template or any(_unasked_tiers(survey.prompts)):
        lines += _advice_lines(survey, template)
    lines += _wrapped(f"note: {text}" for text in _located(notes, survey, template))
    return lines


def _advice_lines(survey: Survey, template: Path | None) -> list[str]:
    """Return what to do about problems: a template that was chosen, and finds the notes' headers, is mended."""
    if template is not None and not _fits_badly(survey):
        return ["  what to do: mend the template where it is named here (docs/note-templates.md)"]
    names = ("ours.toml", *(f"ours-{number}.toml" for number in range(2, 100)))
    free = next((name for name in names if not Path(name).exists()), "PROFILE")
    learn = f"clinaudit template learn {shell_word(survey.corpus_path)} --out {free}"
    return [
        "  what to do: mend the template (docs/note-templates.md), try another of those that ship, or have",
        f"    one proposed: {harmless_text(learn)}",
    ]


def _unasked_tiers(prompts: Sequence[PromptCount]) -> Iterator[str]:
    """Say at which tiers no patient trained on has a prompt, by the facts that they lack."""
    for count in prompts:
        if not count.arms["train"]["made"]:
            yield (
                f"no prompt can be made at {count.tier}, which needs {' or '.join(_DISTINGUISHING[count.tier])}; "
                "where the notes hold it, the template must say where, and not name it in not_in_notes"
            )


def _located(findings: Sequence[Finding], survey: Survey, template: Path | None) -> Iterator[str]:
    """Yield findings, those of the template after its file and line."""
    of_profile = [finding for finding in findings if finding.kind not in _OF_TABLE]
    places = locate_entries(template, [entries_of(finding, survey.profile) for finding in of_profile])
    where = dict(zip(map(id, of_profile), places, strict=True))
    for finding in findings:
        place = f"{where[id(finding)]}: " if id(finding) in where else ""
        yield f"{place}{finding.text}"


def _wrapped(texts: Iterable[str]) -> Iterator[str]:
    yield from (f"  {wrap(text, indent='    ')}" for text in texts)


def _tier_lines(prompts: Sequence[PromptCount], minimum: float) -> Iterator[str]:
    yield "Patients for whom a prompt can be made, by tier (train / nontrain), and how many prompts fit their notes:"
    for count in prompts:
        made = f"{count.arms['train']['made']:6} / {count.arms['nontrain']['made']}"
        why = "".join(
            f"; {left} excluded: {reason_words(count.tier, reason)}" for reason, left in count.excluded.items()
        )
        fits = " / ".join(_percent(of["fitting"], of["made"] + of["missed"]) for of in count.arms.values())
        yield f"  {count.tier:17} {made:15} fit {fits}{_of_note(count)}{why}{_verdict(count, minimum)}"
        if count.runs_on:
            named = ", ".join(f"{header} {found}" for header, found in sorted(count.runs_on.items()))
            text = f"    prompts run on into: {named}; give the template these headers, or their style"
            yield wrap(text, indent="      ")
    if any(of["fitting"] < of["made"] + of["missed"] for count in prompts for of in count.arms.values()):
        yield "  whose prompts do not fit: --prompts DIR leaves them in a file (PHI), as fits: false"


def _of_note(count: PromptCount) -> str:
    """Return what the prompts are of and what else they show, where there is something to say."""
    own, earlier = ({arm: of[name] for arm, of in count.arms.items()} for name in ("own", "earlier"))
    return "".join(
        (
            f"; nobody else's {_pair(own)}" if any(of["own"] < of["made"] for of in count.arms.values()) else "",
            f"; of an earlier note {_pair(earlier)}" if any(earlier.values()) else "",
            f"; also shows: {also_shows_text(count.also_shows)}" if count.also_shows else "",
        )
    )


def also_shows_text(names: Collection[str]) -> str:
    """Return what else a note's beginning shows beside the facts of its tier."""
    return ", ".join(sorted(names)).replace("_", " ")


def reason_words(tier: str, reason: str) -> str:
    """Return why no prompt was made, with the facts by name that the tier lacks."""
    facts = " or ".join(_DISTINGUISHING[tier])
    return reason.replace("no distinguishing fact", f"not found: {facts}")


def _verdict(count: PromptCount, minimum: float) -> str:
    if not count.arms["train"]["made"]:
        return "; CANNOT BE AUDITED"
    fitting, own = count.share("fitting", of=["made", "missed"]), count.share("own", of=["made"])
    if fitting is not None and fitting < minimum:
        return f"; NO RULE CAN PASS (a policy asks for {100 * minimum:.3g}%)"
    if count.tier in FRAGMENT_TIERS and own is not None and own < FEWEST_OWN_PROMPTS:
        return "; CANNOT BE DECIDED (fewer than half of the prompts are one patient's own)"
    return ""


def _identity_lines(survey: Survey) -> Iterator[str]:
    if survey.tagged:
        everyone = len(survey.corpus.patients)
        styles = ", ".join(f"{style} in those of {count}" for style, count in survey.tagged.items())
        yield wrap(f"Tags of de-identification stand in the notes of {everyone} patients: {styles}", indent="  ")
        facts = Counter(fact for known in survey.facts.values() for fact in known.tagged)
        if facts:
            named = ", ".join(f"{fact} {count}" for fact, count in sorted(facts.items()))
            yield wrap(f"  Nothing but a tag in the latest note, so unknown from it: {named}", indent="    ")
        removed = [tier.id for tier in TIERS if tier.id not in survey.unique]
        if removed:
            yield f"  Tiers for which nobody has a prompt: {', '.join(removed)}"
    if survey.unique:
        yield "Share of the patients whose prompt fits fewer than 2 / 5 / 11 patients of the corpus, by tier:"
        for tier, shares in survey.unique.items():
            yield f"  {tier:17} {' / '.join(f'{100 * share:.0f}%' for share in shares)}"


def _cohort_lines(survey: Survey) -> list[str]:
    source = {
        "table": "labels of the diagnoses table",
        "lexicon": "no diagnoses table: labels read off the notes with the lexicon",
    }[survey.work.label_source]
    held_out = survey.about.splits["nontrain"]["patients"]
    sets = "sets of four" if held_out else "pairs (of an audit with a control model, since nobody was held out)"
    lines = [
        wrap(
            f"Patients by diagnosis, before matching (positive / negative), and the most matched {sets} that there can "
            f"be, of which half or more stay so that age, sex and number of notes are alike; {source}:",
            indent="  ",
        )
    ]
    unknown = sum(
        name not in survey.groups and name not in survey.sensitive for _, name in survey.corpus.diagnosis_labels or {}
    )
    if unknown:
        lines.append(
            f"  note: {unknown} rows name a diagnosis that is not in the built-in panel (ids are lower-case, such as "
            "hiv); without an entry in the configuration an audit will not use them"
        )
    for diagnosis, counts in survey.groups.items():
        lines.append(
            f"  {diagnosis:11} train {counts['train', True]} / {counts['train', False]}, "
            f"nontrain {counts['nontrain', True]} / {counts['nontrain', False]}; "
            f"matched sets: {f'at most {most}' if (most := survey.work.most_sets.get(diagnosis, 0)) else 'none'}"
        )
    return lines


def _work_lines(survey: Survey) -> list[str]:
    work = survey.work
    sampled = (
        f", {_pair(work.sampled)} of them a random sample beside the cohorts" if any(work.sampled.values()) else ""
    )
    about = "about " if any(work.most_sets.values()) else ""
    return [
        "What an audit would ask, with the default settings:",
        f"  targets (train / nontrain): {about}{_pair(work.targets)}{sampled}",
        wrap(
            f"  prompts to continue: {about}{sum(work.generations.values())} "
            f"({', '.join(f'{tier} {form} {made}' for (tier, form), made in work.generations.items())})",
            indent="    ",
        ),
        f"  everyday tasks about nobody: {work.everyday_answers} answers (--no-everyday leaves them out)",
        wrap(
            f"  tokens, at {CHARACTERS_A_TOKEN} characters a token: about {work.prompt_tokens:,} to read, at most "
            f"{work.written_tokens:,} to write",
            indent="    ",
        ),
        wrap(
            "  time: the tokens to write by the tokens that your model writes a second on your machine, which nothing "
            f"here measures; were it {_SLOW}, {_duration(work.written_tokens / _SLOW)}, were it {_FAST:,}, "
            f"{_duration(work.written_tokens / _FAST)}",
            indent="    ",
        ),
        wrap(
            f"  besides, {work.scored_notes} notes of the targets are scored, about {work.scored_tokens:,} tokens to "
            "read (--no-score leaves them out; --score-all scores those of all trained on)",
            indent="    ",
        ),
        wrap(
            "  more where you ask for it: a model with a chat template is asked every prompt and task in a chat as "
            "well (--prompt-form); a control model (--control-model) is asked the prompts of those trained on, "
            "and scores the same notes",
            indent="    ",
        ),
    ]


def _arms(patients: Sequence[PatientFacts]) -> dict[Split, int]:
    counts = Counter(known.arm for known in patients)
    return {"train": counts["train"], "nontrain": counts["nontrain"]}


def _pair(arms: Mapping[Split, int]) -> str:
    return f"{arms['train']} / {arms['nontrain']}"


def _percent(part: int, whole: int) -> str:
    """Return a share in whole percents, downwards: 100% is all of them."""
    return f"{100 * part // whole}%" if whole else "-"


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return "under a minute"
    return f"about {minutes:.0f} min" if minutes < 90 else f"about {minutes / 60:.0f} h"
