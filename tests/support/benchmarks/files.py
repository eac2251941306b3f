"""Small files in exactly the formats in which benchmarks publish theirs, written by hand: one of each, by name."""

from collections.abc import Callable
from pathlib import Path

from tests.support.benchmarks import entity_sets, scene_sets, search_sets
from tests.support.benchmarks.writing import put_picture, write_lines

PLAIN = [
    {
        "id": "p-1",
        "question": "When was it built?",
        "answers": ["1889"],
        "pictures": ["tower.jpg", {"name": "far", "url": "https://host.example/far.jpg"}],
        "history": [{"question": "What is it?", "answer": "A tower."}],
        "hops": [{"action": "text", "query": "When was the tower built?"}],
        "answer_range": [1888.0, 1890.0],
        "answerable": False,
    },
    {"id": "p-2", "question": "Why?"},
]


def plain(folder: Path) -> list[Path]:
    put_picture(folder, "tower.jpg")
    return [write_lines(folder / "questions.jsonl", PLAIN)]


WRITERS: dict[str, Callable[[Path], list[Path]]] = {
    "infoseek": entity_sets.infoseek,
    "encyclopedic-vqa": entity_sets.encyclopedic_vqa,
    "dyn-vqa": search_sets.dyn_vqa,
    "crag-mm": search_sets.crag_mm,
    "cogbench": search_sets.cogbench,
    "livevqa": search_sets.livevqa,
    "mmsearch": search_sets.mmsearch,
    "mrag-bench": search_sets.mrag_bench,
    "ok-vqa": scene_sets.ok_vqa,
    "viquae": entity_sets.viquae,
    "vqav2": scene_sets.vqav2,
    "visual7w": scene_sets.visual7w,
    "nocaps": scene_sets.nocaps,
    "plain": plain,
}
"""By benchmark: writes its files into a folder, pictures below `images/`, and says which files."""
TABLES = ("crag-mm", "mmsearch", "mrag-bench")
"""Those whose files are no text."""
