"""What commands print of results, in plain text: verdicts, comparisons, certificates, judges, benchmarks, texts (PHI).

Owns the order of the parts, columns and wrapping. What a rule or a cell says is what the report's page says of it.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from clinaudit.reports.estimates.frame import METRICS, Estimates
from clinaudit.reports.schema.certificate import Certificate, Forgetting
from clinaudit.reports.schema.comparison import Change, Comparison
from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, PiiBench
from clinaudit.reports.schema.run_results import LabelSource, RunReport, Verdict
from clinaudit.reports.tables.comparison import change_cells, place_text
from clinaudit.reports.tables.estimates import FORM_TITLES, Table, numbered_tier_title
from clinaudit.reports.tables.pii_bench import headline, measured_domains, scores_table, weakest_sentence
from clinaudit.reports.tables.rule_blocks import Grid, RuleBlock, asker_grid, rule_blocks
from clinaudit.reports.wording.certificate import (
    FIGURES_READ,
    VERDICTS,
    collapse_sentence,
    first_screen,
    verdicts_sentence,
)
from clinaudit.reports.wording.escaped_text import harmless_text, shell_word
from clinaudit.reports.wording.figures import row_text
from clinaudit.reports.wording.names import SIDE_WORDS, STATUSES, display_title
from clinaudit.reports.wording.numbers import counted, percent_text
from clinaudit.reports.wording.rule_rows import KINDS

WIDTH = 100


def align_columns(rows: Sequence[Sequence[str]], *, width: int = WIDTH) -> str:
    """Return rows of text in columns, the first row underlined as headings."""
    lines = align_rows(rows, width=width)
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def table_text(table: Table) -> str:
    """Return a table of a page as plain text: caption, columns, note."""
    parts = [table.caption, align_columns([table.columns, *table.rows]), wrap(table.note, indent="")]
    return "\n".join(part for part in parts if part)


def align_rows(rows: Sequence[Sequence[str]], *, width: int = WIDTH) -> list[str]:
    """Return a line a row, in columns; where they are wider than `width`, the first is cut: numbers never are."""
    cells = [[harmless_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = max(1, width - sum(widths[1:]) - 2 * (len(widths) - 1))
    widths[0] = min(widths[0], room)
    shown = [[first if len(first) <= room else f"{first[: room - 1]}…", *others] for first, *others in cells]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]


def wrap(text: str, *, indent: str, most_lines: int | None = None) -> str:
    """Return text in lines, those after the first indented; `most_lines`: what goes beyond is left out, with "…"."""
    return "\n".join(
        textwrap.wrap(
            harmless_text(text), width=WIDTH, subsequent_indent=indent, max_lines=most_lines, placeholder=" …"
        )
    )


_LEGEND: Final = "✗ fails, ? undecided (not a pass), ✓ passes; the highest figure of the rules with that sign."
#: Lines of failed and of open rules; what goes beyond stands in the report.
_MOST_LINES: Final = 12
#: Columns of the names of askers.
_ASKERS_WIDTH: Final = 34
_NO_VERDICT: Final = "No verdict: no policy was applied. Every figure stands in results.csv."
_EXACT: Final = "Exact figures. They are PHI: do not pass this on."


def report_text(report: RunReport) -> str:
    """Return what `audit` and `show` print of a run: some 40 lines of 100 columns at most."""
    verdict = report.results.verdict
    text = _NO_VERDICT if verdict is None else verdict_text(verdict, report.estimates)
    notes = [_EXACT] if report.is_exact else []
    warnings = len(report.results.warnings) + len(report.results.corpus.warnings if report.results.corpus else ())
    if warnings:
        notes.append(f"{counted(warnings, 'warning')} in the report.")
    return "\n\n".join([text, " ".join(notes)] if notes else [text])


def verdict_text(verdict: Verdict, estimates: Estimates) -> str:
    """Return a verdict with its rules, as `gate` prints it; `estimates` hold their figures.

    The verdict as a sentence, failed rules with their figures, open ones with what closes each, passed ones as a count,
    who could ask by kind of leak.
    """
    parts = ["\n".join([verdict_line(verdict), *(wrap(one, indent="  ") for one in verdict.remarks)])]
    for block in rule_blocks(verdict, estimates):
        rules = counted(sum(len(group.lines) for group in block.groups), "rule")
        if block.groups:
            parts.append(
                f"Passed: {rules}."
                if block.status == "pass"
                else _listed(f"{'Failed' if block.status == 'fail' else 'Open'}, {rules}:", list(_lines(block)))
            )
    grid = asker_grid(verdict, estimates)
    if grid is not None:
        parts.append("\n".join([*_grid(grid), _LEGEND]))
    return "\n\n".join(parts)


def verdict_line(verdict: Verdict) -> str:
    """Return the verdict as a sentence, wrapped."""
    word = STATUSES[verdict.status][0].upper()
    return wrap(f"{word} (policy {verdict.policy}): {verdict.reason}", indent="  ")


def _lines(block: RuleBlock) -> Iterator[str]:
    """Yield what closes open rules, and which; of failed rules each thing that is limited, with every figure."""
    if block.status == "inconclusive":
        for group in block.groups:
            yield f"  {group.action.rstrip('.')} ({group.title}): {group.where}"
        return
    found: dict[str, list[str]] = {}
    for group in block.groups:
        for line in group.lines:
            # Of diagnoses there are as many subjects as diagnoses.
            is_one = group.title == KINDS["diagnoses"]
            subject, place = (group.title, f"{line.subject} · {line.asker}") if is_one else (line.subject, line.asker)
            beyond = "" if line.beyond == "–" else f", beyond chance {line.beyond}"
            found.setdefault(f"  {subject} ({line.limit}): ", []).append(f"{place} {line.figure}{beyond}")
    for subject, figures in found.items():
        yield subject + "; ".join(figures)


def _listed(title: str, lines: Sequence[str]) -> str:
    shown: list[str] = []
    for place, line in enumerate(lines):
        wrapped = wrap(line, indent="    ", most_lines=2).splitlines()
        if len(shown) + len(wrapped) > _MOST_LINES:
            shown.append(f"  … and {counted(len(lines) - place, 'line')} more in the report.")
            break
        shown += wrapped
    return "\n".join([title, *shown])


def _grid(grid: Grid) -> list[str]:
    """Return the lines of the page's grid; names that are too long for one go on in the next."""
    rows, whole = [["", *grid.columns]], []
    for row in grid.rows:
        cells = ["" if cell is None else f"{cell.sign} {cell.figure}".rstrip() for cell in row.cells]
        if len(cells) < len(grid.columns):
            whole.append(wrap(f"{row.title}: {' '.join(cells)}", indent="  "))
            continue
        first, *more = textwrap.wrap(row.title, _ASKERS_WIDTH)
        rows += [[first, *cells], *([name, *[""] * len(cells)] for name in more)]
    return [*align_rows(rows), *whole] if len(rows) > 1 else whole


#: Rows of changes that are printed; the page has the others.
_MOST_ROWS: Final = 20
#: Patients never seen have no text that a mitigation could take away: they stand on the page.
_SHOWN_ARMS: Final = ("", "train", "train-nontrain", "train-control")
_INTERVALS: Final = "In round brackets: 95% intervals."


def comparison_text(comparison: Comparison) -> str:
    """Return what `compare` prints, at most 100 columns wide.

    Both verdicts and the conclusion come first, then what is shown to have changed.
    """
    read = FIGURES_READ[comparison.figures]
    if comparison.figures == "published":
        read += " --exact reads the evidence."
    opening = [] if comparison.rules is None else [verdicts_sentence(comparison.rules)]
    opening.append(comparison.conclusion)
    parts = ["\n".join(wrap(sentence, indent="  ") for sentence in opening), wrap(read, indent="  ")]
    parts.append(_changes(comparison.changes))
    if comparison.forgetting is not None:
        parts.append(_forgetting_summary(comparison.forgetting))
    parts += [wrap(f"Note: {warning}", indent="  ") for warning in comparison.warnings]
    parts.append(_INTERVALS)
    return "\n\n".join(parts) + "\n"


def _changes(changes: list[Change]) -> str:
    """Return the limited figures that are shown to have changed most, and how many figures are not listed."""
    if not changes:
        return "Nothing was measured in both runs."
    limited = [change for change in changes if METRICS[change.metric].may_be_limited]
    moved = [change for change in limited if change.direction and change.arm in _SHOWN_ARMS]
    least = sorted((abs(change.difference.value or 0.0) for change in moved), reverse=True)[:_MOST_ROWS]
    kept = [change for change in moved if abs(change.difference.value or 0.0) >= least[-1]][:_MOST_ROWS]
    cells = ((METRICS[change.metric].title, place_text(change), change_cells(change)[2]) for change in kept)
    rows = [[title, place, difference.split(";")[0]] for title, place, difference in cells]
    unchanged = len(changes) - len(kept)
    lines = [align_columns([["Shown to have changed", "Someone who knows", "B − A"], *rows])] if rows else []
    if unchanged:
        lines.append(f"{counted(unchanged, 'figure')} {'more' if rows else 'without a shown change'} (--out lists all)")
    return "\n".join(lines)


def _forgetting_summary(forgetting: Forgetting) -> str:
    words = VERDICTS[forgetting.verdict]
    sides = {"before": forgetting.before, "after": forgetting.after}
    stood_out = "".join(f"; stood out {side}: {number}" for side, number in sides.items() if number is not None)
    said = [
        f"Named: {forgetting.named}{stood_out}.",
        collapse_sentence(forgetting.collapsed, is_trained_again=forgetting.is_trained_again),
    ]
    lines = (wrap(f"  {sentence}", indent="    ") for sentence in [*said, *forgetting.reasons])
    return "\n".join([f"Named patients: {words.sign} {words.word.upper()}", *lines])


def certificate_text(certificate: Certificate, *, quiet: bool = False) -> str:
    """Return what `forget` prints: the verdict, and unless `quiet` the first screen of the certificate's page (PHI)."""
    words = VERDICTS[certificate.verdict]
    lines = [f"{words.sign} {words.word.upper()}"]
    if not quiet:
        lines.append(wrap(words.meaning, indent="  "))
        lines += [
            wrap(f"{title}{'' if title.endswith('?') else ':'} {text}", indent="  ")
            for title, text in first_screen(certificate)
        ]
        lines += [wrap(f"The request does not pass: {reason}.", indent="  ") for reason in certificate.reasons]
    return "\n".join(lines)


def judge_text(
    name: str, labels: LabelSource, figures: Estimates, kinds: Sequence[tuple[str, int, int, int, int]]
) -> str:
    """Return what `judge-check` prints: how well a judge reads, over all texts, by diagnosis and by kind of sentence.

    `labels`: whose texts it was scored on. A row of `kinds` is a kind, the texts read rightly, of how many, those taken
    for positive, and of how many others.
    """
    texts = "the synthetic texts that ship" if labels == "shipped" else "the labelled texts given"
    rows = [("Figure", "95% interval in brackets")]
    rows += [
        (METRICS[row.metric].title + (f", {display_title(row.diagnosis)}" if row.diagnosis else ""), row_text(row))
        for row in figures
    ]
    text = f"The judge {harmless_text(name)}, scored on {texts}\n\n{align_columns(rows)}"
    if not kinds:
        return text
    by_kind = [("Kind of sentence", "Read rightly", "Taken for positive")]
    by_kind += [
        (harmless_text(kind), f"{right} of {of}", f"{taken} of {others}" if others else "")
        for kind, right, of, taken, others in kinds
    ]
    return f"{text}\n\n{align_columns(by_kind)}"


#: Of the columns of a page those that a terminal has room for, by place, and what they are called in short.
_SCORES: Final = {0: "system", 1: "finds, F1", 3: "needed, F1", 5: "takes needed", 6: "leaves unneeded"}


def bench_text(bench: PiiBench) -> str:
    """Return the benchmark of filters: the scores of each subset, then what must be known beside them."""
    scores = (scores_table(bench, domain, subset) for domain in measured_domains(bench) for subset in BENCH_SUBSETS)
    tables = [_text(table) for table in scores if table.rows]
    lines = (headline(bench), weakest_sentence(bench), *bench.warnings)
    return "\n\n".join([*tables, *(wrap(line, indent="") for line in lines if line)])


def _text(table: Table) -> str:
    rows = [list(_SCORES.values()), *([row[place] for place in _SCORES] for row in table.rows)]
    # No name is cut: those of a model's strategies differ in their ends alone.
    return f"{table.caption}\n{align_columns(rows, width=10 * WIDTH)}"


_MARK: Final = (
    "PHI: texts of the model with what it repeats of patients' notes, printed because --worst was given.\n"
    "They go to this terminal alone; do not pipe them to where notes may not be.\n"
)


def command_again(run: Path, generation_id: str) -> str:
    """Return the command that makes a text again; MODEL stands for what the run audited."""
    return f"clinaudit again {shell_word(run)} {generation_id} MODEL"


def worst_texts(found: Sequence[Mapping[str, Any]], run: Path) -> str:
    """Return what `show --worst` prints (PHI): the texts that give most away, the worst first.

    Every sign that would steer a terminal is replaced.

    A row of `found` is a generation by the columns of `generation_metrics`, with its `prompt`, `text` and `note_id`.
    """
    parts = [_MARK]
    for place, of in enumerate(found, 1):
        own = of["near_verbatim_attributable_tokens"]
        share = percent_text(own / of["tokens"]) if of["tokens"] else "0%"
        edited = own - of["attributable_tokens"]
        lines = "\n".join(map(harmless_text, of["text"].splitlines()))
        parts.append(
            f"{place}. {own:,} of {of['tokens']:,} tokens ({share}) are the own text of patient"
            f" {harmless_text(of['patient_id'])}, from note {harmless_text(of['note_id'])}"
            f"{f'; {edited:,} of them are near-verbatim' if edited else ''}\n"
            f"   prompt {of['generation_id']} · {numbered_tier_title(of['tier'])} ·"
            f" {FORM_TITLES.get(of['form'], of['form'])} · {SIDE_WORDS.get(of['arm'], of['arm'])}\n"
            f"   again: {command_again(run, of['generation_id'])}\n"
            f"{textwrap.indent(lines, '   | ', lambda _: True)}\n"
        )
    return "\n".join(parts if found else [_MARK, "No text holds own text of the patient asked about.\n"])
