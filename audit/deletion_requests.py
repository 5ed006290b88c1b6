"""`clinaudit forget`: a request from the ids to its certificate, and the register of all deletion requests (PHI).

Read this first. `forget` is the steps in their order: register → audit of the model in use → training again without all
who ever asked → audit of the new model → certificate. Each goes on where it was stopped, so that the same command
finishes a request. The register is one file, `evidence/requests.csv` in a folder of its own: who asked, when, and by
which request. A model that is trained later must leave out the patients of all requests, and each certificate tests
them again: the next training may bring back whom one forgot. So a register that lost a row is refused, and never taken
for a shorter one.
"""

import json
import secrets
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
from filelock import FileLock, Timeout

from clinaudit.audit.assembly.inputs import AuditInputs, load_inputs
from clinaudit.audit.assembly.pipeline import run_audit
from clinaudit.audit.assembly.results import fingerprint
from clinaudit.audit.results.comparison.comparison import compare_runs, prepare_directory, write_comparison
from clinaudit.audit.results.comparison.run_pair import open_pair, require_comparable
from clinaudit.audit.results.publication.published_files import has_evidence
from clinaudit.audit.runtime.console import Progress, warn
from clinaudit.audit.runtime.model.adapter import is_adapter
from clinaudit.audit.runtime.model.files import inspect_adapted, inspect_model
from clinaudit.audit.runtime.model.tokenizer import digest_tokenizer
from clinaudit.audit.runtime.run.directory import FILE_MODE, make_private_directory, write_atomically
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.audit.runtime.run.manifest import require_finished_run
from clinaudit.audit.runtime.settings import AuditSettings, read_settings
from clinaudit.audit.unlearning.certificate.deletion_certificate import Given, certify_runs
from clinaudit.audit.unlearning.methods.model_folder import RECORD_FILE, TRAINING_RECORD_FILE
from clinaudit.audit.unlearning.methods.texts import TrainingPlan
from clinaudit.audit.unlearning.methods.unlearn import train_again
from clinaudit.errors import BadInputError, StorageError, UsageError
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import PatientList, read_patient_list
from clinaudit.reports.schema.certificate import Certificate
from clinaudit.reports.wording.numbers import counted

REGISTER_FILE: Final = "evidence/requests.csv"
#: Of the folder of a request: its key in the register, and whom it names.
REQUEST_FILE: Final = "evidence/request.json"
#: `key` is of one request alone, whatever its number; `entered` a day.
_COLUMNS: Final = ("request", "key", "patient_id", "entered")
#: Seconds to wait for another command that enters a request.
_PATIENCE: Final = 20


class Entered(NamedTuple):
    """A request as the register has it."""

    number: int
    #: Ids of the patients of all other requests, each once, without those of this one.
    others: Sequence[str]
    #: Whether it is the first of the register.
    is_new_register: bool


def enter_request(folder: Path, ids: Sequence[str], register: Path, *, today: date | None = None) -> Entered:
    """Enter a request in the register, unless it stands there; `folder` is that of the request.

    Raises `UsageError` where `folder` holds a request of others, `BadInputError` where the register cannot be read or
    lost a request, and `StorageError` where another command keeps it. Example:
    `enter_request(Path("forgot"), ["P7"], Path("register"))`.
    """
    make_private_directory(folder / "evidence")
    make_private_directory(register / "evidence")
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(register / "evidence" / ".lock", timeout=_PATIENCE, mode=FILE_MODE))
        except Timeout:
            raise StorageError("another command keeps the register of requests; run the same command again") from None
        rows, key = read_register(register), _key_of(folder, ids)
        is_new_register = rows.is_empty() and key is None
        if key is None:
            key = secrets.token_hex(8)
            day = today or datetime.now().astimezone().date()
            # The register first: whoever is stopped between the two stands there twice, and never not at all.
            number = pl.lit(int(rows["request"].max() or 0) + 1, pl.Int64)  # type: ignore[arg-type]
            own = pl.DataFrame({"patient_id": list(ids), "entered": str(day)})
            rows = pl.concat([rows, own.select(number.alias("request"), pl.lit(key).alias("key"), *_COLUMNS[2:])])
            write_atomically(register / REGISTER_FILE, rows.write_csv())
            document = {"key": key, "patients": list(ids)}
            write_atomically(folder / REQUEST_FILE, json.dumps(document, indent=1) + "\n")
    known = rows.filter(key=key)
    if {*known["patient_id"]} != {*ids}:
        raise BadInputError(
            f"the register in {register.name} does not hold this request, which was entered before: it was lost, or is "
            "an older copy or another register; bring back the newest copy, or name it with --register"
        )
    others = rows.filter(pl.col("key") != key)["patient_id"].unique(maintain_order=True)
    return Entered(known["request"][0], [one for one in others if one not in {*ids}], is_new_register)


def read_register(register: Path) -> pl.DataFrame:
    """Return the register, a row a patient and request, none without a file; `BadInputError` where it is damaged."""
    path = register / REGISTER_FILE
    if not path.is_file() and not path.is_symlink():
        return pl.DataFrame(schema={name: pl.Int64 if name == "request" else pl.String for name in _COLUMNS})
    is_whole = False
    rows = pl.DataFrame()
    with suppress(pl.exceptions.PolarsError, OSError):
        rows = pl.read_csv(path, infer_schema=False)
        rows = rows.select(pl.col("request").cast(pl.Int64), pl.col("key", "patient_id"), *_COLUMNS[3:])
        # A row that was cut has no day; numbers with a gap lost a request.
        numbers = rows["request"].unique().sort().to_list()
        days = rows["entered"].str.contains(r"^\d{4}-\d\d-\d\d$").fill_null(False)
        is_whole = not rows.is_empty() and days.all() and numbers == [*range(1, len(numbers) + 1)]
    if not is_whole or rows.select("key", "patient_id").null_count().row(0) != (0, 0):
        raise BadInputError(
            f"the register of requests in {register.name} is damaged: it is a CSV with the columns "
            f"{', '.join(_COLUMNS)}, numbers from 1 without a gap, and a day in each row; bring back the newest copy "
            "of it"
        )
    return rows


def _key_of(folder: Path, ids: Sequence[str]) -> str | None:
    """Return the key of the request in this folder; None where none was begun here."""
    path = folder / REQUEST_FILE
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        key, patients = str(document["key"]), {*document["patients"]}
    except (ValueError, KeyError, TypeError):
        raise BadInputError(f"{path.name} in {folder.name} is damaged; give another --out") from None
    if patients != {*ids}:
        raise UsageError(f"{folder.name} holds the request of other patients; give another --out")
    return key


#: What the folder of a request holds, beside `evidence/`.
MODEL: Final = "model"
BEFORE: Final = "before"
AFTER: Final = "after"
CERTIFICATE: Final = "certificate"
_NAMED_FILE: Final = "evidence/named.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedHere:
    """The new model is trained by this command, on all but those who asked."""

    #: The model before its training on these patients. Where the model in use is an adapter, its base.
    base: Path
    plan: TrainingPlan
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeElsewhere:
    """The site made the new model; without a record of its training what was done is an interim measure."""

    directory: Path
    #: Whom it was trained on; None: as its own folder says, if it does.
    record: Path | None = None
    #: Of adapters: the model in use may be one, and this.
    base: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """A request, and how it is to be fulfilled."""

    #: The model in use.
    model: Path
    corpus: Path
    #: File of the ids of those who ask, one a line.
    ids: Path
    #: Folder of the request.
    out: Path
    #: Folder of the register of all requests.
    register: Path
    new: TrainedHere | MadeElsewhere
    #: An audit of `model` that asked about everybody who is named; None: it is made.
    before: Path | None = None
    #: Options of `clinaudit audit`, as its configuration file has them.
    config: Path | None = None
    quiet: bool = False


def forget(request: ForgetRequest) -> Certificate:
    """Fulfil a request, or go on with one; return the certificate (PHI), which lies under `request.out`."""
    _require_place(request)
    prepare_directory(request.out / CERTIFICATE, exact=False)
    progress = Progress(quiet=request.quiet)
    listed = read_patient_list(request.ids)
    settings = _settings(request, request.model, BEFORE)
    inputs = load_inputs(settings)
    person_of = _persons(inputs.corpus)
    listed.require_known(person_of)
    # By any of a patient's ids it is the same request.
    own = listed.as_people(person_of).ids
    _require_models(request, inputs)
    if request.before is not None:
        require_comparable(request.before, fingerprint(inputs))
        if not has_evidence(require_finished_run(request.before)):
            raise BadInputError(f"the evidence of {request.before.name} was purged; leave --before out")
    entered = enter_request(request.out, own, request.register)
    named, earlier = _find_named(own, entered, inputs.corpus, progress)
    named_file, listing = request.out / _NAMED_FILE, "".join(f"{one}\n" for one in named)
    if (request.out / MODEL).is_dir() and (
        not named_file.is_file() or named_file.read_text(encoding="utf-8") != listing
    ):
        raise UsageError(
            f"patients asked to be forgotten after the model in {request.out.name} was trained, which may have learned "
            "them; give another --out, and the next model leaves all of them out"
        )
    write_atomically(named_file, listing)
    if isinstance(request.new, TrainedHere) and not {*inputs.corpus.patient_ids("train")} - {*named}:
        raise BadInputError("nobody is left to train on: every patient who was trained on is named, or none was")
    asked = {"include_patients": named_file}

    if request.before is None:
        progress.say("1 of 4: the audit of the model in use")
        run_audit(settings.model_copy(update=asked))
    else:
        _require_asked(request.before, named)
    model, record = _make_model(request, inputs.corpus, named, progress)
    progress.say("3 of 4: the audit of the new model")
    run_audit(_settings(request, model, AFTER).model_copy(update=asked))
    progress.say("4 of 4: the certificate")
    pair = open_pair(request.before or request.out / BEFORE, request.out / AFTER, allow_different_corpus=False)
    given = Given(training_record=record, earlier=earlier)
    certified = certify_runs(pair, PatientList(request.ids.name, dict.fromkeys(named, 0)), given)
    comparison = compare_runs(pair, exact=False, forgetting=certified.published)
    write_comparison(request.out / CERTIFICATE, comparison, certified.certificate)
    return certified.certificate


def _require_place(request: ForgetRequest) -> None:
    """Raise `UsageError` where the folder of the request would lie in something that it reads."""
    out = request.out.resolve()
    made = request.new.directory if isinstance(request.new, MadeElsewhere) else None
    read = (request.corpus, request.model, request.new.base, made, request.before, request.register)
    for path in read:
        if path is not None and path.resolve() in (out, *out.parents):
            raise UsageError(f"--out lies in {path.name}, which is read; name a folder of its own")
    if any((folder / REQUEST_FILE).is_file() for folder in out.parents):
        raise UsageError("--out lies in the folder of another request; name a folder of its own")


def _require_models(request: ForgetRequest, inputs: AuditInputs) -> None:
    """Raise `BadInputError` for a model or a record that hours of work would end with."""
    way = request.new
    if isinstance(way, MadeElsewhere):
        base = way.base if is_adapter(way.directory) else None
        new = inspect_model(way.directory) if base is None else inspect_adapted(way.directory, base=base)
        if way.record is not None and not way.record.is_file():
            raise BadInputError(f"no such file: {way.record.name}; name the new model's training record")
    else:
        new = inspect_model(way.base)
        if (way.base / RECORD_FILE).is_file():
            raise BadInputError(
                f"the model in {way.base.name} was trained here, and may have learned them; name the model before any "
                "training on this corpus"
            )
    if new.digest == inputs.model.digest:
        raise BadInputError(f"the model in {new.directory.name} is MODEL itself, which learned the patients")
    if digest_tokenizer(new.tokenizer_directory) != inputs.model.tokenizer_digest:
        raise BadInputError(
            f"the model in {new.directory.name} has another tokenizer than MODEL: their texts cannot be compared"
        )


def _settings(request: ForgetRequest, model: Path, name: str) -> AuditSettings:
    """Return the settings of one of the two audits."""
    given: dict[str, Any] = {"model": str(model), "corpus": request.corpus, "out": request.out / name}
    if is_adapter(model):
        given["base_model"] = request.new.base
    return read_settings({**given, "quiet": request.quiet or None}, config=request.config)


def _persons(corpus: Corpus) -> dict[str, str]:
    """Return the patient whom each id of the tables means, those of the validation split too."""
    return {**{one: one for one in (*corpus.patients, *corpus.validation)}, **corpus.people.person_of}


def _find_named(own: Sequence[str], entered: Entered, corpus: Corpus, progress: Progress) -> tuple[Sequence[str], int]:
    """Return who of this request and all before is in an arm, and how many of those before; says who is in none."""
    person_of = _persons(corpus)
    others = dict.fromkeys(person_of[one] for one in entered.others if one in person_of)
    tested = [one for one in own if one in corpus.patients]
    earlier = [one for one in others if one in corpus.patients and one not in own]
    if entered.is_new_register:
        progress.say("a new register of requests begins; if there is an older one, name it with --register")
    if not tested:
        raise BadInputError(
            f"request {entered.number} is entered in the register, and there is nothing to train or to test: all its "
            "patients are of the validation split, from which no model learned"
        )
    if held := len(own) - len(tested):
        # Not a matter of progress: the certificate says nothing of them.
        warn(
            f"{counted(held, 'named patient')} of {len(own):,}: of the validation split, from which no model learned; "
            "entered in the register, and neither tested nor in the certificate"
        )
    if untrained := sum(corpus.patient(one).split != "train" for one in tested):
        progress.say(
            f"{counted(untrained, 'named patient')} of {len(own):,}: by the corpus, no model was trained on them"
        )
    gone = sum(one not in person_of for one in entered.others)
    progress.say(
        f"request {entered.number}: {counted(len(own), 'patient')}; of other requests {len(earlier):,} more are "
        f"left out and tested again{f', and {gone:,} have no notes in the corpus any more' if gone else ''}"
    )
    return [*tested, *earlier], len(earlier)


def _require_asked(before: Path, named: Sequence[str]) -> None:
    """Raise `BadInputError` where an audit did not ask about everybody who is named."""
    run = require_finished_run(before)
    asked = {row["patient_id"] for row in read_table(run.evidence, "priors") if not row["excluded"]}
    if missing := sum(one not in asked for one in named):
        raise BadInputError(
            f"the audit {before.name} did not ask about {missing} of {len(named)} named patients; leave --before "
            "out, and the audit is made here with them"
        )


def _make_model(
    request: ForgetRequest, corpus: Corpus, named: Sequence[str], progress: Progress
) -> tuple[Path, Path | None]:
    """Return the new model, and the record of whom it was trained on; None where the site gave none."""
    way = request.new
    if isinstance(way, MadeElsewhere):
        progress.say("2 of 4: the new model is given")
        own = way.directory / TRAINING_RECORD_FILE
        return way.directory, way.record or (own if own.is_file() else None)
    progress.say("2 of 4: training again without them")
    left_out = {*named}
    stay = (patient for patient in corpus.patient_ids("train") if patient not in left_out)
    notes = {patient: [note.text for note in corpus.notes_of(patient)] for patient in stay}
    model = train_again(way.base, notes, request.out / MODEL, settings=way.plan, seed=way.seed, progress=progress)
    return model, model / TRAINING_RECORD_FILE
