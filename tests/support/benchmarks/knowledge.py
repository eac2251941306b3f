"""Small files in exactly the forms in which the knowledge of benchmarks is published."""

import gzip
import json
import sqlite3
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.benchmarks.writing import PIXEL, write_json, write_lines

WIKI = "https://en.wikipedia.org/wiki/"
ENCYCLOPEDIC = {
    f"{WIKI}Eiffel_Tower": {
        "title": "Eiffel Tower",
        "section_titles": ["Eiffel Tower", "Height"],
        "section_texts": ["The Eiffel Tower is a tower in Paris.", "It is 324 metres tall."],
        "image_urls": ["https://upload.example/a/ab/Tour_Eiffel%281%29.jpg", "https://upload.example/b/plan.svg"],
        "image_reference_descriptions": ["The tower seen from the river", ""],
        "image_section_indices": [0, 1],
        "url": f"{WIKI}Eiffel_Tower",
    },
    f"{WIKI}St_Mary's_Church_(Velm)": {
        "title": "St Mary's Church (Velm)",
        "section_titles": ["St Mary's Church (Velm)"],
        "section_texts": ["A church in Velm."],
        "image_urls": [],
        "image_reference_descriptions": [],
        "image_section_indices": [],
        "url": f"{WIKI}St_Mary's_Church_(Velm)",
    },
}


def encyclopedic(folder: Path, *, zipped: bool = False) -> Path:
    if not zipped:
        return write_json(folder / "wiki_100_dict_v4.json", ENCYCLOPEDIC)
    path = folder / "encyclopedic_kb_wiki.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("encyclopedic_kb_wiki.json", json.dumps(ENCYCLOPEDIC))
    return path


def pictures(folder: Path) -> Path:
    """The tower's picture, as it is called in each of the forms."""
    for name in ("Tour_Eiffel(1).jpg", "Q243.jpg", "512px-Tower.jpg", "tower.jpg"):
        (folder / "downloaded" / name).parent.mkdir(exist_ok=True)
        (folder / "downloaded" / name).write_bytes(PIXEL)
    return folder / "downloaded"


WIKI6M = [
    {
        "wikidata_id": "Q243",
        "wikipedia_title": "Eiffel Tower",
        "wikipedia_summary": "The Eiffel Tower is a tower in Paris.",
        "wikipedia_content": "The Eiffel Tower is a tower in Paris. It is 324 metres tall.",
        "wikipedia_image_url": "https://upload.example/x.jpg",
    },
    {"wikidata_id": "Q33602", "wikipedia_title": "Giant panda", "wikipedia_summary": "", "wikipedia_content": None},
]


def wiki6m(folder: Path) -> Path:
    path = folder / "Wiki6M_ver_1_0.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in WIKI6M).encode()))
    return path


VIQUAE = [
    {
        "wikipedia_id": "16021",
        "kilt_id": "16021",
        "wikipedia_title": "Eiffel Tower",
        "text": {
            "paragraph": [
                "Eiffel Tower\n",
                "The tower is in Paris.\n",
                "Section::::History.\n",
                "Section::::History.:Design.\n",
                "BULLET::::- It is 324 metres tall.\n",
            ]
        },
        "wikidata_info": {"wikidata_id": "Q243", "wikipedia_title": "Eiffel Tower"},
        "image": "512px-Tower.jpg",
        "url": "http://upload.example/512px-Tower.jpg",
        "categories": "",
        "anchors": {"text": []},
    }
]


def viquae(folder: Path) -> Path:
    return write_lines(folder / "non_humans.jsonl", VIQUAE)


_SCHEMA = """
CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER, database_id TEXT NOT NULL,
                          config_json_str TEXT, UNIQUE (name, database_id));
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,
                         seq_id BLOB NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
                         UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT,
                                 int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
"""
IMAGES = [
    {
        "image_url": "https://upload.example/t/tower.jpg?width=9",
        "entities": json.dumps(["Eiffel Tower"]),
        "info": json.dumps({"Eiffel Tower": {"height": "324 m", "architect": "Stephen Sauvestre", "note": "x" * 600}}),
    },
    {"image_url": "https://upload.example/broken.jpg", "entities": "[", "info": "{}"},
]
PAGES = [
    {
        "page_name": "Height of the tower",
        "page_url": "https://news.example/tower?id=1",
        "page_snippet": "It is 324 metres tall.",
    }
]


def crag_mm(folder: Path, name: str, records: list[Mapping[str, Any]]) -> Path:
    """A Chroma database with a collection, as the contest publishes its indexes."""
    folder.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(folder / "chroma.sqlite3") as database:
        database.executescript(_SCHEMA)
        database.execute("INSERT INTO collections VALUES ('c', ?, 768, 'd', '{}')", (name,))
        database.execute("INSERT INTO segments VALUES ('v', 'urn:chroma:segment/vector/hnsw', 'VECTOR', 'c')")
        database.execute("INSERT INTO segments VALUES ('m', 'urn:chroma:segment/metadata/sqlite', 'METADATA', 'c')")
        for number, record in enumerate(records):
            database.execute(
                "INSERT INTO embeddings (id, segment_id, embedding_id, seq_id) VALUES (?, 'm', ?, ?)",
                (number + 1, str(number), b"\0"),
            )
            for key, value in record.items():
                database.execute(
                    "INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", (number + 1, key, value)
                )
    database.close()
    return folder


PAGE_PROPS = (
    "-- MySQL dump\nINSERT INTO `page_props` VALUES (7,'page_image_free','It\\'s.jpg',NULL),"
    "(7,'wikibase_item','Q243',NULL),"
    "(8,'displaytitle','(9,\\'wikibase_item\\',\\'Q1\\'',NULL);\n"
)
DUMP = f"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename><base>{WIKI}Main_Page</base>
<namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>
<page><title>Eiffel Tower</title><ns>0</ns><id>7</id><revision><id>1</id><timestamp>2024-01-01T00:00:00Z</timestamp>
<model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">It is 324 metres tall.</text>
</revision></page>
<page><title>Velm</title><ns>0</ns><id>9</id><revision><id>2</id><timestamp>2024-01-01T00:00:00Z</timestamp>
<model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">Velm is a town.</text>
</revision></page>
</mediawiki>"""


def dump(folder: Path) -> tuple[Path, Path]:
    """A MediaWiki dump, and the properties of its pages."""
    (folder / "wiki.xml").write_text(DUMP)
    (folder / "page_props.sql.gz").write_bytes(gzip.compress(PAGE_PROPS.encode()))
    return folder / "wiki.xml", folder / "page_props.sql.gz"
