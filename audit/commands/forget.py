"""`clinaudit forget` (docs/forgetting.md). Owns its options and what it prints; does nothing itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from clinaudit.audit.commands.options import PATH, value_option
from clinaudit.audit.commands.unlearn import RATE, STEP, training_plan
from clinaudit.audit.runtime.console import say
from clinaudit.errors import UsageError
from clinaudit.reports.schema.certificate import EXIT_STATUS

if TYPE_CHECKING:
    from clinaudit.audit.deletion_requests import MadeElsewhere, TrainedHere

#: LoRA's factors begin at nothing, and bear a rate ten times that of all parameters [choice].
_LORA_RATE: Final = 2e-4


@click.command()
@click.argument("model", type=PATH)
@click.argument("corpus", type=PATH)
@click.argument("ids", type=PATH)
@value_option("--out DIR", "Folder of the request; resumed if it exists.", required=True)
@value_option(
    "--base-model DIR",
    "MODEL before it saw any patient of the corpus: training begins with it. For an adapter, its base.",
)
@value_option("--new-model DIR", "A model that you made without the patients, in place of training one here.")
@value_option(
    "--training-record FILE",
    "The patients whom --new-model was trained on.  [default: its evidence/training-record.json, if it has one; "
    "without one it counts as an interim measure]",
)
@value_option("--before RUN", "An audit of MODEL that asked about the patients.  [default: made in DIR/before]")
@value_option(
    "--register DIR", "The register of all requests (PHI).  [default: the folder deletion-register beside DIR]"
)
@value_option(
    "--train", "LoRA's parameters beside the base model's, or all.", click.Choice(["lora", "all"]), default="lora"
)
@value_option("--epochs", "Passes over the notes.", click.IntRange(1, 1000), default=3)
@value_option("--learning-rate RATE", "Highest rate.  [default: 2e-4 for lora, 2e-5 for all]", RATE)
@value_option("--batch N", f"Notes read at once; a step has at least {STEP}.", click.IntRange(1, 4096), default=4)
@value_option("--config FILE", "Options of the two audits, as `clinaudit audit --config` takes them.")
@value_option("--seed", "Seed of the order of the notes.", click.IntRange(0, 2**31), default=0)
@click.option("--quiet", is_flag=True, help="Only the verdict and where the certificate lies.")
def forget(**options: Any) -> int:
    """Fulfil a deletion request: MODEL forgets the patients of IDS, and a certificate shows it.

    IDS is a file with one patient id a line. They enter the register of requests. The base model is trained again on
    the notes of CORPUS without them and without the patients of all earlier requests. MODEL and the new model are
    audited, and the certificate compares the two. CORPUS must still hold the patients' notes: the new model is searched
    for them. Running the same command again goes on where it stopped.

    DIR gets model/ (the new model, as private as the corpus), before/ and after/ (the audits), certificate/compare.html
    (without names) and certificate/evidence/certificate.html (PHI).

    Exit status: 0 never trained on by the record, and nothing stands out, or forgotten; 1 somebody still leaks, or the
    model is broken; 8 not shown, which is no pass.

    \b
    Example:
      clinaudit forget model/ corpus/ ids.txt --base-model base/ --out request-7/
      clinaudit forget model/ corpus/ ids.txt --new-model new/ --training-record record.json --out request-7/
    """
    from clinaudit.audit.deletion_requests import CERTIFICATE, ForgetRequest
    from clinaudit.audit.deletion_requests import forget as fulfil
    from clinaudit.audit.runtime.run.directory import take_libraries_offline
    from clinaudit.reports.terminal import certificate_text

    new = _new_model(options)
    out: Path = options["out"]
    register = options.pop("register") or out.parent / "deletion-register"
    take_libraries_offline()
    certificate = fulfil(ForgetRequest(register=register, new=new, **options))
    say(certificate_text(certificate, quiet=options["quiet"]))
    place = out / CERTIFICATE
    say(f"to hand on: {place}/compare.html\ncertificate by patient (PHI): {place}/evidence/certificate.html")
    return EXIT_STATUS[certificate.verdict]


def _new_model(options: dict[str, Any]) -> "TrainedHere | MadeElsewhere":
    """Take the options of the new model out of all; `UsageError` for those that do not go together."""
    from clinaudit.audit.deletion_requests import MadeElsewhere, TrainedHere
    from clinaudit.audit.runtime.model.adapter import is_adapter

    base_model, new_model, record = (options.pop(name) for name in ("base_model", "new_model", "training_record"))
    training = {name: options.pop(name) for name in ("train", "epochs", "learning_rate", "batch", "seed")}
    if new_model is not None:
        if base_model is not None and not is_adapter(options["model"]) and not is_adapter(new_model):
            raise UsageError("--base-model and --new-model exclude each other: a new model is not trained again")
        return MadeElsewhere(directory=new_model, record=record, base=base_model)
    if base_model is None:
        raise UsageError(
            "name --base-model, the model before it saw any patient of the corpus, to train again from; or "
            "--new-model, which you trained without the patients"
        )
    if record is not None:
        raise UsageError("--training-record is of --new-model; what is trained here leaves its own")
    scope = training["train"]
    if scope == "lora" and training["learning_rate"] is None:
        training["learning_rate"] = _LORA_RATE
    return TrainedHere(base=base_model, plan=training_plan(training, scope=scope), seed=training["seed"])
