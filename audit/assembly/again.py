"""One text of a finished run made again, by the same model from the same prompt (PHI). Writes nothing."""

from pathlib import Path

from clinaudit.audit.measures.generation.stage import Decoding, cut_at_repeats, make_request, read_stored
from clinaudit.audit.results.publication.published_files import has_evidence, read_published, read_record
from clinaudit.audit.runtime.choices import EngineChoice
from clinaudit.audit.runtime.model.audited_model import find_model
from clinaudit.audit.runtime.model.chat_template import find_chat_template
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import take_libraries_offline
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.audit.runtime.run.manifest import require_finished_run, verify
from clinaudit.errors import BadInputError


def make_again(
    root: Path, generation_id: str, model: Path, *, engine: EngineChoice, base: Path | None
) -> tuple[str, str]:
    """Return what the model answers now, and what it answered in the run; `BadInputError` where either is not there."""
    run = require_finished_run(root)
    verify(run)
    # A run of another version has other tables.
    read_published(run)
    if not has_evidence(run):
        raise BadInputError(f"{run.root.name} has no evidence: it was purged")
    if not (run.evidence / "priors.parquet").is_file():
        raise BadInputError("the texts of this run were given to it (`clinaudit analyze`); it asked no model")
    asked, prior = (
        next((row for row in rows if row["generation_id"] == generation_id and not row.get("excluded")), None)
        for rows in (read_table(run.evidence, "generations"), read_table(run.evidence, "priors"))
    )
    if asked is None or prior is None:
        raise BadInputError(f"{run.root.name} has no such text; `clinaudit show --worst` gives the ids of some")
    if asked["model"] != "audited" or asked["draw"]:
        raise BadInputError("only what the audited model was asked greedily is made again; give the id of another text")
    record = read_record(run)
    digests, settings = record.get("digests"), record.get("settings")
    if not isinstance(digests, dict) or not isinstance(settings, dict):
        raise BadInputError(f"{root.name} does not say which model it audited; nothing can be made again")
    take_libraries_offline(run.work)
    found = find_model(str(model), engine=engine, base_model=base)
    if digests.get("model") != found.digest:
        raise BadInputError(f"{model.name} is not the model that this run audited; give the same files")
    tokenizer = ModelTokenizer(found.tokenizer_directory)
    least = min(settings.get("--ngram", 0), prior["max_new_tokens"])
    decoding = Decoding(
        found.with_compared_weights(tokenizer),
        tokenizer,
        prior["max_new_tokens"],
        find_chat_template(tokenizer) if prior["messages"] else None,
        min_new_tokens=least,
        # A control token that notes hold as text was not barred: where it was written, it may be again.
        control_token_ids=tokenizer.special_ids.difference(asked["token_ids"][:least]),
    )
    request = make_request(prior, decoding)
    loaded = decoding.model.load(context_length=len(request.prompt_ids) + request.max_new_tokens)
    try:
        (output,) = loaded.generate([request])
    finally:
        loaded.close()
    return read_stored(cut_at_repeats(output, tokenizer), tokenizer)[0], asked["text"]
