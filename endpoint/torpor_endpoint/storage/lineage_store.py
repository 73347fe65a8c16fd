"""Stores lineage: the entities and associations that callers made."""

from collections.abc import Mapping

from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_account.storage.tag_store import Tags
from torpor_endpoint.core.lineage.lineage_records import LineageAssociation, LineageEntity


class LineageStore:
    """Any thread may call its methods."""

    def __init__(self, database: Database, tags: Tags) -> None:
        self._database = database
        self._tags = tags
        self._entities = RecordTable(database, "lineage_entities", LineageEntity)
        self._associations = RecordTable(database, "lineage_associations", LineageAssociation)

    def entities(self) -> tuple[LineageEntity, ...]:
        return self._entities.all()

    def associations(self) -> tuple[LineageAssociation, ...]:
        return self._associations.all()

    def add(self, entity: LineageEntity, tags: Mapping[str, str]) -> bool:
        """Whether its ARN was free."""
        with self._database.transaction():
            added = self._entities.add(entity)
            if added and tags:
                self._tags.put_within(entity.name, tags)
        return added

    def replace(self, entity: LineageEntity) -> bool:
        """Store the entity anew, if it is still there."""
        return self._entities.replace(entity, still=lambda stored: stored.created_s == entity.created_s)

    def remove(self, entity: LineageEntity) -> bool:
        with self._database.transaction():
            self._tags.forget(entity.name)
            return self._entities.remove(entity.name)

    def associate(self, edge: LineageAssociation) -> bool:
        """Whether there was none from its source to its destination."""
        return self._associations.add(edge)

    def dissociate(self, edge: LineageAssociation) -> bool:
        return self._associations.remove(edge.name)

    def has(self, arn: str) -> bool:
        """Whether a caller made an entity with this ARN: it can have tags."""
        return self._entities.get(arn) is not None
