"""What a row can be refused with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowError:
    """One refusal. In a Collections row its code is called statusCode, in a single-record answer errorCode."""

    code: str
    message: str
    fields: tuple[str, ...] = ()
