"""The JWT of the bearer flow: RS256, signed by the key whose certificate the connected app has (SF-help JWT flow)."""

import base64
import binascii
from dataclasses import dataclass

import orjson
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa


@dataclass(frozen=True, slots=True)
class Claims:
    """`exp` in Unix seconds; clients send it as a number or as a text."""

    iss: str
    sub: str
    aud: str
    exp: float


def read(token: str, pem: str) -> Claims:
    """The claims of a token that this key signed. Raises ValueError that says what is wrong with it."""
    try:
        head, body, signature = token.split(".")
        header, claims = orjson.loads(_decoded(head)), orjson.loads(_decoded(body))
        if header.get("alg") != "RS256":
            raise ValueError(f"the algorithm must be RS256, not {header.get('alg')}")
        _key(pem).verify(_decoded(signature), f"{head}.{body}".encode(), padding.PKCS1v15(), hashes.SHA256())
        return Claims(str(claims["iss"]), str(claims["sub"]), str(claims["aud"]), float(claims["exp"]))
    except InvalidSignature:
        raise ValueError("another key has signed it") from None
    except (KeyError, TypeError, AttributeError, binascii.Error) as trouble:
        raise ValueError(f"no JWT: {trouble}") from None


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _key(pem: str) -> rsa.RSAPublicKey:
    if not pem:
        raise ValueError("the app has no key: --jwt-key, or POST /__sim__/app")
    data, certified = pem.encode(), "CERTIFICATE" in pem
    key = x509.load_pem_x509_certificate(data).public_key() if certified else serialization.load_pem_public_key(data)
    if not isinstance(key, rsa.RSAPublicKey):
        raise ValueError("the app's key is no RSA key")
    return key
