"""Entries as people make them: photographs of a thing, and a few words about it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from quizglass_client.errors import InvalidRequest
from quizglass_client.files import LARGEST_PICTURE, read_file
from quizglass_client.names.cameras import is_of_a_camera
from quizglass_client.names.titles import first_sentence, title_of_thing
from quizglass_client.pictures import given
from quizglass_client.requests import sendable
from quizglass_client.types import Entry, EntryFields, PictureLike

_DIGEST = 12


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """An entry that was made of photographs and words."""

    entry: Entry
    """Its id is the first of `ids`; without a title where nothing gives it one."""
    ids: tuple[str, ...]
    """Of entries that it may be a change of: each photograph's own, or the one that was given."""
    titled: bool
    """Whether its title was given."""

    def changing(self, before: Entry, pictures: Sequence[bytes]) -> Entry:
        """The entry that `before` becomes: what the note leaves empty stays as it was, and so does a title.

        Args:
            before: as it is stored.
            pictures: all that it shows from now on, encoded.
        """
        after = self.entry
        return replace(
            before,
            title=after.title if self.titled else before.title,
            text=after.text or before.text,
            text_format=after.text_format if after.text else before.text_format,
            caption=after.caption or before.caption,
            kind=after.kind or before.kind,
            source=after.source or before.source,
            language=after.language or before.language,
            attributes={**before.attributes, **after.attributes},
            time=after.time or before.time,
            expires_after=after.expires_after or before.expires_after,
            pictures=tuple(pictures),
        )


def note(
    text: str, pictures: Sequence[PictureLike], *, title: str = "", id: str = "", **fields: Unpack[EntryFields]
) -> NoteDraft:
    """An entry of photographs of a thing and what there is to know of it.

    Without a title it is called as the first file that was named by a person, else by the first sentence. Its id is
    made from the first photograph, or from the text, so that the same makes the same entry again.

    Raises:
        InvalidRequest: there is neither text nor picture, the text cannot be sent, or a picture's file cannot be read.
    """
    if not (sendable(text, "text").strip() or pictures or id):
        raise InvalidRequest.of("text", "give a text, a picture, or both")
    ids = (id,) if id else tuple(photo_id(picture, f"pictures[{at}]") for at, picture in enumerate(pictures))
    ids = ids or (f"note-{_digest(' '.join(text.split()).encode(errors='surrogatepass'))}",)
    called = title or next(filter(None, map(_name, pictures)), "") or first_sentence(text)
    return NoteDraft(Entry(ids[0], called, text=text, pictures=tuple(pictures), **fields), ids, bool(title))


async def note_on_thread(
    text: str, pictures: Sequence[PictureLike], *, title: str = "", id: str = "", **fields: Unpack[EntryFields]
) -> NoteDraft:
    """`note` on a worker thread: it reads the files of the pictures."""
    return await asyncio.to_thread(note, text, pictures, title=title, id=id, **fields)


def photo_id(picture: PictureLike, field: str = "picture") -> str:
    """Id of the entry that a photograph by itself makes: of its content, wherever its file lies.

    Raises:
        InvalidRequest: the file cannot be read, or it is nothing that can be a picture. It names `field`.
    """
    picture = given(picture, field)
    if not isinstance(picture, bytes | str | Path):
        return f"photo-{_digest(f'{picture.mode} {picture.size} '.encode() + picture.tobytes())}"
    if isinstance(picture, bytes):
        return f"photo-{_digest(picture)}"
    try:
        return f"photo-{_digest(read_file(Path(picture), LARGEST_PICTURE))}"
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidRequest.of(field, f"cannot read {picture}: {why}", reason="NO_FILE") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


def _name(picture: PictureLike) -> str:
    """A title by a file's name, if a person gave it that."""
    if not isinstance(picture, str | Path):
        return ""
    path = Path(picture)
    return "" if is_of_a_camera(path.stem) else title_of_thing(path)
