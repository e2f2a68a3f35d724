"""A certificate of the simulators' own, for clients that speak https alone.

An authority signs one certificate and its key is thrown away: whoever trusts it trusts these two servers, and nothing
that somebody else could sign later.
"""

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A wildcard stands for one label. Clients that build the vendor's host name themselves reach the simulator by an
# adapter or a resolver of their own, and still check the name that they asked for.
HOSTS = (
    "localhost",
    "*.salesforce.com",
    "*.my.salesforce.com",
    "*.sandbox.my.salesforce.com",
    "*.develop.my.salesforce.com",
    "*.scratch.my.salesforce.com",
    "*.hubapi.com",
    "*.hubspot.com",
)
ADDRESSES = ("127.0.0.1", "::1")
LIFE = timedelta(days=365)
SPARE = timedelta(days=1)  # a kept certificate that ends sooner is made anew


@dataclass(frozen=True, slots=True)
class Certificate:
    """Three PEM files: what clients trust, what the server shows, and its key (0600)."""

    authority: Path
    chain: Path
    key: Path


def certificate(folder: Path, now: datetime, hosts: Sequence[str] = ()) -> Certificate:
    """The folder's certificate; made where there is none that lasts, or none that names all of `hosts`."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificate(folder / "crmsim-ca.pem", folder / "crmsim.pem", folder / "crmsim.key")
    wanted = [*HOSTS, *ADDRESSES, *(host for host in hosts if host not in (*HOSTS, *ADDRESSES))]
    if not _serves(made, now, wanted):
        _make(made, now, wanted)
    return made


def _serves(found: Certificate, now: datetime, wanted: Sequence[str]) -> bool:
    try:
        shown = x509.load_pem_x509_certificate(found.chain.read_bytes())
        there = found.authority.exists() and found.key.exists()
        names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    known = {str(name.value) for name in names}
    return there and known >= set(wanted) and shown.not_valid_after_utc > now + SPARE


def _make(into: Certificate, now: datetime, wanted: Sequence[str]) -> None:
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crmsim, a simulator's own authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crmsim")])
    root = _builder(issuer, issuer, authority_key, authority_key, now)
    root = root.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    root = root.add_extension(_usage(signs_certificates=True), critical=True)
    leaf = _builder(subject, issuer, key, authority_key, now)
    leaf = leaf.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    leaf = leaf.add_extension(_usage(signs_certificates=False), critical=True)
    leaf = leaf.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    leaf = leaf.add_extension(x509.SubjectAlternativeName([_name(host) for host in wanted]), critical=False)
    trusted = _pem(root.sign(authority_key, hashes.SHA256()))
    shown = _pem(leaf.sign(authority_key, hashes.SHA256()))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(into.key, private, 0o600)
    _write(into.chain, shown + trusted, 0o644)
    _write(into.authority, trusted, 0o644)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    now: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # a client's clock may be behind
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=signs_certificates, crl_sign=signs_certificates,
        content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(signed: x509.Certificate) -> bytes:
    return signed.public_bytes(serialization.Encoding.PEM)


def _write(path: Path, content: bytes, mode: int) -> None:
    """Whole or not at all: another process may be reading it."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.touch(mode=mode)
    beside.write_bytes(content)
    beside.replace(path)
