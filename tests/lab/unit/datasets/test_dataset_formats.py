"""Every benchmark's file becomes samples, with its pictures found by its own names."""

import json
from pathlib import Path

import pytest

from quizglass_lab.datasets.benchmarks import BENCHMARKS, read_samples
from quizglass_lab.datasets.formats.plain import write_line
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.pocketworld.dataset import build_world, export_world, write_questions
from quizglass_lab.pocketworld.question import Hop
from quizglass_lab.pocketworld.questions import make_questions, make_sessions
from tests.support.benchmarks import entity_sets, files, scene_sets, search_sets, writing


def read(name: str, folder: Path, paths: list[Path] | None = None) -> list[Sample]:
    given = files.WRITERS[name](folder) if paths is None else paths
    (folder / "images").mkdir(exist_ok=True)
    return list(read_samples(name, given, pictures=folder / "images"))


def test_every_benchmark_has_a_small_file_here() -> None:
    assert set(BENCHMARKS) == {*files.WRITERS, "pocketworld"}


def test_infoseek_joins_entities_and_types_and_reads_ranges(tmp_path: Path) -> None:
    panda, height, built = read("infoseek", tmp_path)
    assert panda.answers == ("People's Republic of China", "cn", "China", "\U0001f1e8\U0001f1f3")
    assert (panda.image_answer, panda.split) == ("Giant panda", "train")
    assert panda.pictures[0].read() == writing.PIXEL
    assert panda.entries == ("Q33602", "https://en.wikipedia.org/wiki/Giant_panda"), (
        "its knowledge has one or the other"
    )
    assert (height.answer, height.answer_range, height.answer_type) == ("324", (291.6, 356.4), "numerical")
    assert not height.pictures[0].at_hand
    assert height.pictures[0].name == "oven_05000001"
    assert (built.answer_type, built.pictures[0].at_hand) == ("time", True)


def test_infoseek_as_echosight_asks_it_is_told_by_the_benchmark_s_own_files(tmp_path: Path) -> None:
    own, table = entity_sets.infoseek(tmp_path), entity_sets.echosight(tmp_path)
    height, built = read("infoseek", tmp_path, [*own, table])
    assert (height.id, height.answer_range, height.split) == (
        "infoseek_val_00000001",
        (291.6, 356.4),
        "val_unseen_question",
    )
    assert height.entries == ("Q243", "https://en.wikipedia.org/wiki/Eiffel_Tower")
    assert built.answers == ("1889", "1888", "1890")
    alone = read("infoseek", tmp_path, [table])
    assert [sample.id for sample in alone] == ["infoseek_val_00000002", "infoseek_val_00000001"]
    assert (alone[0].answers, alone[0].entries) == (("1889",), ("https://en.wikipedia.org/wiki/Eiffel_Tower",))
    assert (alone[0].image_answer, alone[0].pictures[0].at_hand) == ("Eiffel Tower", True)
    assert BENCHMARKS["infoseek"].layout.find(tmp_path, "test_filtered") == [table]


def test_echosight_s_questions_have_to_be_infoseek_s_and_each_once(tmp_path: Path) -> None:
    table = entity_sets.echosight(tmp_path)
    lines = table.read_text(encoding="utf-8").splitlines()
    of_other = writing.write_lines(tmp_path / "infoseek_val.jsonl", entity_sets.INFOSEEK[:2])
    with pytest.raises(
        DatasetError, match=r"infoseek_test_filtered.csv:2: data_id: 'infoseek_val_00000002' is in none"
    ):
        read("infoseek", tmp_path, [of_other, table])
    table.write_text("\n".join([*lines, lines[1]]), encoding="utf-8")
    with pytest.raises(DatasetError, match="data_id: 'infoseek_val_00000002' is there twice"):
        read("infoseek", tmp_path, [table])
    table.write_text("question,answer\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="data_id: expected a column of that name"):
        read("infoseek", tmp_path, [table])


def test_infoseek_without_answers_is_a_test_split(tmp_path: Path) -> None:
    record = {"data_id": "a", "image_id": "oven_1", "question": "Who?", "data_split": "test"}
    (sample,) = read("infoseek", tmp_path, [writing.write_lines(tmp_path / "infoseek_test.jsonl", [record])])
    assert (sample.answers, sample.answer, sample.entries) == ((), "", ())


def test_encyclopedic_vqa_asks_a_question_with_each_of_its_pictures(tmp_path: Path) -> None:
    first, second, designed, founded = read("encyclopedic-vqa", tmp_path)
    assert (first.id, second.id) == ("evqa-val-1/0", "evqa-val-1/1")
    assert first.answers == ("20 feet", "6 m")
    assert first.evidence == ('It grows to 20 feet, they say, "and more".\nRarely less.',)
    assert (first.pictures[0].at_hand, second.pictures[0].at_hand) == (False, True)
    assert (designed.answers, designed.answer_type, designed.pictures[0].at_hand) == (
        ("Ana&&Ben",),
        "multi_answer",
        True,
    )
    assert (founded.hops_needed, len(founded.entries), founded.image_answer) == (2, 2, "Parrot")
    assert founded.place.endswith("val.csv:5"), "a line break inside a field counts"


def test_dyn_vqa_reads_both_names_of_the_gold_query_and_unanswerable_questions(tmp_path: Path) -> None:
    child, landed, made = read("dyn-vqa", tmp_path)
    assert (child.split, child.gold_query) == ("en.202408", "What is the name of the actor's third child?")
    assert child.pictures[0].url.startswith("https://host.example/")
    assert child.pictures[0].at_hand, "found by the last part of its address"
    assert (landed.answers, landed.gold_query, landed.pictures[0].at_hand) == ((), "", False)
    assert made.answers == ("Ana", "44694", "Ana Brint", "A. Brint")
    assert (made.gold_query, made.pictures[0].at_hand) == ("Who made the Velmora?", True)


@pytest.mark.parametrize("kind", ["parquet", "stream", "file"])
@pytest.mark.parametrize("columns", [True, False])
def test_crag_mm_reads_both_layouts_and_all_kinds_of_file(tmp_path: Path, columns: bool, kind: str) -> None:
    cost, maker, dog = read("crag-mm", tmp_path, search_sets.crag_mm(tmp_path, columns=columns, kind=kind))
    assert (cost.answer, maker.answer) == ("It costs 5 crowns.", "Tandric makes it.")
    assert maker.history == (("What does this cost?", "It costs 5 crowns."),)
    assert (maker.session, maker.domain, maker.category, maker.split) == ("s-1", "shopping", "multi-hop", "validation")
    assert maker.source["dynamism"] == "1", "a label whose names are not in the file"
    assert cost.pictures[0].read() == writing.PIXEL
    assert (dog.answerable, dog.pictures[0].at_hand) == (False, True)
    assert dog.pictures[0].url == "https://host.example/pictures/dog.jpg"


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("crag-mm-single-turn-public-validation.arrow", "validation"),
        ("crag-mm-multi-turn-public-public_test-00000-of-00002.arrow", "public_test"),
        ("validation/data-00000-of-00001.arrow", "validation"),
        ("test.arrow", "test"),
    ],
)
def test_crag_mm_s_split_is_read_from_every_name_that_a_file_gets(tmp_path: Path, name: str, split: str) -> None:
    (written,) = search_sets.crag_mm(tmp_path, kind="stream")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    written.rename(path)
    assert {sample.split for sample in read("crag-mm", tmp_path, [path])} == {split}


def test_a_stored_picture_is_found_whatever_stands_behind_its_address(tmp_path: Path) -> None:
    rows = search_sets.crag_rows(columns=True)
    changed = [
        row | {"image_url": "https://host.example/pictures/d%6Fg.jpg?size=2"} for row in rows if row["image_url"]
    ]
    (dog,) = read("crag-mm", tmp_path, search_sets.crag_mm(tmp_path, rows=changed))
    assert (dog.pictures[0].name, dog.pictures[0].at_hand) == ("dog.jpg", True)


def test_a_table_names_the_extra_that_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = search_sets.crag_mm(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(DatasetError, match=r"needs pyarrow; in the clone: pip install '\.\[import\]'"):
        read("crag-mm", tmp_path, paths)


def test_cogbench_traces_become_hops(tmp_path: Path) -> None:
    compared, plain = read("cogbench", tmp_path)
    assert [(hop.action, hop.round) for hop in compared.hops] == [("image", 0), ("text", 1), ("text", 1)]
    assert compared.evidence == ("The Velmora is a car.", "d1", "d2")
    assert (compared.hops_needed, compared.pictures[0].at_hand) == (3, True)
    assert (plain.hops_needed, plain.pictures) == (None, ())


def test_the_hops_that_a_benchmark_counts_are_not_the_queries_that_a_trace_took(tmp_path: Path) -> None:
    refined = search_sets.COGBENCH[0] | {"hops": 2}
    path = writing.write_lines(tmp_path / "cogbench.jsonl", [refined])
    (sample,) = read("cogbench", tmp_path, [path])
    assert (sample.hops_needed, len(sample.hops)) == (2, 3)


def test_cogbench_is_read_from_a_json_list_too(tmp_path: Path) -> None:
    path = writing.write_json(tmp_path / "cogbench.json", search_sets.COGBENCH)
    assert [sample.id for sample in read("cogbench", tmp_path, [path])] == ["c-1", "c-2"]


def test_vqav2_joins_votes_in_any_order(tmp_path: Path) -> None:
    looking, people = read("vqav2", tmp_path)
    assert (looking.answers, looking.votes) == (("down",), ("down",) * 10)
    assert people.votes == ("two men", *("2",) * 9)
    assert (people.answer_type, people.category, people.split) == ("number", "how many", "val2014")
    assert people.pictures[0].at_hand


def test_vqav2_test_questions_have_pictures_of_another_name(tmp_path: Path) -> None:
    questions = scene_sets.VQA_QUESTIONS | {"data_subtype": "test-dev2015"}
    (first, _) = read("vqav2", tmp_path, [writing.write_json(tmp_path / "questions.json", questions)])
    assert first.pictures[0].name == "COCO_test2015_000000262148.jpg"
    assert first.answers == ()


def test_vqav2_annotations_of_another_split_are_refused(tmp_path: Path) -> None:
    _, questions = scene_sets.vqav2(tmp_path)
    other = scene_sets.VQA_ANNOTATIONS | {"annotations": scene_sets.VQA_ANNOTATIONS["annotations"][:1]}  # type: ignore[index]
    with pytest.raises(DatasetError, match=r"questions 1: question_id: 262148000 is not among the annotations"):
        read("vqav2", tmp_path, [questions, writing.write_json(tmp_path / "other.json", other)])


def test_ok_vqa_has_votes_and_no_standard_answer_of_its_own(tmp_path: Path) -> None:
    (sport,) = read("ok-vqa", tmp_path)
    assert (sport.answers, sport.votes) == (("skateboard",), ("skate", *("skateboard",) * 9))
    assert (sport.dataset, sport.split, sport.pictures[0].at_hand) == ("ok-vqa", "val2014", True)
    assert sport.category == "Sports and Recreation"


def test_viquae_has_the_question_as_it_was_before_a_picture_replaced_the_name(tmp_path: Path) -> None:
    (brand,) = read("viquae", tmp_path)
    assert (brand.answers, brand.entries) == (("Velmora's", "Velmora"), ("Q919117",))
    assert brand.gold_query.startswith("Jackie Brint's")
    assert (brand.split, brand.pictures[0].at_hand) == ("test", True)


def test_livevqa_asks_both_levels_of_a_picture_openly(tmp_path: Path) -> None:
    event, jobs = read("livevqa", tmp_path)
    assert (event.id, event.answers, event.choices) == ("news/0_2025/level1", ("A debate", "debate"), ())
    assert (jobs.category, jobs.split, jobs.answer_type) == ("level2", "news", "")
    assert event.pictures[0].at_hand
    assert event.source["Ground_Truth"] == "B"


def test_mmsearch_has_questions_with_and_without_a_picture(tmp_path: Path) -> None:
    logo, won = read("mmsearch", tmp_path)
    assert logo.answers == ("29 September 2024", "September 29, 2024")
    assert (logo.pictures[0].read(), won.pictures) == (writing.PIXEL, ())
    assert (won.gold_query, won.category, won.domain) == ("Who won the cup", "knowledge", "sports")
    assert not {"query_image", "image_search_result"} & logo.source.keys(), "no bytes of pictures"


def test_mrag_bench_is_a_choice_of_four(tmp_path: Path) -> None:
    (car,) = read("mrag-bench", tmp_path)
    assert (car.answer, car.choices) == ("Tandric", ("Velmora", "Oskel", "Brint"))
    assert (car.category, car.domain, car.pictures[0].read()) == ("Angle", "Perspective", writing.PIXEL)


def test_a_picture_in_a_table_is_an_object_of_bytes_or_a_path(tmp_path: Path) -> None:
    rows = [search_sets.MMSEARCH[0] | {"query_image": {"bytes": None, "path": "logo.png"}}]
    (there,) = read("mmsearch", tmp_path, search_sets.mmsearch_of(tmp_path, rows))
    assert (there.pictures[0].name, there.pictures[0].at_hand) == ("logo.png", False)
    rows = [search_sets.MMSEARCH[0] | {"query_image": "logo.png"}]
    with pytest.raises(DatasetError, match=r"row 1: query_image: expected an object with bytes and path"):
        read("mmsearch", tmp_path, search_sets.mmsearch_of(tmp_path, rows))


def test_visual7w_reads_telling_and_pointing(tmp_path: Path) -> None:
    telling, pointing = read("visual7w", tmp_path)
    assert (telling.answer, telling.choices) == ("Red.", ("Blue.", "Green.", "Silver."))
    assert (telling.split, telling.category, telling.pictures[0].at_hand) == ("train", "what", True)
    assert (pointing.answer, pointing.choices[0]) == ("cup at 1, 2, 30 x 40", "bowl at 5, 6, 7 x 8")
    assert (pointing.answer_type, pointing.pictures[0].at_hand) == ("pointing", False)


def test_nocaps_asks_for_a_description_and_has_its_captions(tmp_path: Path) -> None:
    (sample,) = read("nocaps", tmp_path)
    assert len(sample.answers) == 2
    assert (sample.source["domain"], sample.split, sample.pictures[0].at_hand) == ("near-domain", "val", True)


def test_nocaps_image_info_has_no_captions(tmp_path: Path) -> None:
    info = {key: value for key, value in scene_sets.NOCAPS.items() if key != "annotations"}
    (sample,) = read("nocaps", tmp_path, [writing.write_json(tmp_path / "nocaps_test_image_info.json", info)])
    assert (sample.answers, sample.split) == ((), "test")


def test_pocketworld_is_read_from_the_folder_that_it_writes(tmp_path: Path) -> None:
    export_world(4711, 30, tmp_path / "world", questions=8, unknowable=2)
    samples = list(read_samples("pocketworld", [tmp_path / "world"]))
    assert [sample.split for sample in samples] == ["none", "image", "text", "both"] * 2 + ["unanswerable"] * 2
    assert all(sample.pictures[0].at_hand for sample in samples)
    assert [sample.answerable for sample in samples] == [True] * 8 + [False] * 2
    both = samples[3]
    assert both.gold_query
    assert both.image_answer
    assert both.hops_needed


@pytest.mark.parametrize("name", ["dyn-vqa", "encyclopedic-vqa", "nocaps"])
def test_a_language_or_the_origin_of_a_picture_is_not_what_a_question_is_about(name: str, tmp_path: Path) -> None:
    assert {sample.domain for sample in read(name, tmp_path)} == {""}, "prompts say the domain"


def test_pocketworld_2_has_domains_claims_and_sessions(tmp_path: Path) -> None:
    world = build_world(4711, 60, format=2)
    asked = [*make_questions(world, 40, 1, format=2), *make_sessions(world, 2, 1)]
    write_questions(asked, tmp_path, format=2)
    samples = list(read_samples("pocketworld", [tmp_path]))
    assert [sample.session for sample in samples] == [question.session for question in asked]
    assert [sample.claims for sample in samples] == [question.claims for question in asked]
    assert [sample.hops for sample in samples] == [question.hops for question in asked]
    assert {sample.domain for sample in samples} == {question.domain for question in asked}
    assert all(sample.pictures[0].at_hand for sample in samples)


def test_pocketworld_asks_no_name_of_a_picture_where_the_question_says_it(tmp_path: Path) -> None:
    world = build_world(4711, 60, format=2)
    asked = make_questions(world, 80, 1, format=2)
    write_questions(asked, tmp_path, format=2)
    samples = list(read_samples("pocketworld", [tmp_path]))
    again = writing.write_lines(tmp_path / "plain.jsonl", [json.loads(write_line(each, [None])) for each in samples])
    assert [each.pictured for each in read_samples("plain", [again])] == [each.pictured for each in samples]
    queries = {sample.id: sample.image_query for sample in samples}
    assert {bool(sample.image_query) is sample.pictured for sample in samples} == {True}
    assert {queries[question.id] for question in asked if question.family == "named"} == {""}
    looked_up = [question for question in asked if any(hop.action == "image" for hop in question.hops)]
    assert looked_up
    assert all(queries[question.id] == question.image_query for question in looked_up)


def test_plain_lines_say_all_that_a_sample_has(tmp_path: Path) -> None:
    tower, why = read("plain", tmp_path)
    assert tower.hops == (Hop("text", "When was the tower built?", "", "", 0),)
    assert (tower.answer_range, tower.answerable) == ((1888.0, 1890.0), False)
    assert [picture.at_hand for picture in tower.pictures] == [True, False]
    assert why.answerable


def test_no_name_of_a_picture_leads_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").write_bytes(writing.PIXEL)
    (tmp_path / "images").mkdir()
    names = ["../secret.jpg", str(tmp_path / "secret.jpg"), "x\0y", "a" * 5000, "images/../../secret.jpg"]
    path = writing.write_lines(tmp_path / "q.jsonl", [{"id": "1", "question": "?", "pictures": names}])
    (sample,) = read("plain", tmp_path, [path])
    assert [picture.at_hand for picture in sample.pictures] == [False] * 5
    with pytest.raises(DatasetError, match="not found; pass the folder"):
        sample.pictures[0].read()


def test_splits_and_limits(tmp_path: Path) -> None:
    paths = entity_sets.infoseek(tmp_path)
    assert [s.split for s in read_samples("infoseek", paths, split="train")] == ["train"]
    assert len(list(read_samples("infoseek", paths, limit=2))) == 2


@pytest.mark.parametrize("name", [*files.WRITERS])
def test_only_what_is_asked_for_is_read(tmp_path: Path, name: str) -> None:
    paths = files.WRITERS[name](tmp_path)
    first = next(read_samples(name, paths, limit=1))
    assert first.dataset in (name, "")
    assert first.place.startswith(str(tmp_path))
