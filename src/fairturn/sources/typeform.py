"""Typeform responses. Answers stand apart from their questions, and each type of answer keeps its value elsewhere.

Laid open, beside the payload as it came:
- `fields.<ref>` and `fields.<slug of the question>`: the answer's value; a choice is its label, several are a list;
- `email`, `phone`: the first answer of that type, whatever the question is called;
- `hidden.<name>`, `score`, `submitted_at`, and `utm.source` ... from the hidden fields.

Source: Typeform's developer pages on webhooks, their example payload and how to secure them.
"""

from __future__ import annotations

from fairturn.sources.format import Format, inner, objects
from fairturn.sources.labels import campaign, slug


def flatten(payload: object) -> object:
    if not isinstance(payload, dict):
        return payload
    response = inner(payload, "form_response")
    answers = objects(response.get("answers"))
    titles = questions(inner(response, "definition"))
    by_ref: dict[str, object] = {}
    by_title: dict[str, object] = {}
    for answer in answers:
        field, value = inner(answer, "field"), answered(answer)
        ref, place = field.get("ref"), field.get("id")
        if isinstance(ref, str) and ref:
            by_ref.setdefault(ref, value)
        if isinstance(place, str) and (title := titles.get(place)):
            by_title.setdefault(title, value)
    hidden = inner(response, "hidden")
    laid_open: dict[str, object] = {
        "fields": by_title | by_ref,
        "email": first(answers, "email"),
        "phone": first(answers, "phone_number"),
        "hidden": hidden,
        "score": inner(response, "calculated").get("score"),
        "submitted_at": response.get("submitted_at"),
        "utm": campaign((name, value) for name, value in hidden.items()),
    }
    return payload | {name: value for name, value in laid_open.items() if value is not None}


def questions(definition: dict[str, object]) -> dict[str, str]:
    """Field id -> slug of the question, for those in groups as well."""
    found: dict[str, str] = {}
    for field in objects(definition.get("fields")):
        for one in (field, *objects(inner(field, "properties").get("fields"))):
            place, title = one.get("id"), one.get("title")
            if isinstance(place, str) and isinstance(title, str):
                found.setdefault(place, slug(title))
    return found


def answered(answer: dict[str, object]) -> object:
    kind = answer.get("type")
    value = answer.get(kind) if isinstance(kind, str) else None
    if not isinstance(value, dict):
        return value
    labels, other = value.get("labels"), value.get("other")
    if isinstance(labels, list):
        return [*labels, other] if other else labels
    return next((value[name] for name in ("label", "other", "amount") if value.get(name)), None)


def first(answers: list[dict[str, object]], kind: str) -> object:
    return next((answer[kind] for answer in answers if answer.get("type") == kind and answer.get(kind)), None)


FORMAT = Format(
    name="typeform",
    about="Typeform responses (webhooks of a form)",
    flatten=flatten,
    sample="examples/bodies/typeform.json",
    verify={
        "type": "hmac",
        "header": "Typeform-Signature",
        "algorithm": "sha256",
        "encoding": "base64",
        "format": "prefix",
        "prefix": "sha256=",
        "signed": "{body}",
    },
    map={
        "email": ("email", "fields.email", "hidden.email"),
        "first_name": ("fields.first_name", "hidden.first_name"),
        "last_name": ("fields.last_name", "hidden.last_name"),
        "company": ("fields.company", "fields.company_name", "hidden.company"),
        "phone": "phone",
        "country": "fields.country",
        "employees": ("fields.employees", "fields.company_size"),
        "message": "fields.message",
        "score": "score",
        "campaign": "utm.campaign",
    },
    ids={"response": "form_response.token"},
    dedupe="event_id",
    occurred_at="submitted_at",
)
