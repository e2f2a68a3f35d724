"""What Salesforce's doors do, and what it rests on: tokens, versions, single records, Collections, Composite, describe.

(name, source, confidence, switch or None), as in `fidelity`, which has what lies behind the doors.
"""

Rows = tuple[tuple[str, str, str, str | None], ...]

GUIDE = "REST API Developer Guide"
HELP = "Salesforce Help"

TOKENS: Rows = (
    ("Client credentials, by HTTP Basic or in the form", f"{HELP}: client credentials flow", "documented", None),
    (
        "No run-as user: invalid_grant, no client credentials user enabled",
        "Striim's documentation",
        "reported",
        "client_credentials_user",
    ),
    (
        "Client credentials on login.salesforce.com: request not supported on this domain",
        "many clients' documentation",
        "reported",
        None,
    ),
    ("A wrong secret: invalid_client, invalid client credentials", "clients' reports", "reported", None),
    ("Password, with or without the security token", f"{HELP}: username-password flow", "documented", None),
    (
        "JWT bearer: RS256; exp a number or a text",
        f"{HELP}: JWT bearer flow; simple-salesforce sends a text",
        "documented",
        None,
    ),
    (
        "A JWT of a user who is not there: user hasn't approved this consumer",
        "simple-salesforce login.py",
        "reported",
        None,
    ),
    ("A JWT expired, of another audience or key: texts", "one of them in clients' tests", "unverified", None),
    ("Refresh token: the reply has no refresh_token", "restforce fixtures", "recorded", None),
    (
        "SOAP login: sessionId and serverUrl, or a fault with 500",
        "SOAP API Developer Guide: login()",
        "documented",
        None,
    ),
    (
        "Token errors are objects with error and error_description, 400, no-store",
        "restforce fixtures",
        "recorded",
        None,
    ),
    ("issued_at is a text; there is no expires_in", "restforce fixtures", "recorded", None),
    (
        "A token dies so long after its last use: 401 INVALID_SESSION_ID, an array",
        "restforce fixtures",
        "recorded",
        "session_seconds",
    ),
    ("Rate limit of the token endpoint: none", "nothing found", "unverified", None),
)
VERSIONS: Rows = (
    (
        "Versions need no session, are not counted, carry no Sforce-Limit-Info",
        f"{GUIDE}: headers_api_usage",
        "documented",
        None,
    ),
    ("Versions 21 to 30 are 410", f"{GUIDE}: errorcodes; the body nowhere", "documented", None),
    (
        "Sforce-Limit-Info on data answers, on errors too; here it is exact, there it is not",
        "answers recorded by grouparoo",
        "recorded",
        None,
    ),
    ("A slash at the end of a path is tolerated", "simple-salesforce sends it", "reported", None),
    (
        "Errors are arrays of message, errorCode, and fields that may be absent",
        f"{GUIDE}: errorcodes",
        "recorded",
        None,
    ),
    ("An URI above 16,384 bytes is 414", f"{GUIDE}: errorcodes", "documented", None),
)
RECORDS: Rows = (
    (
        "Create 201, update and delete 204, get 200 with fields",
        f"{GUIDE}: dome_sobject_create and its sisters",
        "documented",
        None,
    ),
    ("Upsert: 201 inserted, 200 updated, both with created", f"{GUIDE}: dome_upsert", "documented", None),
    (
        "An upsert that updated has no body in old versions: 204",
        "amp-labs/connectors, restforce fixtures; the boundary is not settled",
        "recorded",
        "upsert_body_since",
    ),
    ("Several matches: 300 with paths, nothing written", "restforce fixtures", "recorded", None),
    ("An unknown external id field: 404", "restforce fixtures", "recorded", None),
    ("The key or Id in the body: 400 INVALID_FIELD", "clients' reports", "reported", None),
    ("No key value in the path: 405", "simple-salesforce issue 157", "reported", None),
    ("updateOnly=true without a match: 404", "Trailhead says it exists; its answer nowhere", "unverified", None),
    (
        "Two upserts that race to insert one key: the later is DUPLICATE_VALUE",
        "salesforce.stackexchange 197382",
        "reported",
        None,
    ),
    ("A deleted record: 404 ENTITY_IS_DELETED", "answers captured by amp-labs/connectors", "recorded", None),
)
COLLECTIONS: Rows = (
    (
        "200 whatever becomes of the rows; order kept; statusCode, no id in refused rows",
        "answers recorded by grouparoo and CumulusCI",
        "recorded",
        None,
    ),
    ("created in upserts alone", "answers recorded by CumulusCI", "recorded", None),
    ("No records: 400 REQUIRED_FIELD_MISSING", "answers captured by amp-labs/connectors", "recorded", None),
    ("More than 200 records: EXCEEDED_ID_LIMIT; 400", "Beatbox issue 3; the status nowhere", "unverified", None),
    ("More than 10 chunks of one type: 400", f"{GUIDE}: sobjects_collections; the text is Apex's", "unverified", None),
    ("An unknown attributes.type: 400 INVALID_TYPE", "nothing found", "unverified", None),
    ("Upsert by Id: null creates", "answers recorded by CumulusCI", "recorded", None),
    ("A key that is none: 400 INVALID_FIELD", "clients' reports", "reported", None),
    (
        "The same key twice: every row of the key is refused, DUPLICATE_VALUE",
        "salesforce.stackexchange 296121, 104048; REST bytes nowhere",
        "reported",
        None,
    ),
    ("The same id twice: Duplicate id specified", f"{HELP} 000384876", "documented", None),
    ("Several matches of a row: DUPLICATE_EXTERNAL_ID", "Rapidi's wiki E2120", "reported", None),
    ("A row without id: MISSING_ARGUMENT", "answers captured by amp-labs/connectors", "recorded", None),
    (
        "allOrNone: the others are ALL_OR_NONE_OPERATION_ROLLED_BACK",
        "answers captured by amp-labs/connectors",
        "recorded",
        None,
    ),
    ("Delete takes allOrNone and ids in the query", f"{GUIDE}: sobjects_collections_delete", "documented", None),
    (
        "Retrieve: null for what is not there; POST takes 2,000 ids",
        f"{GUIDE}: sobjects_collections_retrieve",
        "documented",
        None,
    ),
)
COMPOSITE: Rows = (
    ("Composite: 25 subrequests, references, one call toward the limit", f"{GUIDE}: composite", "documented", None),
    (
        "5 of them queries or Collections",
        f"{GUIDE}: composite; the refusal's text nowhere",
        "documented",
        "composite_heavy_parts",
    ),
    (
        "Subrequests get Accept, Authorization and Content-Type of the request, no other header",
        f"{GUIDE}: composite subrequest",
        "documented",
        "composite_inherits_headers",
    ),
    (
        "allOrNone: one failure undoes all, the others are PROCESSING_HALTED",
        f"{GUIDE}: composite; clients' tests",
        "documented",
        None,
    ),
    (
        "allOrNone over Collections that are not: undone, though rows say success",
        f"{GUIDE}: allOrNone parameters",
        "documented",
        None,
    ),
    (
        "A reference to what failed or is not there: PROCESSING_HALTED, Invalid reference specified",
        f"{GUIDE}: composite subrequest result",
        "documented",
        None,
    ),
    ("References to null are values since v52", f"{GUIDE}: composite subrequest result", "documented", None),
    (
        "A referenceId with other characters spoils the request since v52",
        f"{GUIDE}: composite subrequest result",
        "documented",
        None,
    ),
    ("A missing or repeated referenceId: 400", "clients' reports; the text nowhere", "unverified", None),
    (
        "Subrequests run one after the other in their order; collateSubrequests changes nothing",
        f"{GUIDE}: composite leaves the order open",
        "documented",
        None,
    ),
    (
        "What allOrNone has written so far can be seen by others, and is locked",
        "a simplification of the simulator",
        "unverified",
        None,
    ),
    (
        "Batch: each subrequest counts toward the limit; haltOnError: 412 BATCH_PROCESSING_HALTED",
        f"{GUIDE}: composite batch; the text nowhere",
        "documented",
        None,
    ),
    (
        "Graph: each stands or falls as one; 75 graphs, 500 nodes, after 14 failures no more",
        f"{GUIDE}: composite graph limits",
        "documented",
        None,
    ),
    ("Graph depth and kinds of node are not limited", "a simplification of the simulator", "unverified", None),
)
DESCRIBE: Rows = (
    (
        "Fields with type, length, rights, picklists, references, as the API user sees them",
        "describe recorded by grouparoo",
        "recorded",
        None,
    ),
    ("Record types of the object, and Master", f"{GUIDE}: describe", "documented", None),
    ("The objects of the simulated org", f"{GUIDE}: describeGlobal", "documented", None),
)
