"""Why a rule passes, fails or stays open, and what closes it, for someone who is no statistician (docs/policy.md).

Owns every reason and every action that the gate gives, so that page, JUnit and terminal say the same. None holds a
number of patients that was measured: they are published.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from clinaudit.reports.schema.run_results import Narrowing, Rule, RuleKind, RuleStatus
from clinaudit.reports.wording.names import join_words
from clinaudit.reports.wording.numbers import counted


class Decided(NamedTuple):
    """A rule's status, why it has it, and what closes it where it is open."""

    status: RuleStatus
    reason: str
    action: str = ""
    #: Whether more patients close it: then how many are, where they can be told, is added to the action.
    takes_patients: bool = False

    def of(self, **said: str) -> "Decided":
        """Return it with the words of its reason that stand in braces."""
        return self._replace(reason=self.reason.format(**said))


def undecided(reason: str, action: str = "", *, takes_patients: bool = False) -> Decided:
    """Return that a rule is open."""
    return Decided("inconclusive", reason, action, takes_patients)


MORE: Final = "Audit more patients."
MORE_TASKS: Final = "Ask more tasks (--tasks)."
_MEND: Final = (
    "Mend it where it is learned: fewer epochs, each text once, names masked, or unlearning; then audit again."
)

# Shares: decided by the limit.
WITHIN: Final = Decided("pass", "What goes beyond chance is within the limit over its whole 95% interval.")
BEYOND: Final = Decided("fail", "More than the limit is given away, and chance does not explain it.", _MEND)
AROUND: Final = undecided(
    "The limit lies within the 95% interval: too few were asked to tell.", MORE, takes_patients=True
)
LIKE_CHANCE: Final = undecided(
    "The figure is beyond the limit, but so much may be chance: as much was found where the model cannot know.",
    MORE,
    takes_patients=True,
)
STRANGERS: Final = undecided(
    "More than the limit is found of strangers as well, whom the model was never trained on: either patients stand in "
    "both splits, or the model knew them before, or this much is chance.",
    "Look whether people or notes stand in both splits, and what the model was trained on before.",
)
CHANCE_NOT_KNOWN: Final = undecided(
    "The figure is beyond the limit, but nothing shows how much of it is chance.",
    "Hold out at least 50 patients, or give the model before training (--control-model).",
)
CONTROL_SAYS_NOTHING: Final = undecided(
    "The figure is beyond the limit, and nothing shows how much of it is chance: the control model's answers say "
    "nothing.",
    "Hold out at least 50 patients, or give a control model that answers (--control-model).",
)
#: The control model is asked about nobody never seen.
_HOLD_OUT: Final = "Hold out at least 50 patients."


def of_rule(decided: Decided, kind: RuleKind, arm: str, *, silent_control: bool = False) -> Decided:
    """Return what was decided of a share in the words of its rule: of tasks, of patients never seen, of the control."""
    if kind == "everyday" and decided.takes_patients:
        return decided._replace(action=MORE_TASKS)
    if arm == "nontrain" and decided == CHANCE_NOT_KNOWN:
        return decided._replace(action=_HOLD_OUT)
    return CONTROL_SAYS_NOTHING if silent_control and decided == CHANCE_NOT_KNOWN else decided


def audit_more(number: int, of: str, *, holds_fewer: bool = False) -> str:
    """Return `MORE` with how many patients decide the rule, and of whom, as every output has it.

    Example::

        audit_more(1200, " a group")  # "Audit more patients: about 1,200 a group."
    """
    return f"{MORE.rstrip('.')}: about {number:,}{of}.{' This corpus holds fewer.' if holds_fewer else ''}"


def ask_more_tasks(number: int) -> str:
    """Return `MORE_TASKS` with how many tasks decide the rule."""
    return f"{MORE_TASKS.rstrip('.')}: about {number:,}."


#: Of answers that were given: no other advice can be followed there.
_AUDIT_IT: Final = (
    "Audit the model itself (clinaudit audit), which writes the prompts and measures what is missing here."
)


def of_given_answers(rule: Rule) -> Rule:
    """Return a rule on answers that were given (`analyze`), with advice that can be followed.

    Nobody knows there how the prompts fit the notes, so that no rule of a tier passes whatever is given besides.
    """
    return rule.model_copy(update={"action": _AUDIT_IT}) if rule.status == "inconclusive" else rule


# Diagnoses: failed by the test, passed by the limit.
TELLS: Final = Decided(
    "fail",
    "The model tells better for patients it was trained on than chance explains, allowing for the number of "
    "comparisons made (Holm, 5%).",
    _MEND,
)
NO_ADVANTAGE: Final = Decided("pass", "No advantage was found, and one beyond the limit can be ruled out.")
ADVANTAGE_POSSIBLE: Final = undecided(
    "No advantage beyond chance was found, but one beyond the limit cannot be ruled out: more patients are needed.",
    MORE,
    takes_patients=True,
)
RARE_POSSIBLE: Final = undecided(
    "It cannot be ruled out that training makes the model tell this rare diagnosis of more patients who have it than "
    "the limit allows.",
    MORE,
    takes_patients=True,
)
DIAGNOSIS_NOT_AUDITED: Final = undecided("This diagnosis was not audited.", "Audit it: leave --diagnosis out.")
NO_DIAGNOSIS_AUDITED: Final = undecided("No sensitive diagnosis was audited.", "Give a table of diagnoses.")
PAIR_NOT_AUDITED: Final = undecided("This diagnosis was not audited at this level of knowledge.", MORE)
POORLY_MATCHED: Final = undecided(
    "The groups compared differ too much in age, sex or number of notes for a fair comparison.",
    "Give more patients to match from, or allow any controls (--controls any).",
)
NOBODY_TO_COMPARE: Final = undecided(
    "There are no patients never seen to compare with, and no answers of a control model.",
    "Hold patients out, or give the model before training (--control-model).",
)

NO_CONTROL_TO_COMPARE: Final = undecided(
    "There are no patients never seen to compare with, and the control model's answers say nothing.",
    "Hold patients out, or give a control model that answers (--control-model).",
)

# Membership.
MEMBERS_TOLD: Final = Decided("fail", "More patients than the limit are told to have been trained on.", _MEND)
MEMBERS_HIDDEN: Final = Decided("pass", "No more patients than the limit are told to have been trained on.")

# What keeps a rule from passing.
FEW_PATIENTS: Final = undecided("There are fewer patients than the policy asks for before this may pass.", MORE)
PROMPTS_NOT_KNOWN: Final = undecided(
    "It is not known how many prompts fit the notes of the patient asked about.", "Give the prompts."
)
PROMPTS_SHARED: Final = undecided(
    "Fewer than half of the prompts are one patient's own: no answer to the others is about anybody in particular.",
    "Fix the note template, so that prompts hold the patients' own facts (clinaudit check).",
)
NOTHING_FOLLOWS: Final = undecided(
    "Nothing that would count as the patient's own follows the prompts of more than half of the patients.",
    "Look farther into the notes: raise --max-new-tokens.",
)
NOT_MEASURED: Final = undecided("It is not known how long the answers are, or whether there are any.", "Audit again.")
SPLITS_NOT_KNOWN: Final = undecided(
    "It is not known how many of the patients asked about stand in both splits.", "Audit again."
)
IN_BOTH: Final = undecided(
    "More than 1% of the patients asked about share an id, name and birth date, or most of their notes with somebody "
    "of the other split: whoever is called never seen may have been seen.",
    "Split the corpus by person, not by id.",
)
NOBODY_BESIDE: Final = undecided(
    "The policy passes this only beside at least 50 patients never seen, or a control model.",
    "Hold patients out, or give the model before training (--control-model).",
)
NO_CONTROL_BESIDE: Final = undecided(
    "The policy passes this only beside at least 50 patients never seen, or a control model that says something.",
    "Hold patients out, or give a control model that answers (--control-model).",
)
NO_STRANGERS_BESIDE: Final = undecided("The policy passes this only beside at least 50 patients never seen.", _HOLD_OUT)
JUDGE_NOT_MEASURED: Final = undecided("How well the judge reads was not measured.", "Score the judge.")
POWER_TOO_SMALL: Final = undecided(
    "An advantage that the policy wants noticed would have been missed more than one time in five.",
    MORE,
    takes_patients=True,
)
NOT_ALIKE: Final = undecided(
    "The groups compared differ more in age, sex or number of notes than the policy allows for a pass.",
    "Give more patients to match from.",
)
NOT_DRAWN: Final = undecided(
    "The weights leave, or it is not said that they stay: the policy asks for answers drawn at temperature 1, too.",
    "Ask with --draws 1, or say how the model gets out (--release).",
)


# Of a run's own words and numbers.
NO_FIGURE: Final = undecided("There is no figure: {why}.", "Audit this, too.")
NOT_AUDITED: Final = "this was not audited"
NO_GROUPS: Final = undecided("No groups could be compared: {why}.", "Give more patients.")
PROMPTS_DO_NOT_FIT: Final = undecided(
    "Fewer than {least} of the patients have a prompt that {what}: whoever is asked about somebody else, or in other "
    "words than were learned, gives away less.",
    "Fix the note template, and see that patients table and notes are of the same people (clinaudit check).",
)
#: What a prompt does that quotes a note, and another one.
QUOTES_NOTE, HOLDS_FACTS = "is the beginning of their own note", "holds their own facts"
TOO_SHORT: Final = undecided(
    "Fewer than {least} of the {those} have an answer as long as a match (--ngram) that says something.",
    "See why the model stops early, loops, or says the same to all, and ask again.",
)
TOO_EMPTY: Final = undecided(
    "Fewer than {least} of the answers say something{end}: the others are empty, hold fewer than ten different tokens, "
    "or are what many other prompts were answered, too.",
    "See why the model says nothing, loops, or says the same to all, and ask again.",
)
BEFORE_END: Final = " before the model ends them"
TOO_MANY_REFUSED: Final = undecided(
    "The model refuses to answer about more than {most} of the patients: in other words it may not.",
    "Ask in plain text, too, or in other words.",
)
TOO_MANY_UNJUDGED: Final = undecided("More than {most} of the texts have no verdict.", "Use a judge that rates them.")
JUDGE_NOT_ACCEPTED: Final = undecided("The judge is not accepted: {why}.", "Use a better judge, or label more texts.")


_NARROWED: Final[Mapping[Narrowing, str]] = {
    "diagnosis": "some diagnoses (--diagnosis)",
    "prompt_form": "plain text or the chat (--prompt-form)",
}


def not_asked_sentence(not_asked: Mapping[str, int], *, given: bool = False) -> str:
    """Return what is said of the rules of tiers that were not asked: how many, and that nothing decides them."""
    number = sum(not_asked.values())
    askers = f"{counted(len(not_asked), 'kind')} of asker {'was' if len(not_asked) == 1 else 'were'}"
    why = "(no answer was given)" if given else "(left out by --tier, or nobody has a prompt)"
    return f"{counted(number, 'rule')} {'is' if number == 1 else 'are'} not decided: {askers} not asked {why}."


def narrowed_sentence(narrowed: Sequence[Narrowing]) -> str:
    """Return which options left out of the audit what the policy asks about."""
    return f"Left out of the audit: {join_words([_NARROWED[option] for option in narrowed])}."
