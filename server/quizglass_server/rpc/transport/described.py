"""What reflection describes: the services and what they are made of, not all that this process happens to know."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.rpc import error_details_pb2, status_pb2

_DETAILS = (error_details_pb2.DESCRIPTOR, status_pb2.DESCRIPTOR)
"""Errors carry these in their details, where no service names them."""


def described(services: Iterable[str]) -> DescriptorPool:
    """A pool of the files of these services and those they import, with the messages of error details."""
    known, pool, there = Default(), DescriptorPool(), set[str]()

    def add(file: FileDescriptor) -> None:
        if file.name in there:
            return
        there.add(file.name)
        for needed in file.dependencies:
            add(needed)
        content = FileDescriptorProto()
        file.CopyToProto(content)
        pool.Add(content)

    for service in services:
        add(known.FindServiceByName(service).file)
    for file in _DETAILS:
        add(file)
    return pool
