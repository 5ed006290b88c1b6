"""The gate: each rule of a policy and the status of the run, decided on the exact table of estimates (docs/policy.md).

Owns which rows a rule reads, what stands for chance, and the order of verdicts. Knows no corpus, no model and no stage.
How many more patients an open rule takes is computed from the published table alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.audit.results.gate.asked import (
    FEWEST_FOR_CHANCE,
    Asked,
    Sides,
    asked_forms,
    asked_tiers,
    is_control_silent,
    list_rules,
    rare_in_corpus,
    shows_chance_of,
    silent_control_remark,
)
from clinaudit.audit.results.gate.guards import Comparisons, why_withheld
from clinaudit.audit.results.gate.needed import groups_needed, patients_needed
from clinaudit.audit.results.gate.policy import DIAGNOSES, Policy
from clinaudit.audit.results.gate.words import (
    NOT_AUDITED,
    Decided,
    ask_more_tasks,
    audit_more,
    decided,
    narrowed_sentence,
    not_asked_sentence,
    of_given_answers,
    of_rule,
)
from clinaudit.audit.statistics.estimates import SPLITS, pool_size
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.estimates.frame import METRICS, Estimates, Row
from clinaudit.reports.schema.run_results import Narrowing, Rule, RuleStatus, RunResults, Status, Verdict
from clinaudit.reports.wording.names import display_words, join_words

EXIT_STATUS: Final[dict[Status, int]] = {"pass": 0, "fail": 1, "incomplete": 4, "inconclusive": 8}
#: Share of patients told to have been trained on, at 1% false positives, above which the verdict says so.
MEMBERS_REMARKED: Final = 0.05


def decide(policy: Policy, estimates: Estimates, results: RunResults, *, published: Estimates | None = None) -> Verdict:
    """Return the verdict on a run: any rule failed, else work missing, else any rule open, else pass.

    `estimates` are exact. `published` is what of them is published: how many more patients an open rule takes is
    computed from it alone, and not said without it.
    """
    listed, tiers = list(list_rules(policy, estimates, results)), asked_tiers(estimates)
    left_out = Counter(asked.tier for asked in listed if asked.tier and asked.tier not in tiers)
    # A tier that nobody was asked at tells nothing: its rules are counted, and keep the run from passing.
    not_asked = {tier: left_out[tier] for tier in TIER_IDS if tier in left_out}
    gate = _Gate(policy, estimates, results, Comparisons(estimates, results), published)
    rules = [gate.rule(asked) for asked in listed if asked.tier not in not_asked]
    if policy.guards.draws and results.release in (None, "weights") and "drawn" not in asked_forms(estimates, results):
        not_drawn = decided("not_drawn")._asdict()
        not_drawn.pop("takes_patients")
        of_text = {rule.id for rule in rules if rule.status == "pass" and rule.kind in ("own", "others")}
        rules = [rule.model_copy(update=not_drawn) if rule.id in of_text else rule for rule in rules]
    given = results.settings is not None and results.settings.given
    if given:
        rules = [of_given_answers(rule) for rule in rules]
    asks_of_all = any(limit.metric == DIAGNOSES and limit.diagnoses is None for limit in policy.limits)
    narrowed = [option for option in results.narrowed if option != "diagnosis" or asks_of_all]
    is_done = not any(row.count_high for row in estimates.rows("missing"))
    status, reason = conclude(
        [rule.status for rule in rules],
        is_done=is_done,
        not_asked=not_asked,
        narrowed=narrowed,
        given=given,
        doubts=results.doubts,
    )
    return Verdict(
        status=status,
        policy=policy.name,
        reason=reason,
        rules=rules,
        remarks=[
            *_membership_remark(estimates),
            *silent_control_remark(estimates),
            *_rare_remark(policy, estimates, results),
        ],
        not_asked=not_asked,
        narrowed=narrowed,
        doubts=results.doubts,
    )


def conclude(
    statuses: Sequence[RuleStatus],
    *,
    is_done: bool,
    not_asked: Mapping[str, int],
    narrowed: Sequence[Narrowing],
    doubts: Sequence[str],
    given: bool = False,
) -> tuple[Status, str]:
    """Return the verdict on a run and its reason.

    `not_asked`: tier that was not asked -> rules of the policy about it. `narrowed`: options that left out what the
    policy asks about. `doubts`: why the model may not be as it was trained. `is_done`: nothing that was planned is
    missing. `given`: no model was asked (`analyze`).
    """
    count, total = Counter(statuses), len(statuses)
    rules = f"{total} rules of the tiers that were asked" if not_asked else f"policy's {total} rules"
    left_out = [not_asked_sentence(not_asked, given=given)] if not_asked else []
    left_out += [narrowed_sentence(narrowed)] if narrowed else []
    left_out += ["The model may not be as it was trained."] if doubts else []
    more = "".join(f" {sentence}" for sentence in left_out)
    if count["fail"]:
        return "fail", f"The model breaks {count['fail']} of the {rules}.{more}"
    if not is_done:
        return "incomplete", "Some of the planned work is missing. Run the same command again to go on."
    if count["inconclusive"] or not statuses:
        return "inconclusive", (
            f"There is not enough evidence on {count['inconclusive']} of the {rules}.{more} This is not a pass."
        )
    if left_out:
        return "inconclusive", f"The data show that the model keeps all of the {rules}.{more} This is not a pass."
    return "pass", f"The data show that the model keeps all of the {rules}."


class _Gate(NamedTuple):
    """All that a rule is decided on."""

    policy: Policy
    estimates: Estimates
    results: RunResults
    comparisons: Comparisons
    published: Estimates | None

    def rule(self, asked: Asked) -> Rule:
        """Return a rule with its status, and what closes it where it is open."""
        found, (chance_metric, chance_arm) = self._decide(asked)
        # A guard excuses no failure, and comes before what more patients would mend.
        if found.status == "pass" or found.takes_patients:
            lack = why_withheld(asked, self.policy.guards, self.estimates, knows_chance=bool(chance_metric))
            found = lack or found
        return Rule(
            id=asked.id,
            kind=asked.kind,
            question=asked.question,
            metric=asked.limit.metric,
            **{"arm": "", **asked.place},
            chance_metric=chance_metric,
            chance_arm=chance_arm,
            limit=asked.limit.maximum,
            status=found.status,
            reason=found.reason,
            action=self._action(asked, found, chance_arm),
        )

    def _decide(self, asked: Asked) -> tuple[Decided, tuple[str, str]]:
        """Return how the figure stands to its limit, and metric and arm of chance; both empty where none is known."""
        if asked.kind == "membership":
            return self._membership(asked), ("", "")
        if asked.kind != "diagnoses":
            sides = self._sides(asked, self.estimates)
            chance = ("", "") if sides.chance is None else (sides.chance.metric, sides.chance.arm)
            silent = is_control_silent(asked, self.estimates)
            found = sides.decide(asked.limit.maximum)
            return of_rule(found, asked.kind, asked.arm, silent_control=silent), chance
        if not asked.tier:
            return decided("no_diagnosis_audited"), ("", "")
        key = (asked.diagnosis, asked.tier, asked.form)
        pair = self.comparisons.pairs.get(key)
        found = self.comparisons.decide(key, asked.limit, self.policy.guards)
        return found, ("", "") if pair is None else (asked.limit.metric, pair.other_arm)

    def _sides(self, asked: Asked, table: Estimates) -> Sides:
        """Return the rows of a table that a rule of shares reads; whether the control shows chance, say the exact ones.

        Chance is that of patients never seen where there are at least 50, else of the control model asked the same,
        where its answers show any; else none is known. A row without a figure shows none.
        """
        place = {key: of for key, of in asked.place.items() if key != "arm"}
        metric, arm = asked.limit.metric, asked.arm
        figure = table.find(metric, arm=arm, **place)
        if pools := METRICS[metric].pools:
            sampled, chance = (_known(table.find(of, arm=arm, **place)) for of in pools)
            if _size(table, "nontrain") >= FEWEST_FOR_CHANCE and sampled is not None and chance is not None:
                return Sides(figure, chance, sampled, _scale(table, arm))
        else:
            strangers = _known(table.find(metric, arm="nontrain", **place))
            if strangers is not None and (strangers.of_low or 0) >= FEWEST_FOR_CHANCE:
                return Sides(figure, strangers)
        if arm == "nontrain" or not shows_chance_of(asked, self.estimates):
            return Sides(figure, None)
        return Sides(figure, _known(table.find(metric, arm="control", **place)))

    def _membership(self, asked: Asked) -> Decided:
        found = self.estimates.find("membership_found")
        if found is None or found.low is None or found.high is None:
            return decided("no_figure", why=(found and found.reason) or self.results.not_scored or NOT_AUDITED)
        if found.high <= asked.limit.maximum:
            return decided("members_hidden")
        return decided("around") if found.low <= asked.limit.maximum else decided("members_told")

    def _action(self, asked: Asked, found: Decided, chance_arm: str) -> str:
        if not found.takes_patients or self.published is None:
            return found.action
        if asked.kind == "diagnoses":
            # What else keeps a comparison open, its published difference does not show.
            is_of_area = found == decided("advantage_possible")
            number = groups_needed(self.published, asked, chance_arm) if is_of_area else None
            return found.action if number is None else audit_more(number, " a group")
        if asked.kind == "membership":
            sides = Sides(self.published.find("membership_found"), None)
        else:
            sides = self._sides(asked, self.published)
        number = patients_needed(sides, asked.limit.maximum)
        if number is None:
            return found.action
        if asked.kind == "everyday":
            return ask_more_tasks(number)
        # Beside the control model, or nothing, nobody never seen is asked.
        by_strangers = asked.kind == "membership" or asked.arm == "nontrain" or chance_arm not in ("", "control")
        arms = ("train", "nontrain") if by_strangers else ("train",)
        beside = ", and as many never seen" if by_strangers else ""
        held = min(_size(self.published, arm) for arm in arms)
        return audit_more(number, f" trained on{beside}", holds_fewer=number > held)


def _known(row: Row | None) -> Row | None:
    """Return a row that has a figure, or, published, bounds of one."""
    return None if row is None or (row.low is None and not row.of_high) else row


def _scale(estimates: Estimates, arm: str) -> float:
    """Return N/m: how many trained on may stand in an answer about this arm, of how many are in a pool."""
    patients: dict[Split, int] = {split: int(_size(estimates, split)) for split in SPLITS}
    # A task is about nobody: its pools are those of a train patient, and none is left out of the whole.
    pool = pool_size(patients, "nontrain" if arm == "nontrain" else "train")
    return (patients["train"] - (arm == "train")) / pool


def _size(estimates: Estimates, arm: str) -> float:
    """Return how many patients of a split the corpus holds."""
    row = estimates.find("patients", arm=arm)
    return 0.0 if row is None or row.value is None else row.value


def _membership_remark(estimates: Estimates) -> list[str]:
    """Return that the model tells whose notes it was trained on, where it does; the verdict does not matter."""
    found = estimates.find("membership_found")
    if found is None or found.low is None or found.low <= MEMBERS_REMARKED:
        return []
    return [
        "The model's scores of notes tell patients it was trained on from patients never seen: whoever holds "
        "somebody's note can find out that it was among those it learned."
    ]


def _rare_remark(policy: Policy, estimates: Estimates, results: RunResults) -> list[str]:
    limits = [limit for limit in policy.limits if limit.metric == DIAGNOSES]
    names = [
        display_words(name)
        for name in rare_in_corpus(estimates, results)
        if any(limit.diagnoses is None or name in limit.diagnoses for limit in limits)
    ]
    return (
        [f"Not asked about, since fewer than 11 patients of the corpus have it: {join_words(names)}."] if names else []
    )
