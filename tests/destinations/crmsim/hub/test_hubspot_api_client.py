"""HubSpot's own Python library is at home in the simulator."""

import json

import pytest
import urllib3
from hubspot import HubSpot
from hubspot.crm.associations.v4 import models as links
from hubspot.crm.contacts import models as contacts
from hubspot.crm.contacts.exceptions import (
    ApiException,
    ForbiddenException,
    NotFoundException,
    ServiceException,
    UnauthorizedException,
)
from hubspot.crm.properties import models as properties
from hubspot.crm.properties.exceptions import ApiException as PropertiesError
from hubspot.oauth.exceptions import ApiException as OauthError


def one(email: str, **more: str) -> contacts.SimplePublicObjectInputForCreate:
    return contacts.SimplePublicObjectInputForCreate(properties={"email": email, **more}, associations=[])


def upsert(email: str, trace: str | None = None, **more: str) -> contacts.SimplePublicObjectBatchInputUpsert:
    return contacts.SimplePublicObjectBatchInputUpsert(
        id=email, id_property="email", properties={"email": email, **more}, object_write_trace_id=trace
    )


def upserts(
    *inputs: contacts.SimplePublicObjectBatchInputUpsert,
) -> contacts.BatchInputSimplePublicObjectBatchInputUpsert:
    return contacts.BatchInputSimplePublicObjectBatchInputUpsert(inputs=list(inputs))


def test_hubspot_api_client_creates_reads_by_email_and_updates(client):
    made = client.crm.contacts.basic_api.create(one("A+b@X.co", firstname="Ann"))
    assert made.id.isdigit()
    assert made.properties["email"] == "a+b@x.co", "lower-cased"
    read = client.crm.contacts.basic_api.get_by_id("a+b@x.co", id_property="email", properties=["firstname", "phone"])
    assert (read.id, read.properties["firstname"], read.properties["phone"]) == (made.id, "Ann", None)
    changed = client.crm.contacts.basic_api.update(
        made.id, contacts.SimplePublicObjectInput(properties={"firstname": "Bea"})
    )
    assert changed.properties["firstname"] == "Bea"
    by_email = client.crm.contacts.basic_api.update(
        "a+b@x.co", contacts.SimplePublicObjectInput(properties={"phone": "1"}), id_property="email"
    )
    assert by_email.id == made.id
    assert client.crm.contacts.basic_api.archive(made.id) is None
    with pytest.raises(NotFoundException):
        client.crm.contacts.basic_api.get_by_id(made.id)


def test_hubspot_api_client_batches_have_the_types_of_their_statuses(client):
    api = client.crm.contacts.batch_api
    made = api.create(contacts.BatchInputSimplePublicObjectBatchInputForCreate(inputs=[one("a@x.co"), one("b@x.co")]))
    assert type(made) is contacts.BatchResponseSimplePublicObject
    upserted = api.upsert(upserts(upsert("a@x.co", firstname="A"), upsert("c@x.co")))
    assert type(upserted) is contacts.BatchResponseSimplePublicUpsertObject
    assert {item.properties["email"]: item.new for item in upserted.results} == {"a@x.co": False, "c@x.co": True}
    ids = {item.properties["email"]: item.id for item in made.results}
    updated = api.update(
        contacts.BatchInputSimplePublicObjectBatchInput(
            inputs=[
                contacts.SimplePublicObjectBatchInput(id=ids["a@x.co"], properties={"phone": "1"}),
                contacts.SimplePublicObjectBatchInput(id="1", properties={"phone": "1"}),
            ]
        )
    )
    assert type(updated) is contacts.BatchResponseSimplePublicObjectWithErrors
    assert (updated.num_errors, updated.errors[0].context) == (1, {"ids": ["1"]})
    assert [item.id for item in updated.results] == [ids["a@x.co"]]
    wanted = [contacts.SimplePublicObjectId(id=email) for email in ("a@x.co", "c@x.co", "nobody@x.co")]
    read = api.read(
        contacts.BatchReadInputSimplePublicObjectId(
            id_property="email", inputs=wanted, properties=["email", "phone"], properties_with_history=[]
        )
    )
    assert type(read) is contacts.BatchResponseSimplePublicObjectWithErrors
    assert {item.properties["email"] for item in read.results} == {"a@x.co", "c@x.co"}
    gone = contacts.BatchInputSimplePublicObjectId(inputs=[contacts.SimplePublicObjectId(id=ids["b@x.co"])])
    assert api.archive(gone) is None


def test_hubspot_api_client_sees_the_bad_row_of_a_traced_upsert(client):
    found = client.crm.contacts.batch_api.upsert(upserts(upsert("a@x.co", "0"), upsert("bad@x.con", "1")))
    assert type(found) is contacts.BatchResponseSimplePublicUpsertObjectWithErrors
    assert [item.properties["email"] for item in found.results] == ["a@x.co"]
    assert (found.num_errors, found.errors[0].category) == (1, "VALIDATION_ERROR")
    assert found.errors[0].context == {"objectWriteTraceId": ["1"]}


def test_hubspot_api_client_pages_through_search_and_owners(client, hub):
    hub.batch("create", *({"properties": {"email": f"p{n}@x.co"}} for n in range(7)))
    groups = [{"filters": [{"propertyName": "email", "operator": "CONTAINS_TOKEN", "value": "p*"}]}]
    seen, after = [], None
    while True:
        page = client.crm.contacts.search_api.do_search(
            contacts.PublicObjectSearchRequest(
                filter_groups=groups, limit=3, after=after, sorts=["email"], properties=["email"]
            )
        )
        seen += [item.properties["email"] for item in page.results]
        if page.paging is None:
            break
        after = page.paging.next.after
    assert (page.total, seen) == (7, [f"p{n}@x.co" for n in range(7)])
    first = client.crm.owners.owners_api.get_page(limit=1)
    second = client.crm.owners.owners_api.get_page(limit=1, after=first.paging.next.after)
    assert [first.results[0].email, second.results[0].email] == ["ann@seller.test", "bob@seller.test"]
    [gone] = client.crm.owners.owners_api.get_page(archived=True).results
    assert (gone.email, gone.user_id, gone.archived) == ("gone@seller.test", None, True)
    [bob] = client.crm.owners.owners_api.get_page(email="BOB@seller.test").results
    assert bob.id == hub.ids["Bob"]
    assert len(client.crm.contacts.get_all()) == 7


def test_hubspot_api_client_associates_a_contact_with_a_company(client, hub):
    contact = client.crm.contacts.basic_api.create(one("a@x.co"))
    kind = links.AssociationSpec(association_category="HUBSPOT_DEFINED", association_type_id=279)
    pair = links.PublicAssociationMultiPost(
        _from=links.PublicObjectId(id=contact.id), to=links.PublicObjectId(id=hub.ids["Acme"]), types=[kind]
    )
    made = client.crm.associations.v4.batch_api.create(
        "contacts", "companies", links.BatchInputPublicAssociationMultiPost(inputs=[pair])
    )
    assert type(made) is links.BatchResponseLabelsBetweenObjectPair
    assert made.results[0].to_object_id == hub.ids["Acme"]
    found = client.crm.associations.v4.basic_api.get_page("contacts", contact.id, "companies")
    assert [kind.type_id for kind in found.results[0].association_types] == [1, 279]
    read = client.crm.contacts.basic_api.get_by_id(
        contact.id, properties=["associatedcompanyid"], associations=["companies"]
    )
    assert read.properties["associatedcompanyid"] == hub.ids["Acme"]
    assert read.associations["companies"].results[0].id == hub.ids["Acme"]


def test_hubspot_api_client_reads_and_makes_properties(client):
    api = client.crm.properties.core_api
    owner = api.get_by_name("contacts", "hubspot_owner_id")
    assert (owner.external_options, owner.referenced_object_type) == (True, "OWNER")
    assert api.get_by_name("contacts", "createdate").modification_metadata.read_only_value is True
    wanted = properties.PropertyCreate(
        name="our_key", label="Our key", type="string", field_type="text", group_name="contactinformation",
        has_unique_value=True,
    )  # fmt: skip
    assert api.create("contacts", wanted).has_unique_value is True
    with pytest.raises(PropertiesError) as twice:
        api.create("contacts", wanted)
    assert twice.value.status == 409
    with pytest.raises(PropertiesError) as none:
        api.get_by_name("contacts", "nothing")
    assert none.value.status == 404
    assert "our_key" in {item.name for item in api.get_all("contacts").results}


def test_hubspot_api_client_refreshes_its_oauth_token(client, hub):
    tokens = client.oauth.tokens_api
    given = {"client_id": "crmsim-client", "client_secret": "crmsim-secret"}
    fresh = tokens.create(grant_type="refresh_token", refresh_token="crmsim-refresh", **given)
    assert (fresh.expires_in, fresh.token_type) == (1800, "bearer")
    theirs = HubSpot(access_token=fresh.access_token, host=hub.ready["hubspot"])
    assert theirs.crm.contacts.basic_api.get_page(limit=1).results == []
    assert client.oauth.access_tokens_api.get(fresh.access_token).hub_id == 62515
    with pytest.raises(OauthError) as bad:
        tokens.create(grant_type="refresh_token", refresh_token="wrong", **given)
    assert bad.value.status == 400
    assert json.loads(bad.value.body)["status"] == "BAD_REFRESH_TOKEN"
    hub.fault("expired_token", nth=[1])
    with pytest.raises(UnauthorizedException) as late:
        theirs.crm.contacts.basic_api.get_page(limit=1)
    assert json.loads(late.value.body)["category"] == "EXPIRED_AUTHENTICATION"


@pytest.mark.parametrize(
    ("kind", "error", "status"),
    [
        ("missing_scopes", ForbiddenException, 403),
        ("unavailable", ServiceException, 503),
        ("bad_gateway", ServiceException, 502),
        ("gateway_timeout", ServiceException, 504),
        ("server_error", ServiceException, 500),
        ("edge", ServiceException, 524),
        ("locked", ApiException, 423),
        ("migration", ApiException, 477),
        ("burst_limit", ApiException, 429),
        ("daily_limit", ApiException, 429),
    ],
)
def test_hubspot_api_client_raises_its_exception_of_each_status(client, hub, kind, error, status):
    hub.fault(kind)
    with pytest.raises(error) as refused:
        client.crm.contacts.basic_api.create(one("a@x.co"))
    assert type(refused.value) is error
    assert refused.value.status == status
    assert isinstance(refused.value.body, str)
    assert refused.value.headers["X-HubSpot-Correlation-Id"]


def test_hubspot_api_client_raises_plain_exceptions_for_400_and_409_and_its_own_for_401_and_404(client, hub):
    api = client.crm.contacts.basic_api
    api.create(one("a@x.co"))
    with pytest.raises(ApiException) as conflict:
        api.create(one("A@x.co"))
    assert conflict.value.status == 409
    assert "Existing ID: " in json.loads(conflict.value.body)["message"]
    with pytest.raises(ApiException) as wrong:
        api.create(one("b@x.con"))
    assert wrong.value.status == 400
    assert "INVALID_EMAIL" in json.loads(wrong.value.body)["message"]
    with pytest.raises(UnauthorizedException):
        HubSpot(access_token="pat-wrong", host=hub.ready["hubspot"]).crm.contacts.basic_api.get_page()
    with pytest.raises(NotFoundException) as missing:
        api.get_by_id("123")
    assert json.loads(missing.value.body)["message"] == "resource not found"


def retrying(hub, **more):
    retry = urllib3.util.retry.Retry(total=2, status_forcelist=(429,), backoff_factor=0.001, **more)
    return HubSpot(access_token="pat-na1-crmsim", host=hub.ready["hubspot"], retry=retry)


def test_hubspot_api_client_with_its_readmes_retry_sends_a_post_once(hub):
    hub.fault("burst_limit")
    with pytest.raises(ApiException) as refused:
        retrying(hub).crm.contacts.basic_api.create(one("a@x.co"))
    assert refused.value.status == 429
    assert hub.sim("/summary")["write_requests"] == 1


def test_hubspot_api_client_with_allowed_methods_none_sends_a_post_again(hub):
    hub.fault("burst_limit", times=2)
    made = retrying(hub, allowed_methods=None).crm.contacts.basic_api.create(one("a@x.co"))
    assert made.properties["email"] == "a@x.co"
    assert hub.sim("/summary")["write_requests"] == 3


def test_hubspot_api_client_ends_a_get_that_is_refused_too_often_in_urllib3s_error(hub):
    hub.fault("burst_limit")
    with pytest.raises(urllib3.exceptions.MaxRetryError):
        retrying(hub).crm.contacts.basic_api.get_page(limit=1)
    assert hub.sim("/summary")["read_requests"] == 3


def test_hubspot_api_client_repeats_a_get_by_itself_once_the_account_sends_retry_after(client, hub):
    hub.fault("search_limit", on="read", times=1)
    with pytest.raises(ApiException):
        client.crm.contacts.basic_api.get_page(limit=1)
    hub.sim("/switches", {"retry_after": True})
    hub.fault("search_limit", on="read", times=1)
    assert client.crm.contacts.basic_api.get_page(limit=1).results == []
    assert hub.sim("/summary")["read_requests"] == 3
