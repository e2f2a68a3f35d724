"""What an object and a field are; the org's own are in `objects`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

TEXT_KINDS = ("string", "textarea", "email", "phone", "url", "picklist")
KINDS = (*TEXT_KINDS, "boolean", "int", "double", "date", "datetime", "reference", "id")


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `external_id` and `id_lookup` fields can be upsert keys; `unique` ones refuse a second record.

    `values` are a picklist's; a `restricted` one refuses all others, as an API write to any other picklist does not.
    """

    name: str
    kind: str = "string"
    length: int = 255
    label: str = ""
    required: bool = False
    writable: bool = True
    external_id: bool = False
    unique: bool = False
    id_lookup: bool = False
    case_sensitive: bool = False
    targets: tuple[str, ...] = ()  # objects a reference may point to
    relationship: str = ""  # `Account__r`
    values: tuple[str, ...] = ()
    restricted: bool = False
    default: Any = None

    @property
    def title(self) -> str:
        return self.label or self.name.removesuffix("__c").replace("_", " ")

    @property
    def is_key(self) -> bool:
        return self.external_id or self.id_lookup

    @property
    def filterable(self) -> bool:
        """A long text cannot stand in a WHERE."""
        return self.kind != "textarea" or self.length <= 255

    def fold(self, value: object) -> str:
        """How two values of a key field compare. Text external ids ignore case unless defined otherwise (SF-help)."""
        return str(value) if self.case_sensitive else str(value).casefold()


Transform = Callable[[Field], Field | None]


def _as_it_is(item: Field) -> Field | None:
    return item


@dataclass(slots=True)
class Sobject:
    """An object type. Names of fields and relationships are looked up without regard to case, as the API does.

    `every` are the fields it was given; `fields` those that the API user sees, as `transform` leaves them.
    """

    name: str
    prefix: str
    every: dict[str, Field] = field(default_factory=dict)
    locking: set[str] = field(default_factory=set)  # lower-cased names of references whose targets a write locks
    read_only: bool = False
    tooling: bool = False  # found by the Tooling API alone
    transform: Transform = _as_it_is
    fields: dict[str, Field] = field(default_factory=dict)
    relationships: dict[str, Field] = field(default_factory=dict)
    parents: list[Field] = field(default_factory=list)
    keys: list[Field] = field(default_factory=list)  # fields with an index
    born: dict[str, Any] = field(default_factory=dict)  # what a new record has unless told otherwise

    def add(self, item: Field, *, locks: bool = False) -> None:
        self.every[item.name.lower()] = item
        if locks:
            self.locking.add(item.name.lower())
        self.shape(self.transform)

    def shape(self, transform: Transform) -> None:
        """See the fields through `transform`: None hides one."""
        self.transform = transform
        seen = {name: transform(item) for name, item in self.every.items()}
        self.fields = {name: item for name, item in seen.items() if item is not None}
        items = self.fields.values()
        self.relationships = {item.relationship.lower(): item for item in items if item.relationship}
        self.parents = [item for item in items if item.name.lower() in self.locking]
        self.keys = [item for item in items if item.is_key or item.unique]
        self.born = {item.name: item.default for item in items if item.default is not None}


def custom_field(entry: Mapping[str, Any]) -> Field:
    """A field from a seed. Its `values` make a restricted picklist unless it says otherwise. Raises ValueError."""
    values = {name: value for name, value in entry.items() if name not in ("object", "locks")}
    values.setdefault("restricted", bool(values.get("values")))
    unknown = set(values) - {known.name for known in fields(Field)}
    if unknown or not values.get("name"):
        raise ValueError(f"field {entry.get('name')!r}: needs a name; unknown keys {sorted(unknown)}")
    for name in ("targets", "values"):
        values[name] = tuple(values.get(name, ()))
    item = Field(**values)
    if item.kind not in KINDS:
        raise ValueError(f"field {item.name}: kind must be one of {', '.join(KINDS)}")
    return item
