"""A site's own signature of a run: Ed25519 over the manifest, which holds the digest of every other file.

Owns how a key is read and what `manifest.sig` holds: the 64 bytes of the signature, which OpenSSL checks, too. Makes no
key and keeps none. `cryptography` signs (the extra `sign`).
"""

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.run.manifest import SIGNATURE_NAME, manifest_bytes
from clinaudit.errors import BadInputError, IntegrityError, UnsafeError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

#: More than any PEM file of one Ed25519 key.
_MAX_KEY_BYTES: Final = 1 << 16
_SIGNATURE_BYTES: Final = 64


def sign_manifest(run: RunDirectory, key_file: Path) -> None:
    """Write `manifest.sig`. The caller has verified the run and holds its lock.

    Raises `BadInputError` for a file that holds no Ed25519 private key, `UnsafeError` for one open to other users, and
    `UsageError` where the library is not installed.
    """
    key = _read_private_key(key_file)
    write_atomically(run.root / SIGNATURE_NAME, key.sign(manifest_bytes(run)))


def check_signature(run: RunDirectory, key_file: Path) -> None:
    """Raise `IntegrityError` unless `manifest.sig` is the signature of the manifest as it stands by this public key."""
    key = _read_public_key(key_file)
    from cryptography.exceptions import InvalidSignature

    path = run.root / SIGNATURE_NAME
    if not path.is_file():
        raise IntegrityError(f"{SIGNATURE_NAME} is missing: nobody signed this run, or it was changed since; sign it")
    with path.open("rb") as file:
        signature = file.read(_SIGNATURE_BYTES + 1)
    try:
        key.verify(signature, manifest_bytes(run))
    except InvalidSignature:
        raise IntegrityError(
            f"{SIGNATURE_NAME} is no signature of this manifest by the key in {key_file.name}; restore both from what "
            "was signed, or check with the signer's public key"
        ) from None


def is_signed(run: RunDirectory) -> bool:
    """Whether there is a signature; whose, and of what, `check_signature` tells."""
    return (run.root / SIGNATURE_NAME).is_file()


def _read_private_key(path: Path) -> "Ed25519PrivateKey":
    _require_library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _read_key_file(path)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UnsafeError(f"the key file {path.name} is open to other users of this machine; chmod 600 it")
    try:
        key = load_pem_private_key(content, password=None)
    except TypeError:
        raise BadInputError(
            f"the key in {path.name} is locked with a passphrase; give a copy without one, closed to others "
            "(`openssl pkey -in LOCKED -out KEYFILE`)"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInputError(
            f"{path.name} holds no Ed25519 private key in PEM; make one with `openssl genpkey -algorithm ed25519`"
        )
    return key


def _read_public_key(path: Path) -> "Ed25519PublicKey":
    _require_library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_read_key_file(path))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise BadInputError(
            f"{path.name} holds no Ed25519 public key in PEM; take it from the private one with "
            "`openssl pkey -in KEYFILE -pubout`"
        )
    return key


def _read_key_file(path: Path) -> bytes:
    if not path.is_file():
        raise BadInputError(f"no such key file: {path.name}; give a file that holds one key in PEM")
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_BYTES)
    except PermissionError:
        raise BadInputError(f"the key file {path.name} cannot be read; make it readable to you") from None


def _require_library() -> None:
    try:
        import cryptography  # noqa: F401 (whether it is there is all that is asked)
    except ImportError:
        raise UsageError(
            '--sign and --key need the library cryptography, which is missing: `pip install "clinaudit[sign]"`'
        ) from None
