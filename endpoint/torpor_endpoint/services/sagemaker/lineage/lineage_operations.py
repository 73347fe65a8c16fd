"""AddAssociation, DeleteAssociation, ListAssociations and QueryLineage, and the table of all operations of lineage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.wire import tokens
from torpor_endpoint.core.lineage.lineage_graph import BOTH, DEPTH_MAX, LineageGraph
from torpor_endpoint.core.lineage.lineage_records import LineageAssociation, LineageEntity, association
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.lineage import lineage_entities
from torpor_endpoint.services.sagemaker.lineage.lineage_context import Lineage
from torpor_endpoint.services.sagemaker.lineage.lineage_entities import created_between
from torpor_endpoint.services.sagemaker.listing import page

VERTICES = 50
"""On one page of QueryLineage, where no MaxResults is given."""


def add_association(lineage: Lineage, call: Call) -> dict[str, Any]:
    """Associate two entities. Raises ResourceNotFound, and ValidationException for an association that would make an
    entity come of itself."""
    source, destination = call.params["SourceArn"], call.params["DestinationArn"]
    graph = lineage.graph(call)
    for arn in (source, destination):
        _entity(graph, arn)
    if graph.leads(destination, source):
        raise errors.INVALID(
            f'The association would make a cycle: "{source}" already comes of "{destination}", or is the same.'
        )
    made = association(source, destination, call.params.get("AssociationType", ""), lineage.clock())
    if made.name in graph.associations or not lineage.store.lineage.associate(made):
        raise errors.INVALID(f'There already exists an association from "{source}" to "{destination}".')
    return _ends(call)


def delete_association(lineage: Lineage, call: Call) -> dict[str, Any]:
    source, destination = call.params["SourceArn"], call.params["DestinationArn"]
    found = lineage.graph(call).associations.get(association(source, destination, "", 0.0).name)
    if found is None:
        raise errors.NO_ENTITY(noun="association", arn=f"{source} to {destination}")
    if not found.kept:
        raise errors.INVALID("The association is made of the records of a job, a package or an endpoint, and stays.")
    lineage.store.lineage.dissociate(found)
    return _ends(call)


def list_associations(lineage: Lineage, call: Call) -> dict[str, Any]:
    params, graph = call.params, lineage.graph(call)
    found = [
        _AssociationRow(
            one.name,
            one.created_s,
            one.source,
            one.destination,
            _type(graph, one.source),
            _type(graph, one.destination),
        )
        for one in graph.associations.values()
        if params.get("AssociationType") in (None, one.type)
    ]
    wanted = {"SourceArn": "source", "DestinationArn": "destination"}
    wanted |= {"SourceType": "source_type", "DestinationType": "destination_type"}
    matching = [
        row for row in found if all(getattr(row, name) == params[of] for of, name in wanted.items() if of in params)
    ]
    rows, token = page(matching, {**params, **created_between(params)})
    return {"AssociationSummaries": [_summary(graph, row) for row in rows], "NextToken": token}


def query_lineage(lineage: Lineage, call: Call) -> dict[str, Any]:
    """The entities that lead to the starts, or come of them. Filters choose among them; the walk passes through all."""
    params, graph = call.params, lineage.graph(call)
    starts = params.get("StartArns", ())
    if not starts:
        raise errors.INVALID("StartArns must be given.")
    for arn in starts:
        _entity(graph, arn)
    walked = graph.walk(starts, params.get("Direction", BOTH), params.get("MaxDepth", DEPTH_MAX)).entities
    filters = params.get("Filters", {})
    found = [arn for arn in walked if _passes(graph.entities[arn], filters)]
    begin = _begin(params.get("NextToken"), len(found))
    shown = found[begin : begin + params.get("MaxResults", VERTICES)]
    after = begin + len(shown)
    edges = {edge.name: edge for arn in shown for edge in walked[arn]} if params.get("IncludeEdges", True) else {}
    return {
        "Vertices": [_vertex(graph.entities[arn]) for arn in shown],
        "Edges": list(map(_edge, edges.values())),
        "NextToken": tokens.written(after) if after < len(found) else None,
    }


OPERATIONS: Final[Mapping[str, Operation[Lineage]]] = {
    **lineage_entities.OPERATIONS,
    "AddAssociation": add_association,
    "DeleteAssociation": delete_association,
    "ListAssociations": list_associations,
    "QueryLineage": query_lineage,
}


@dataclass(frozen=True)
class _AssociationRow:
    name: str
    created_s: float
    source: str
    destination: str
    source_type: str
    destination_type: str


def _entity(graph: LineageGraph, arn: str) -> LineageEntity:
    entity = graph.entities.get(arn)
    if entity is None:
        raise errors.NO_ENTITY(noun="entity of lineage", arn=arn)
    return entity


def _type(graph: LineageGraph, arn: str) -> str:
    return graph.entities[arn].type


def _ends(call: Call) -> dict[str, Any]:
    return {member: call.params[member] for member in ("SourceArn", "DestinationArn")}


def _summary(graph: LineageGraph, row: _AssociationRow) -> dict[str, Any]:
    edge = graph.associations[row.name]
    told = {
        **_edge(edge),
        "SourceType": row.source_type,
        "DestinationType": row.destination_type,
        "SourceName": graph.entities[row.source].title,
        "DestinationName": graph.entities[row.destination].title,
    }
    return {**{member: value for member, value in told.items() if value}, "CreationTime": row.created_s}


def _edge(edge: LineageAssociation) -> dict[str, Any]:
    typed = {"AssociationType": edge.type} if edge.type else {}
    return {"SourceArn": edge.source, "DestinationArn": edge.destination, **typed}


def _vertex(entity: LineageEntity) -> dict[str, Any]:
    return {"Arn": entity.name, "Type": entity.type, "LineageType": entity.kind.value}


def _passes(entity: LineageEntity, filters: Mapping[str, Any]) -> bool:
    never, ever = float("-inf"), float("inf")
    return (
        entity.type in filters.get("Types", (entity.type,))
        and entity.kind.value in filters.get("LineageTypes", (entity.kind.value,))
        and filters.get("CreatedAfter", never) <= entity.created_s < filters.get("CreatedBefore", ever)
        and filters.get("ModifiedAfter", never) <= entity.modified_s < filters.get("ModifiedBefore", ever)
        and all(entity.properties.get(name) == value for name, value in filters.get("Properties", {}).items())
    )


def _begin(token: str | None, count: int) -> int:
    refusal = errors.INVALID("NextToken is not one that this query was given.")
    if not token:
        return 0
    match tokens.read(token, refusal):
        case int(begin) if 0 < begin < count:
            return begin
    raise refusal
