"""SOAP login(), the one SOAP call that REST clients still make: user name, password and security token (SF-docs)."""

from collections.abc import Mapping
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from crmsim.salesforce import oauth
from crmsim.salesforce.exchange import Exchange
from crmsim.wire import Answer

ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope '
    'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:partner.soap.sforce.com" '
    'xmlns:sf="urn:fault.partner.soap.sforce.com" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    "<soapenv:Body>{}</soapenv:Body></soapenv:Envelope>"
)
REFUSED = "Invalid username, password, security token; or user locked out."


async def login(exchange: Exchange, kind: str, version: str) -> Answer:
    """`POST /services/Soap/u/NN.N` (`c`: enterprise): a session id and the server's address, or a fault, 500."""
    sim = exchange.sim
    await sim.clock.sleep(sim.latency.token)
    try:
        named = _values(exchange.call.body)
    except (ET.ParseError, ValueError) as trouble:
        return _fault("UNKNOWN_EXCEPTION", f"the request cannot be read: {trouble}")
    user = oauth.login(sim, named.get("username", ""), named.get("password", ""))
    if user is None:
        return _fault("INVALID_LOGIN", REFUSED)
    url = f"{oauth.instance(exchange.call)}/services/Soap/{kind}/{version}/{sim.sessions.org[:15]}"
    record = sim.org.get(user)
    info = {
        "organizationId": sim.sessions.org,
        "userEmail": record.values.get("Email") if record else None,
        "userFullName": record.values.get("Name") if record else None,
        "userId": user,
        "userName": named["username"],
    }
    told = {
        "passwordExpired": "false", "sandbox": "true", "serverUrl": url,
        "sessionId": sim.sessions.issue(sim.clock.now(), user), "userId": user,
    }  # fmt: skip
    result = f"{_xml(told)}<userInfo>{_xml(info)}</userInfo>"
    return _envelope(200, f"<loginResponse><result>{result}</result></loginResponse>")


def _values(body: bytes) -> dict[str, str]:
    """The texts of the request by element, without their namespaces. A document type is none of ours."""
    if b"<!DOCTYPE" in body:
        raise ValueError("it has a document type")
    elements = ET.fromstring(body).iter()  # noqa: S314 - no document type, so no entities
    return {element.tag.rpartition("}")[2]: element.text or "" for element in elements}


def _xml(values: Mapping[str, str | None]) -> str:
    return "".join(f"<{name}>{escape(value or '')}</{name}>" for name, value in values.items())


def _fault(code: str, words: str) -> Answer:
    inner = (
        f"<soapenv:Fault><faultcode>sf:{code}</faultcode><faultstring>{code}: {escape(words)}</faultstring><detail>"
        f'<sf:LoginFault xsi:type="sf:LoginFault"><sf:exceptionCode>{code}</sf:exceptionCode>'
        f"<sf:exceptionMessage>{escape(words)}</sf:exceptionMessage></sf:LoginFault></detail></soapenv:Fault>"
    )
    return _envelope(500, inner)


def _envelope(status: int, inner: str) -> Answer:
    return Answer(status, ENVELOPE.format(inner).encode(), {"Cache-Control": "no-store"}, "text/xml;charset=UTF-8")
