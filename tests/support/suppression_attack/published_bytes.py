"""Every file that a run publishes, as bytes; knows nothing of what is in them."""

import json
from pathlib import Path

from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.reports.tally.tally import Tally

#: What `run.json` says: settings alone.
RECORD = {"settings": {"--seed": 0, "--ngram": 30, "--patients-per-cell": 100}, "clinaudit": "test"}
_MANIFEST = "manifest.json"


def write_published(root: Path, tally: Tally) -> dict[str, bytes]:
    """Publish a run in an empty directory; return its files outside the evidence, by name.

    Of the manifest without the keyed digest of the evidence: every run has a key of its own.
    """
    run = RunDirectory(root)
    run.create()
    publish_run(run, tally, RECORD)
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and run.evidence not in path.parents
    }
    manifest = json.loads(files.pop(_MANIFEST))
    assert manifest.pop("hmac_sha256").keys() == {"evidence/manifest.json"}
    return {**files, _MANIFEST: json.dumps(manifest, sort_keys=True).encode()}
