"""Long answers: BLEU and ROUGE of the libraries, claims, and a model as the judge over a real socket."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from quizglass_lab.scoring.claims import ModelClaims, claim_score, claims_by_rules, contains_words, sentences
from quizglass_lab.scoring.costs import TurnCost, cost_figures
from quizglass_lab.scoring.endpoint import ChatEndpoint, EndpointError
from quizglass_lab.scoring.judge import ModelJudge, scaled
from quizglass_lab.scoring.texts import rouge_l, sentence_bleu


def test_equal_texts_score_full_and_others_less() -> None:
    text = "The Velmora is a red car made by Tandric."
    assert sentence_bleu(text, ["Another one entirely.", text]) == pytest.approx(100)
    assert sentence_bleu("blue boat", [text]) < 5
    assert rouge_l(text, ["nothing alike", text]) == pytest.approx(1)
    assert 0 < rouge_l("a red car", [text]) < 1


def test_references_are_needed() -> None:
    for score in (sentence_bleu, rouge_l):
        with pytest.raises(ValueError, match="references: none"):
            score("a", [])


def test_claims_that_are_known_one_by_one_need_no_judge() -> None:
    gold = ("The Velmora costs 45 crowns.", "It was made in 1931.", "Ana Brint designed it.")
    said = sentences("The Velmora costs 45 crowns. It was made in 1931! It is blue.")
    score = claim_score(said, gold, contains_words)
    assert (score.precision, score.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert score.f1 == pytest.approx(2 / 3)


def test_claims_without_full_stops_stand_apart() -> None:
    gold = ["The tower is red", "the bridge is blue"]
    assert claim_score(["The tower is blue"], gold, contains_words).precision == 0
    assert claim_score(gold, ["the tower is blue"], contains_words).recall == 0
    assert claim_score(gold, gold, contains_words).f1 == 1


def test_sentences_of_chinese_end_without_a_space_and_their_characters_are_words() -> None:
    assert sentences("塔是红的。桥是蓝的！") == ["塔是红的。", "桥是蓝的！"]
    assert contains_words("埃菲尔铁塔建于1889年。它在巴黎。", "巴黎")
    assert not contains_words("埃菲尔铁塔建于1889年。它在巴黎。", "巴黎铁塔"), "not in one sentence"
    assert not contains_words("它在巴黎。", "里昂")


def test_no_claims_no_precision() -> None:
    score = claim_score([], ["It is red."], contains_words)
    assert (score.precision, score.recall, score.f1) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="gold: no claims"):
        claim_score(["It is red."], [], contains_words)


def test_claims_by_rules_take_a_bare_gold_answer_for_one_claim() -> None:
    one = claims_by_rules("It was built in 1889. It is blue.", "1889")
    assert (one.precision, one.recall) == (0.5, 1.0)
    two = claims_by_rules("1889", "It was built in 1889. Ana built it.")
    assert (two.precision, two.recall) == (1.0, 0.0), "a year says neither of the two"
    known = claims_by_rules("It was built in 1889 by Ben.", "", ["built in 1889"])
    assert (known.precision, known.recall) == (0.0, 1.0), "known claims are matched whole"
    assert claims_by_rules("", "1889").f1 == 0


def test_a_model_takes_answers_apart_and_compares_claims() -> None:
    asked: list[str] = []

    def complete(prompt: str) -> str:
        asked.append(prompt)
        if prompt.startswith("List"):
            return "1. It is red.\n\n- Ana made it." if "Answer: gold" in prompt else "It is red.\nIt is old.\n"
        return "Yes." if "Claim: It is red." in prompt else "No, it does not."

    score = ModelClaims(complete).score("What is it?", "an answer", "gold")
    assert (score.precision, score.recall) == (0.5, 0.5)
    assert all("What is it?" in prompt for prompt in asked)
    assert "Text: It is red.\nAna made it." in asked[2], "a claim is compared with all of the other answer's"
    known = ModelClaims(complete).score("What is it?", "an answer", "gold", ["It is red."])
    assert (known.precision, known.recall) == (0.5, 1.0)
    silent = ModelClaims(lambda _: "")
    assert (silent.score("What?", "", "gold").precision, silent.score("What?", "", "gold").recall) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("reply", "grade"), [("4", 4), ("Grade: 5.", 5), ("I would say 3 of 5", 3), ("10", None), ("good", None)]
)
def test_a_grade_is_read_from_what_a_model_says(reply: str, grade: int | None) -> None:
    assert ModelJudge(lambda _: reply).grade("Who?", "Ana", ["Ana Brint", "A. Brint"]) == grade


def test_a_judge_is_told_question_answer_and_gold_and_is_not_asked_about_nothing() -> None:
    prompts: list[str] = []

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return "Between 10 and 4, a 4."

    judge = ModelJudge(complete)
    assert judge.grade("Who?", "  ", ["Ana"]) == 1
    assert prompts == []
    assert judge.grade("Who?", "Ben", ["Ana", "Anna"]) == 4, "10 is no grade"
    assert all(part in prompts[-1] for part in ("Who?", "Ben", "Right answer: Ana\nRight answer: Anna"))


def test_grades_are_scaled_as_the_planning_agent_s() -> None:
    assert [scaled(grade) for grade in (1, 3, 5)] == [0, 50, 100]


@contextmanager
def served(replies: list[tuple[int, object]]) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """An endpoint that gives these replies in turn (-1: one that breaks off), and what it was asked."""
    asked: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body | {"path": self.path, "key": self.headers.get("Authorization")})
            status, reply = replies[min(len(asked), len(replies)) - 1]
            content = json.dumps(reply).encode()
            self.send_response(max(status, 200))
            if isinstance(reply, dict) and "retry_after" in reply:
                self.send_header("Retry-After", reply["retry_after"])
            self.send_header("Content-Length", str(len(content) + (1000 if status < 0 else 0)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def completion(text: str) -> dict[str, object]:
    return {"choices": [{"message": {"content": text}}]}


def test_an_endpoint_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "secret")
    with served([(503, {}), (200, completion("4"))]) as (url, asked):
        endpoint = ChatEndpoint(url, "judge", key_variable="JUDGE_KEY", wait=0)
        assert ModelJudge(endpoint).grade("Who?", "Ana", ["Ana Brint"]) == 4
    assert [each["path"] for each in asked] == ["/v1/chat/completions"] * 2
    assert asked[1]["key"] == "Bearer secret"
    assert (asked[1]["model"], asked[1]["temperature"]) == ("judge", 0)


@pytest.mark.parametrize(
    ("status", "reply", "problem"),
    [(401, {}, "HTTP 401"), (200, {"choices": []}, r"choices\.0\.message\.content: expected"), (500, {}, "HTTP 500")],
)
def test_an_endpoint_that_does_not_answer_is_named_without_its_key(
    status: int, reply: object, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with served([(status, reply)]) as (url, asked), pytest.raises(EndpointError, match=problem) as caught:
        ChatEndpoint(url, "judge", wait=0)("hello")
    assert "secret" not in str(caught.value)
    assert len(asked) == (4 if status == 500 else 1)


def test_a_reply_that_breaks_off_is_asked_for_again() -> None:
    with served([(-1, completion("4")), (200, completion("4"))]) as (url, asked):
        assert ChatEndpoint(url, "judge", wait=0)("hello") == "4"
    assert len(asked) == 2


@pytest.mark.parametrize(("told", "waited"), [("7", 7), ("7000", 60), ("Sun, 22 Nov 2026 12:00:00 GMT", 0), ("0", 0)])
def test_an_endpoint_says_how_long_to_wait(told: str, waited: float, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with served([(429, {"retry_after": told}), (200, completion("4"))]) as (url, _):
        assert ChatEndpoint(url, "judge", wait=0)("hello") == "4"
    assert waits == [waited]


def test_only_http_is_asked() -> None:
    with pytest.raises(EndpointError, match="expected an address that begins with http"):
        ChatEndpoint("file:///etc/passwd", "judge")


def test_costs_of_turns() -> None:
    turns = [TurnCost(1, 0, 100, 4, 0.1), TurnCost(0, 2, 300, 6, 0.3)]
    mean = {figure.name: figure.value for figure in cost_figures(turns)}
    assert (mean["image searches"], mean["text searches"]) == (0.5, 1)
    assert (mean["prompt tokens of all models"], mean["answer tokens"]) == (200, 5)
    assert mean["latency p50"] == pytest.approx(0.2)
    assert mean["search time at 6.4 s and 1.4 s"] == pytest.approx(0.5 * 6.4 + 1.4)
    assert cost_figures([]) == []
