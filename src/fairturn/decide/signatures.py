"""Whether a request comes from who it says: keyed digests and shared secrets, over the bytes as they came.

Every doubt is a BadSignature: a header that is missing, empty, not ASCII, of another length. Secrets are a list, so
that two are good while one is being replaced. The vendors' published vectors are among the tests.
"""

from __future__ import annotations

import binascii
import hmac
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote_to_bytes

from fairturn.config import Hmac, SharedSecret, Unsigned
from fairturn.decide import paths
from fairturn.decide.splitting import Limits, document
from fairturn.errors import BadSignature, ConfigError, Fault, RefusedRequest

PLACE: Final = re.compile(r"\{(\w+)\}")
PLACES: Final = ("body", "timestamp", "id", "method", "url")
# The escapes that HubSpot's v3 signature is taken over in their plain form (its guide, "Validate v3 signatures").
URL_ESCAPES: Final = re.compile(rb"%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)", re.IGNORECASE)
MOST_CANDIDATES: Final = 32  # signatures in one header; a rotation needs two


class Request(NamedTuple):
    """What a verifier looks at. Header names in lower case; all values as they came."""

    method: str
    url: str  # as the sender called it: public URL, path and query
    headers: Mapping[bytes, bytes]
    query: bytes
    body: bytes


Verifier = Callable[[Request, datetime], None]  # raises BadSignature


def compile_verifier(
    verify: Hmac | SharedSecret | Unsigned, secrets: tuple[bytes, ...], limits: Limits | None = None
) -> Verifier:
    """Raises ConfigError for settings that could not verify anything; an empty secret above all."""
    match verify:
        case Unsigned():
            return _anybody
        case Hmac():
            return _Digest(verify, secrets).check
        case SharedSecret():
            return _shared(verify, secrets, limits or Limits())


def signs_url(verify: Hmac | SharedSecret | Unsigned) -> bool:
    return isinstance(verify, Hmac) and "{url}" in verify.signed


def _anybody(_request: Request, _now: datetime) -> None:
    pass


def _fault(message: str, remedy: str, key: str) -> ConfigError:
    return ConfigError((Fault(message, remedy, key=f"verify.{key}"),))


def _strong(secrets: tuple[bytes, ...]) -> tuple[bytes, ...]:
    if not secrets or any(not secret.strip() for secret in secrets):
        raise _fault(
            "a secret is missing or empty, so anybody could sign",
            'Set the variable or file that `secrets` names, or say verify.type = "unsigned" if anybody may post.',
            "secrets",
        )
    return secrets


class _Digest:
    """A keyed digest of a template over the request."""

    def __init__(self, verify: Hmac, secrets: tuple[bytes, ...]) -> None:
        self.verify = verify
        self.digests = tuple(keyed(_key(secret, verify), verify.algorithm) for secret in _strong(secrets))
        self.header = _name(verify.header, "header")
        self.stamp_header = _name(verify.timestamp_header, "timestamp_header") if verify.timestamp_header else None
        self.stamp_pair = verify.timestamp_pair.encode() if verify.timestamp_pair else None
        self.id_header = _name(verify.id_header, "id_header") if verify.id_header else None
        self.prefix = verify.prefix.encode()
        self.decode = _from_hex if verify.encoding == "hex" else _from_base64
        self.template = _template(verify)
        self.body_alone = self.template == ("", "body", "")  # what most sign: nothing to put together
        if verify.format in {"pairs", "list"} and not self.prefix:
            raise _fault(f'format "{verify.format}" needs the name of the signature', 'Write prefix = "v1".', "prefix")
        if self.stamp_pair and verify.format != "pairs":
            raise _fault("timestamp_pair is read from a header of pairs", 'Write format = "pairs".', "timestamp_pair")

    def check(self, request: Request, now: datetime) -> None:
        value = request.headers.get(self.header, b"")
        pairs = _pairs(value) if self.verify.format == "pairs" else []
        candidates = [found for text in self._texts(value, pairs) if (found := self.decode(text))]
        alone = self.body_alone
        good = False
        for signed in (request.body,) if alone else _variants(self.template, self._parts(request, pairs, now)):
            for keyed_digest in self.digests:
                digest = keyed_digest(signed)
                for candidate in candidates:
                    # No early end: which secret matched, or whether one did, is not to be read from the time.
                    good |= hmac.compare_digest(digest, candidate)
        if not good:
            raise BadSignature

    def _texts(self, value: bytes, pairs: list[tuple[bytes, bytes]]) -> list[bytes]:
        """The signatures in the header, still encoded."""
        match self.verify.format:
            case "bare":
                return [value.strip()]
            case "prefix":
                return [value.removeprefix(self.prefix)] if value.startswith(self.prefix) else []
            case "pairs":
                return [text for name, text in pairs if name == self.prefix][:MOST_CANDIDATES]
            case "list":
                split = [entry.partition(b",") for entry in value.split()]
                return [text for name, _, text in split if name == self.prefix][:MOST_CANDIDATES]

    def _parts(self, request: Request, pairs: list[tuple[bytes, bytes]], now: datetime) -> dict[str, bytes]:
        parts = {
            "body": request.body,
            "method": request.method.encode(),
            "url": request.url.encode("latin-1", "replace"),
        }
        if self.id_header:
            parts["id"] = _present(request.headers.get(self.id_header))
        stamp = None
        if self.stamp_pair:
            stamp = _present(next((text for name, text in pairs if name == self.stamp_pair), None))
        elif self.stamp_header:
            stamp = _present(request.headers.get(self.stamp_header))
        if stamp is not None:
            parts["timestamp"] = stamp  # the header's own text: 1707926838792 never becomes 1707926838792.0
            _in_time(stamp, self.verify.timestamp_unit, self.verify.tolerance, now)
        return parts


def keyed(key: bytes, algorithm: str) -> Callable[[bytes], bytes]:
    """HMAC of messages under one key: 1.1 us a message, and 1.7 of hmac.digest, which looks the algorithm up and hashes
    the padded key again each time.
    """
    empty = hmac.new(key, None, algorithm)

    def digest(message: bytes) -> bytes:
        mac = empty.copy()
        mac.update(message)
        return mac.digest()

    return digest


def _template(verify: Hmac) -> tuple[str, ...]:
    """Literals at even places, names at odd ones."""
    pieces = tuple(PLACE.split(verify.signed))
    names = pieces[1::2]
    for name in names:
        if name not in PLACES:
            known = ", ".join(f"{{{place}}}" for place in PLACES)
            raise _fault(f"{{{name}}} is not a part of a request", f"The parts are {known}.", "signed")
    if "body" not in names:
        raise _fault("the body is not part of what is signed, so anybody could change it", "Add {body}.", "signed")
    stamped = bool(verify.timestamp_header or verify.timestamp_pair)
    if stamped != ("timestamp" in names):
        raise _fault(
            "the time stamp has to be both found and signed",
            "Use {timestamp} in `signed` together with timestamp_header or timestamp_pair, or neither.",
            "signed",
        )
    if ("id" in names) != bool(verify.id_header):
        raise _fault("{id} and id_header belong together", "Set both or neither.", "id_header")
    return pieces


def _variants(template: tuple[str, ...], parts: Mapping[str, bytes]) -> list[bytes]:
    """The signed bytes; twice where the URL holds escapes that some senders sign in their plain form."""
    variants = [_filled(template, parts)]
    if "url" in template[1::2]:
        plain = URL_ESCAPES.sub(lambda match: bytes.fromhex(match[1].decode()), parts["url"])
        if plain != parts["url"]:
            variants.append(_filled(template, {**parts, "url": plain}))
    return variants


def _filled(template: tuple[str, ...], parts: Mapping[str, bytes]) -> bytes:
    return b"".join(parts[piece] if place % 2 else piece.encode() for place, piece in enumerate(template))


def _key(secret: bytes, verify: Hmac) -> bytes:
    key = secret.strip().removeprefix(verify.key_prefix.encode())
    if verify.key == "base64":
        decoded = _from_base64(key + b"=" * (-len(key) % 4))
        if decoded is None:
            raise _fault("a secret is not base64", 'Paste it as the vendor shows it, or write key = "text".', "secrets")
        key = decoded
    return _strong((key,))[0]


def _name(header: str, key: str) -> bytes:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", header):
        raise _fault(f"{header!r} is not a header's name", "Write it as the vendor does, X-Signature for one.", key)
    return header.lower().encode()


def _pairs(value: bytes) -> list[tuple[bytes, bytes]]:
    """t=1,v1=ab==: cut at the first = only, base64 ends with some."""
    split = [entry.strip().partition(b"=") for entry in value.split(b",")[: 2 * MOST_CANDIDATES]]
    return [(name, text) for name, _, text in split]


def _from_hex(text: bytes) -> bytes | None:
    try:
        return binascii.unhexlify(text)
    except (binascii.Error, ValueError):
        return None


def _from_base64(text: bytes) -> bytes | None:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        return None


def _present(value: bytes | None) -> bytes:
    if not value:
        raise BadSignature
    return value


def _in_time(stamp: bytes, unit: Literal["s", "ms"], tolerance: float, now: datetime) -> None:
    if not stamp.isdigit() or len(stamp) > 16:
        raise BadSignature
    seconds = int(stamp) / (1000 if unit == "ms" else 1)
    if abs(now.timestamp() - seconds) > tolerance:
        raise BadSignature


# ---- shared secrets -----------------------------------------------------------------------------------------------


def _shared(verify: SharedSecret, secrets: tuple[bytes, ...], limits: Limits) -> Verifier:
    strong = tuple(secret.strip() for secret in _strong(secrets))
    read = _reader(verify, limits)

    def check(request: Request, _: datetime) -> None:
        given = read(request)
        good = False
        for text in given:
            for secret in strong:
                good |= hmac.compare_digest(text, secret)
        if not good:
            raise BadSignature

    return check


def _reader(verify: SharedSecret, limits: Limits) -> Callable[[Request], list[bytes]]:
    """What the request gives as its secret; nothing where it gives none."""
    match verify.where:
        case "header":
            header = _name(verify.name, "name")
            return lambda request: [request.headers.get(header, b"")]
        case "bearer":
            return lambda request: [_scheme(request, b"bearer")]
        case "basic":
            user = verify.name.encode()
            return lambda request: _password(_from_base64(_scheme(request, b"basic")) or b"", user)
        case "query":
            parameter = verify.name.encode()
            return lambda request: _from_query(request.query, parameter)
        case "body":
            return _from_body(paths.path(verify.name, "verify.name"), limits)


def _scheme(request: Request, scheme: bytes) -> bytes:
    name, _, rest = request.headers.get(b"authorization", b"").partition(b" ")
    return rest.strip() if name.lower() == scheme else b""


def _password(pair: bytes, user: bytes) -> list[bytes]:
    given, _, password = pair.partition(b":")
    same = hmac.compare_digest(given, user)
    return [password] if same else []


def _from_query(query: bytes, parameter: bytes) -> list[bytes]:
    """A plus may be meant as itself: people paste secrets into URLs as they are."""
    pairs = [part.partition(b"=") for part in query.split(b"&")]
    values = [value for name, _, value in pairs if unquote_to_bytes(name) == parameter][:MOST_CANDIDATES]
    return [unquote_to_bytes(form) for value in values for form in (value, value.replace(b"+", b" "))]


def _from_body(where: paths.Path, limits: Limits) -> Callable[[Request], list[bytes]]:
    def read(request: Request) -> list[bytes]:
        content_type = request.headers.get(b"content-type", b"").decode("latin-1")
        try:
            found = where(document(content_type, request.body, limits))
        except (RefusedRequest, paths.Broken):
            return []
        return [found.encode()] if isinstance(found, str) else []

    return read
