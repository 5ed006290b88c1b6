"""A comparison of two runs made by hand, as it is published and exact, with a deletion certificate or without."""

from support.results.filled_published import published
from support.results.published_numbers import Notation

from clinaudit.audit.results.comparison.published import (
    compare_published_disclosure,
    compare_published_memorization,
    compare_rules,
)
from clinaudit.reports.schema.comparison import Comparison, Difference, FiguresRead, PairedPatients
from clinaudit.reports.schema.forgetting import Forgetting, HealthCheck
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.wording.comparison import conclusion_sentence

NOT_SHOWN = Estimate(value=None, reason="not published")
PATIENTS = {"both": 4, "a_only": 119, "b_only": 0, "neither": 2}


def compared(*, exact: bool = False, leaks_from: int = 6, certified: bool = True) -> Comparison:
    """Return run A, which leaks from the appointment reminder on, beside B, which leaks from tier `leaks_from` on."""
    form = Notation(exact)
    a, b = published(exact=exact), published(exact=exact, leaks_from=leaks_from)
    pairs = PairedPatients(
        **{name: form.count(number) for name, number in PATIENTS.items()},
        unpaired_a=form.count(0),
        unpaired_b=form.count(3),
        p_value=0.00012 if exact else None,
    )
    figures: FiguresRead = "exact" if exact else "published"
    comparison = Comparison(
        figures=figures,
        differences=[Difference(name="MODEL", a="Scribe 3", b="Scribe 3, forgetting")],
        rules=compare_rules(a, b),
        warnings=["The engines ran on other devices or versions."],
        memorization=compare_published_memorization(
            a, b, {tier: dict.fromkeys(ARMS, pairs) for tier in a.memorization}
        ),
        disclosure=compare_published_disclosure(a, b),
        forgetting=forgetting(form) if certified else None,
    )
    return comparison.model_copy(update={"conclusion": conclusion_sentence(comparison)})


def forgetting(form: Notation) -> Forgetting:
    """Return a certificate over 14 named patients, one of whom still leaks."""
    shown = form.exact
    return Forgetting(
        verdict="still leaks",
        named="14",
        patients={"still leaks": "1", "not shown": "0", "forgotten": "13"} if shown else {},
        before="13 of 14" if shown else ">3 of 14",
        controls="5 of 123" if shown else "<11 of 123",
        controls_above_level=Estimate(value=5 / 123, low=0.013, high=0.092) if shown else NOT_SHOWN,
        collapsed=False,
        health=[
            HealthCheck(
                group="retained",
                question="mean length in tokens",
                unit="tokens",
                allowed="no less than half of A",
                a=118.25 if shown else 120.0,
                b=117.5 if shown else 120.0,
                limit=59.125 if shown else 59.0,
                passed=True,
            ),
            HealthCheck(
                group="retained",
                question="generations shorter than a match",
                unit="generations",
                allowed="at most 0.10 above A, never above 0.50",
                a=0.004 if shown else None,
                b=0.008 if shown else None,
                limit=0.104 if shown else None,
                passed=True,
                reason=None if shown else "not published",
            ),
        ],
        reasons=["over all figures the patient stands out among the patients never seen"],
    )
