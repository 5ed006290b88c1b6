"""`clinaudit verify`. Owns its options and what it prints; computes nothing."""

from contextlib import nullcontext
from pathlib import Path

import click

from clinaudit.audit.commands.options import PATH
from clinaudit.audit.console.streams import say, warn
from clinaudit.errors import BadInputError


@click.command()
@click.argument("run_directory", type=PATH, metavar="RUN")
@click.option("--sign", "signing_key", type=PATH, metavar="KEYFILE", help="Sign it: an Ed25519 private key in PEM.")
@click.option("--key", "public_key", type=PATH, metavar="PUBKEY", help="Check who signed it: a public key in PEM.")
def verify(run_directory: Path, signing_key: Path | None, public_key: Path | None) -> int:
    """Check every file of RUN against its manifest, its verdict against its figures, and print one digest of the run.

    The digest stands for every file of the run: whoever wrote it into the minutes can tell later whether anything was
    changed. With --sign the manifest is signed with your own key, as RUN/manifest.sig, and --key checks that. Rendering
    again and purging change the run: its digest is another one then, and its signature is removed.

    \b
    Example:
      clinaudit verify run/
      openssl genpkey -algorithm ed25519 -out site.pem && chmod 600 site.pem
      openssl pkey -in site.pem -pubout -out site.pub
      clinaudit verify run/ --sign site.pem
      clinaudit verify run/ --key site.pub
    """
    from clinaudit.audit.publication.published_files import read_published, read_record
    from clinaudit.audit.publication.run_verdict import find_verdict
    from clinaudit.audit.run.directory import hold_lock_of_finished
    from clinaudit.audit.run.manifest import lists_evidence, require_finished_run, run_digest
    from clinaudit.audit.run.manifest import verify as verify_files
    from clinaudit.audit.run.signature import check_signature, is_signed, sign_manifest

    finished = require_finished_run(run_directory)
    with hold_lock_of_finished(finished) if signing_key is not None else nullcontext():
        count = verify_files(finished)
        try:
            published = read_published(finished)
        except BadInputError:
            warn("results.json is of an earlier version of clinaudit: its verdict was not held against its figures")
        else:
            if published.decision is not None:
                find_verdict(published, read_record(finished), given=None)
        if signing_key is not None:
            sign_manifest(finished, signing_key)
    if public_key is not None:
        check_signature(finished, public_key)
    say(f"verified: {count} files are what the audit wrote")
    if signing_key is not None:
        say(f"signed: {run_directory / 'manifest.sig'}")
    if public_key is not None:
        say(f"signature: made with the private key of {public_key.name}")
    elif signing_key is None and is_signed(finished):
        say("signature: there is one; --key PUBKEY checks whose it is")
    if lists_evidence(finished):
        warn(
            "manifest.json is of an earlier version of clinaudit: its digests confirm guesses of the evidence; do not "
            "pass it on, and audit again in a new directory, or purge this one"
        )
    say(f"run digest sha256:{run_digest(finished)}: write it into the minutes")
    return 0
