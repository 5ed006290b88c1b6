"""Every file that a run publishes, as bytes; knows nothing of what is in them."""

import json
from pathlib import Path

from clinaudit.audit.publication.published_files import publish_run, published
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.reports.exact.results import Results
from clinaudit.reports.exports.model_card import model_card_yaml

#: What `run.json` says: settings alone.
RECORD = {"settings": {"--seed": 0, "--ngram": 30, "--patients-per-cell": 100}, "clinaudit": "test"}
_MANIFEST = "manifest.json"


def write_published(root: Path, results: Results) -> dict[str, bytes]:
    """Publish a run in an empty directory; return its files outside the evidence, by name.

    Of the manifest without the digests of the evidence, which a digest of all texts keeps from confirming a guess.
    """
    run = RunDirectory(root)
    run.create()
    publish_run(run, results, RECORD)
    (run.root / "model-card.yaml").write_text(model_card_yaml(published(run)), encoding="utf-8")
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and run.evidence not in path.parents
    }
    manifest = json.loads(files.pop(_MANIFEST))
    digests = {name: digest for name, digest in manifest.pop("sha256").items() if not name.startswith("evidence/")}
    return {**files, _MANIFEST: json.dumps([manifest, digests], sort_keys=True).encode()}
