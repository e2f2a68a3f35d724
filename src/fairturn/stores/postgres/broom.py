"""What time removes, on PostgreSQL: bounded pieces that skip rows which another process holds."""

from __future__ import annotations

from fairturn.stores.postgres.database import Database, statements
from fairturn.stores.postgres.journal import PostgresJournal

SQL = statements("broom")


class PostgresBroom:
    """Implements ports.Broom."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._journal = PostgresJournal(database)

    async def expire_signals(self, limit: int) -> int:
        return await self._count(SQL.expire, limit)

    async def purge_raw(self, older_than: float, limit: int) -> int:
        return await self._journal.purge_raw(older_than, limit)

    async def purge_events(self, older_than: float, limit: int) -> int:
        return await self._count(SQL.drop_events, older_than, limit)

    async def _count(self, statement: str, *args: object) -> int:
        async with self._database.connection() as connection:
            return int((await connection.execute(statement, *args)).rpartition(" ")[2])
