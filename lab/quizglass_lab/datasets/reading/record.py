"""Checking one record of a file against the fields that its benchmark publishes."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from quizglass_export.errors import reason
from quizglass_lab.datasets.reading.errors import DatasetError


class Published(BaseModel):
    """Base of the records that benchmarks publish: types are not converted, further fields are kept aside."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


RecordT = TypeVar("RecordT", bound=BaseModel)


def checked(kind: type[RecordT], value: object, place: str) -> RecordT:
    """A record with the fields of its kind.

    Raises:
        DatasetError: a field is missing or of another type; named after `place`, the file and line.
    """
    if not isinstance(value, dict):
        raise DatasetError(f"{place}: expected an object with fields, not {shown(value)}")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise DatasetError(f"{place}: {reason(error)}") from None


def shown(value: Any) -> str:
    """A wrong value in an error message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
