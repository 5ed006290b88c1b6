"""Keys of an invented site, as OpenSSL writes them."""

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


@dataclass(frozen=True, slots=True)
class SiteKeys:
    """The files of a key pair."""

    private: Path
    public: Path


def write_site_keys(folder: Path, name: str = "site", *, passphrase: bytes | None = None) -> SiteKeys:
    """Write a new key pair, the private key closed to others."""
    key = Ed25519PrivateKey.generate()
    lock: KeySerializationEncryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    keys = SiteKeys(folder / f"{name}.pem", folder / f"{name}.pub")
    keys.private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
    keys.private.chmod(0o600)
    keys.public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return keys
