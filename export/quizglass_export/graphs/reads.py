"""What the nodes of an ONNX graph read, those of their subgraphs (If, Loop) included."""

from __future__ import annotations

from onnx import GraphProto, NodeProto


def names_read(node: NodeProto) -> set[str]:
    """Names of the values that a node reads itself, or in a branch or a body of its own."""
    read = set(node.input)
    for attribute in node.attribute:
        for inner in (attribute.g, *attribute.graphs):
            read |= {output.name for output in inner.output}
            read.update(*(names_read(each) for each in inner.node))
    return read


def drop_unread(graph: GraphProto) -> None:
    """Drop nodes whose results nothing reads, and then the weights that no node reads."""
    read = {output.name for output in graph.output}
    kept: list[NodeProto] = []
    for node in reversed(graph.node):  # from the end, so that what only a dropped one read goes too
        if read.intersection(node.output):
            kept.append(node)
            read |= names_read(node)
    weights = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(kept))
    graph.initializer.extend(weights)
