"""What the simulated Salesforce does, and what each behaviour rests on: (name, source, confidence, switch or None).

Confidence: `recorded` from the real service; `documented` by the vendor; `reported` by clients and people who met it;
`unverified`, nothing found: then a switch, where the choice matters to a client.
"""

GUIDE = "REST API Developer Guide"
RULES: tuple[tuple[str, str, str, str | None], ...] = (
    ("Required fields are named in one refusal", "describe and answers recorded by grouparoo", "recorded", None),
    (
        "A text longer than its field: STRING_TOO_LONG with label, value, length",
        "CoderDojo issue 762",
        "reported",
        None,
    ),
    ("What a length counts", "nothing found", "unverified", "length_unit"),
    (
        "E-mail addresses are checked: INVALID_EMAIL_ADDRESS with the label",
        "answers recorded by grouparoo",
        "recorded",
        None,
    ),
    ("White space around texts is dropped, and a blank text is null", "clients' reports", "reported", "trim_text"),
    ("A JSON value of a wrong type: JSON_PARSER_ERROR for the request", "clients' reports", "reported", "type_error"),
    ("Moments are kept to the second, in UTC", f"{GUIDE}: valid date formats", "documented", None),
    (
        "Picklists take any value unless restricted",
        "Salesforce Help: restricted picklists",
        "documented",
        "restricted_picklists",
    ),
    ("INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST names field and value", "EastFive salesforce client", "reported", None),
    (
        "State and country picklists: FIELD_INTEGRITY_EXCEPTION, a country before a state",
        "Marketo Measure error notifications; rudder-transformer tests",
        "recorded",
        "state_picklists",
    ),
    (
        "One of name and code fills the other",
        "Salesforce Help: state and country picklist field syncing",
        "documented",
        "state_picklists",
    ),
    ("Field-level security: read-only fields", "answers captured by amp-labs connectors", "recorded", "unwritable"),
    (
        "Field-level security: hidden fields are unknown columns",
        "Salesforce Help: field-level security",
        "documented",
        "invisible",
    ),
    (
        "Record types of another object or inactive: this ID value isn't valid for the user",
        "EastFive salesforce client",
        "reported",
        None,
    ),
    ("An inactive user cannot become the owner", "Marketo Measure error notifications", "reported", None),
    (
        "A record that an inactive user keeps",
        "Salesforce Help: Update Records with Inactive Owners",
        "documented",
        "inactive_owner_updates",
    ),
    ("Queues own Leads, never Contacts", "describe recorded by grouparoo", "recorded", None),
    ("A queue that is not for Leads: INVALID_OPERATION", "clients' reports of the text", "reported", None),
    (
        "An owner who does not exist: INVALID_CROSS_REFERENCE_KEY",
        "error catalogue; the text nowhere",
        "unverified",
        None,
    ),
    ("Converted Leads are frozen: CANNOT_UPDATE_CONVERTED_LEAD", "answers recorded by grouparoo", "recorded", None),
    ("The key may be not unique, or not there", "Salesforce Help: external id fields", "documented", "key_field"),
    (
        "Validation rules: FIELD_CUSTOM_VALIDATION_EXCEPTION with or without a field",
        "SOAP API: core data types",
        "documented",
        None,
    ),
    ("One refusal for each record, the first found", "nothing found", "unverified", None),
)
OWNERS: tuple[tuple[str, str, str, str | None], ...] = (
    (
        "Assignment rules run on create and update unless Sforce-Auto-Assign is FALSE",
        f"{GUIDE}: headers_autoassign",
        "documented",
        "assignment_rule",
    ),
    (
        "Duplicate rules: Leads and Contacts by e-mail, duplicateResut on single records, a flat row in Collections",
        f"{GUIDE}: headers_duplicaterules; bodies in clients' tests",
        "recorded",
        "duplicate_rule",
    ),
    (
        "A record given away is not seen by an API user without View All",
        "Apex: sharing; clients' reports",
        "reported",
        "sharing",
    ),
    (
        "An update by id of what it cannot see",
        "error catalogue; which of the codes is not settled",
        "unverified",
        "sharing_error",
    ),
    (
        "An object without the right to read is an unknown one",
        "Salesforce Help: object permissions",
        "documented",
        "hidden_objects",
    ),
    (
        "A record cannot be given away without the right to",
        "Salesforce Help: transfer records",
        "reported",
        "may_transfer",
    ),
    (
        "A record cannot be deleted without the right to",
        "Salesforce Help: object permissions",
        "reported",
        "may_delete",
    ),
    (
        "An upsert whose key is taken by what it cannot see: <unknown> duplicates value on <unknown>",
        "clients' reports",
        "reported",
        "sharing",
    ),
    (
        "A lookup to owners leads to Name, with Type, IsActive and Email",
        "SOQL guide: polymorphic relationships",
        "documented",
        None,
    ),
    ("IsActive of a queue is true", "nothing found", "unverified", None),
    ("A sandbox's users have e-mails that end in .invalid", "Salesforce Help: sandbox refresh", "documented", None),
)
LIMITS: tuple[tuple[str, str, str, str | None], ...] = (
    ("A writer waits 10 seconds for a row", "Apex guide: locking statements", "documented", "lock_timeout"),
    (
        "Parents of lookups are locked with their children",
        "Salesforce record locking cheat sheet",
        "documented",
        "parent_lock",
    ),
    (
        "A plain Lead locks no Account; a custom lookup does",
        "describe recorded by grouparoo",
        "recorded",
        "lead_account",
    ),
    (
        "UNABLE_TO_LOCK_ROW on a single record is 500",
        "rudder-transformer and other clients; 400 elsewhere",
        "reported",
        "single_lock_status",
    ),
    ("Only the rows of the contended record fail in Collections", "nothing found", "unverified", None),
    (
        "A lock lost in a trigger comes as CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
        "rudder-transformer",
        "reported",
        "lock_wrapped",
    ),
    ("Requests a day: 403 REQUEST_LIMIT_EXCEEDED, TotalRequests", "OrgCheck issue 181", "reported", None),
    (
        "Requests of 20 seconds and more: 403 REQUEST_LIMIT_EXCEEDED, ConcurrentRequests",
        "app limits cheat sheet; OrgCheck issue 432",
        "documented",
        "concurrent_limit",
    ),
    (
        "Storage full: STORAGE_LIMIT_EXCEEDED for new records",
        "the code in clients; its status nowhere",
        "unverified",
        "storage_status",
    ),
    (
        "Automation: above a limit all records of a transaction fail",
        "Apex guide: execution governors and limits",
        "documented",
        "automation_records",
    ),
    (
        "Apex limits come as CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY, a flow's as CANNOT_EXECUTE_FLOW_TRIGGER",
        "Marketo Measure error notifications; clients' logs",
        "reported",
        "automation_error",
    ),
    (
        "Too many batch retries in the presence of Apex triggers and partial failures: its code",
        "Apex guide: bulk DML exception handling; the code nowhere",
        "unverified",
        "automation_error",
    ),
    ("What automation costs for each record", "an assumption of whoever measures", "unverified", "automation_seconds"),
    ("What a request and a record cost", "an assumption of whoever measures", "unverified", None),
)
QUERIES: tuple[tuple[str, str, str, str | None], ...] = (
    (
        "SOQL: conditions, IN with a list or a query, relationships, dates and date words, order, limit, offset",
        "SOQL and SOSL Reference",
        "documented",
        None,
    ),
    ("Texts compare without regard to case; != and NOT IN find nulls", "SOQL and SOSL Reference", "documented", None),
    (
        "Errors show a piece of the query, a caret and the place",
        "answers captured by amp-labs connectors",
        "recorded",
        None,
    ),
    (
        "Dates in quotes, booleans in quotes, long texts in WHERE are INVALID_FIELD",
        "clients' reports",
        "reported",
        None,
    ),
    ("A malformed id in WHERE is INVALID_QUERY_FILTER_OPERATOR", "clients' reports", "reported", None),
    (
        "Pages of 2000, or of Sforce-Query-Options: batchSize",
        f"{GUIDE}: headers_queryoptions",
        "documented",
        "query_page",
    ),
    ("queryAll finds what is in the bin", f"{GUIDE}: resources_queryall", "documented", None),
    ("Validation rules are found by the Tooling API alone", "Tooling API: ValidationRule", "documented", None),
)
