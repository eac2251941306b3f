"""What becomes of a draft before it is the answer: checked against the evidence, or replaced by a quote of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quizglass.values import AnswerDelta, AnswerKind, FinishReason, Origin, VerdictOutcome
from quizglass_bundle.tuning import Answers
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.lookups import Lookups
from quizglass_server.assistant.turn.picture_context import PictureContext
from quizglass_server.assistant.turn.requests import Requests
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.state import Draft, State
from quizglass_server.domain.turns import Evidence, Turn
from quizglass_server.roles.decider import VERIFIER
from quizglass_server.roles.reranker import RERANKER
from quizglass_server.steps.abstaining import abstains
from quizglass_server.steps.decide import is_supported
from quizglass_server.steps.language.asked_kind import halves
from quizglass_server.steps.language.pronouns import may_point
from quizglass_server.steps.language.wording import shares_name, shares_proper_name
from quizglass_server.steps.lookup.listed import lines_asked_for
from quizglass_server.steps.lookup.matching import evidence_odds
from quizglass_server.steps.lookup.printed import as_one_piece, best_piece, list_of, pieces_of, quoted_piece
from quizglass_server.steps.prompt_values import line
from quizglass_server.steps.qualifiers import whole_sentence
from quizglass_server.steps.quoting import (
    NoteSentence,
    asks_in_words,
    best_of,
    chosen,
    compare,
    compare_each,
    going_on,
    has_names,
    in_order,
    joined,
    names_section,
    of_sections,
    quotable,
    raised,
    rested_on,
    sentences_of,
    told_elsewhere,
    weigh,
    weigh_each,
    with_sections,
)
from quizglass_server.steps.read import has_word, may_ask_for_words, words_may_tell
from quizglass_server.steps.verify import Support, judged, verify


class AnswerCheck:
    """Quotes, and checks of drafts, of one turn.

    Args:
        turn: the question.
        runner: runs the steps.
        resources: what turns share.
        journal: has the evidence, and takes what is said.
        context: what is known of the picture.
        requests: fills prompts.
        lookups: fetches what entries say of themselves.
        published: whether no quote takes the place of a draft.
    """

    def __init__(
        self,
        turn: Turn,
        runner: StepRunner,
        resources: Resources,
        journal: Journal,
        context: PictureContext,
        requests: Requests,
        lookups: Lookups,
        *,
        published: bool = False,
    ) -> None:
        self._published = published
        self._turn = turn
        self._runner = runner
        self._resources = resources
        self._journal = journal
        self._context = context
        self._requests = requests
        self._lookups = lookups
        self.verified = False
        """Whether the policy has asked the bundle's verifier itself."""

    async def settled(self, draft: Draft) -> Draft:
        """A policy's draft, or a quote in its place where the bundle has quotes stand under what generators write.

        That is where the draft knows nothing, where what was looked up does not say it, or where the draft repeats part
        of a sentence without what limits it; and where the bundle wants the shorter of both, if the quote is no longer.
        Tells what was held back.
        """
        tuning = self._resources.tuning
        if draft.kind is AnswerKind.WRITTEN and tuning.quote_accept is not None and not self._published:
            if self._stands(draft):
                draft = await self._shorter(self._whole(draft))
            else:
                printed = may_ask_for_words(self._turn.question) or words_may_tell(self._turn.question)
                quoted = await self.quote(await self._quotable(), printed=printed)
                draft = quoted if quoted.text else draft
        known = not draft.refused and not abstains(draft.text, tuning.abstain)
        if known and draft.text.strip() and not self._journal.answering:
            self._journal.emit(AnswerDelta(draft.text))
        return draft

    async def quote(self, evidence: Sequence[Evidence], *, printed: bool = False) -> Draft:
        """The sentences that answer the question, word for word; empty where none does.

        Args:
            evidence: whose sentences are weighed.
            printed: whether lines of words in the picture are weighed beside them.
        """
        pieces, asked = await self._pieces() if printed else (), self._halves()
        if pieces and (together := await self._together()):
            return self._quoted(together)
        if len(asked) > 1:
            return await self._both(asked, evidence, pieces)
        quoted = await self._sentences(evidence, pieces)
        if quoted is None:
            return Draft(finish=FinishReason.BUDGET)
        return self._quoted(quoted or await self._elsewhere())

    async def _elsewhere(self) -> Sequence[NoteSentence]:
        """What other notes say of a thing that the question names, whose own note does not answer."""
        question = self._turn.question
        found = [] if self._turn.asked_last else told_elsewhere(self._journal.evidence, question)
        scores = await self._sentence_scores(question, found) if found else None
        return chosen(found, scores, self._resources.tuning.quote_accept or 0.0) if scores else ()

    def _halves(self) -> tuple[str, ...]:
        """The two questions that are asked, or the one; what goes on from an earlier question is one with that."""
        return (self._turn.question,) if self._turn.asked_last else halves(self._turn.question)

    async def _both(self, asked: Sequence[str], evidence: Sequence[Evidence], pieces: Sequence[NoteSentence]) -> Draft:
        """The best sentence of each half of a question; where one has none, no support for the answer as a whole."""
        found, accept = sentences_of(self._of_named(evidence)), self._resources.tuning.quote_accept or 0.0
        if not (found or pieces):
            return self._quoted(())
        step = compare_each if self._resources.models[RERANKER] is None else weigh_each
        weighed = await self._runner.run(step, asked, [*found, *pieces])
        if weighed is None:
            return Draft(finish=FinishReason.BUDGET)
        best: list[NoteSentence | None] = []
        for half, scores in zip(asked, weighed, strict=True):
            subject = best[0].evidence.entry_id if best and best[0] is not None and may_point(half) else None
            best.append(_likeliest(half, found, pieces, scores, subject))
        told = [sentence if sentence is not None and sentence.score >= accept else None for sentence in best]
        quoted = as_one_piece([sentence for sentence in told if sentence is not None])
        draft = self._quoted(in_order(quoted, found))
        unanswered = [half for half, sentence in zip(asked, told, strict=True) if sentence is None]
        if not draft.text or not unanswered:
            return draft
        return replace(draft, supported=False, notes={**draft.notes, "unanswered": " ".join(unanswered)})

    async def printed(self) -> Draft:
        """The words that were read in the picture, as they are, or those of them that are asked for together; empty
        where there are none."""
        if together := await self._together():
            return self._quoted(together)
        read = self._words_read()
        if read is None:
            return Draft(finish=FinishReason.COMPLETE)
        return Draft(read.text, finish=FinishReason.COMPLETE, shown=(read.id,), kind=AnswerKind.QUOTED)

    async def _together(self) -> Sequence[NoteSentence]:
        """Lines that answer together, as a list below a heading does."""
        lines, read = await self._context.lines(), self._words_read()
        parts = [] if read is None else lines_asked_for(self._turn.question, lines)
        return [sentence for part in parts for sentence in list_of(read, lines, part)] if read is not None else []

    def _words_read(self) -> Evidence | None:
        return next((item for item in self._journal.evidence if item.origin is Origin.READ_TEXT), None)

    async def _pieces(self) -> Sequence[NoteSentence]:
        """Lines of words in the picture; none without a reranker and a line that its scores are held against."""
        reranked = self._resources.models[RERANKER] is not None and self._resources.tuning.quote_accept is not None
        if self._turn.picture is None or not reranked:
            return ()
        lines, read = await self._context.lines(), self._words_read()
        told = read is not None and (has_word(read.text) or may_ask_for_words(self._turn.question))
        return pieces_of(read, lines) if read is not None and told else ()

    async def _sentences(
        self, evidence: Sequence[Evidence], pieces: Sequence[NoteSentence] = ()
    ) -> Sequence[NoteSentence] | None:
        """Those that answer the question, or the piece of printed words that does better; None where there is no
        time."""
        question = self._turn.question
        found = of_sections(sentences_of(self._of_named(evidence)), question)
        if not (found or pieces) or not asks_in_words(question):
            return ()
        weighed = await self._weighed(question, [*found, *pieces])
        if weighed is None:
            return None
        accept, scores = self._resources.tuning.quote_accept or 0.0, raised(question, found, weighed[: len(found)])
        if found and (last := self._turn.asked_last):
            scores = going_on(scores, await self._sentence_scores(last, found) or [], last, found, accept)
        read = best_piece(question, pieces, weighed[len(found) :])
        if read is not None and read.score >= max([accept, *scores]):
            return quoted_piece(read, await self._context.lines())
        return with_sections(chosen(found, scores, accept), question)

    def _quoted(self, quoted: Sequence[NoteSentence]) -> Draft:
        """Sentences as a draft, and what they are of as evidence that was used; empty of none."""
        if not quoted:
            return Draft(finish=FinishReason.COMPLETE)
        shown = self._journal.found(
            [replace(item, used=True) for item in dict.fromkeys(each.evidence for each in quoted)]
        )
        text, ids = joined(quoted), tuple(item.id for item in shown)
        return Draft(text, finish=FinishReason.COMPLETE, shown=ids, kind=AnswerKind.QUOTED)

    def _of_named(self, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
        """Passages to quote from; where nothing is recognised and the question names entries that a text search found,
        or has a proper name of theirs ("Amira's teacher"), those of these entries alone, which as a whole may be too
        unlike an answer to be shown. So are the passages under a heading that it names; where these have not all of
        its names, others may answer as well."""
        everything, question = self._journal.evidence, self._turn.question
        if any(item.used and item.origin is Origin.IMAGE_SEARCH for item in everything):
            return evidence
        if not evidence and (self._turn.picture is not None or may_point(question)):
            return evidence  # nothing that was found is about what is seen, or was spoken of
        found = [item for item in everything if item.origin is Origin.TEXT_SEARCH]
        named = [item for item in found if shares_name(question, item.title)]
        if named:
            return _among(evidence, named) or named
        named = [item for item in found if shares_proper_name(question, item.title)]
        sections = [item for item in found if names_section(question, item)]
        if not named and not any(has_names(question, item) for item in sections):
            return [*evidence, *(item for item in sections if item not in evidence)]
        among = _among(evidence, [*named, *sections]) or named
        return [*among, *(item for item in sections if item not in among)]

    async def judge(self, draft: Draft) -> Draft:
        """The draft with what models say of its support: the verifier, and whether what it rests on answers at all."""
        return await self._answering(await self._verified_by_model(draft))

    def _stands(self, draft: Draft) -> bool:
        """Whether a draft stays: it was streamed already, or the evidence supports it."""
        tuning, answer = self._resources.tuning, draft.text.strip()
        if self._journal.answering or self._turn.answer_grammar:
            return True
        if draft.refused or abstains(answer, tuning.abstain):
            return False
        return self._support(draft).outcome is not VerdictOutcome.UNSUPPORTED

    def _support(self, draft: Draft) -> Support:
        """What is known of a draft's support so far."""
        answer, evidence = draft.text.strip(), self._journal.evidence
        support = verify(answer, evidence, draft.calculations, self._turn.question, draft.shown)
        return judged(support, draft.supported)

    def _whole(self, draft: Draft) -> Draft:
        """A draft that stands, or the sentence that it is a part of where it leaves out a qualifier of that."""
        if self._journal.answering or self._turn.answer_grammar or draft.calculations:
            return draft
        answer = draft.text.strip()
        found = rested_on(answer, self._support(draft).citations, self._journal.evidence)
        sentence = whole_sentence(answer, self._turn.question, found)
        if sentence is None:
            return draft
        return replace(draft, text=sentence.text, shown=(sentence.evidence.id,), kind=AnswerKind.QUOTED)

    async def _shorter(self, draft: Draft) -> Draft:
        """A draft that stands, or the quote where the bundle wants the shorter of both and the quote is no longer."""
        if self._resources.tuning.answers is not Answers.SHORTER:
            return draft
        if self._journal.answering or self._turn.answer_grammar or draft.calculations:
            return draft
        if len(self._halves()) > 1:  # a sentence that is shorter may answer one of them alone
            return draft
        quoted = await self._sentences(await self._quotable())
        if not quoted or len(joined(quoted).split()) > len(draft.text.split()):
            return draft
        return self._quoted(quoted)

    async def _quotable(self) -> Sequence[Evidence]:
        """What may be quoted: of recognised things their own texts alone, else the passages that were shown, of entries
        that the question names if there are any, and of a picture that it points at none about something else."""
        used = [item for item in self._journal.evidence if item.used]
        seen = [item for item in used if item.origin is Origin.IMAGE_SEARCH]
        if seen:
            return await self._lookups.own_texts(seen)
        found, question = [item for item in used if item.origin is Origin.TEXT_SEARCH], self._turn.question
        if not found:
            return found
        pictured = self._turn.picture is not None
        tags = await self._context.tags() if pictured else ()
        return quotable(found, question, tags, pictured=pictured, recognised=False)

    async def _sentence_scores(self, question: str, found: Sequence[NoteSentence]) -> list[float] | None:
        """How well sentences answer, as `quote_accept` is held against; None where there is no time."""
        scores = await self._weighed(question, found)
        return None if scores is None else raised(question, found, scores)

    async def _weighed(self, question: str, found: Sequence[NoteSentence]) -> list[float] | None:
        return await self._runner.run(compare if self._resources.models[RERANKER] is None else weigh, question, found)

    async def _answering(self, draft: Draft) -> Draft:
        """A draft that the evidence says, as unsupported where it says it of something else than was asked.

        That is where no sentence that it rests on is one that the bundle would quote.
        """
        least, reranker = self._resources.tuning.quote_accept, self._resources.models[RERANKER]
        if least is None or reranker is None or draft.kind is not AnswerKind.WRITTEN or self._turn.answer_grammar:
            return draft
        support = self._support(draft)
        if support.outcome is not VerdictOutcome.SUPPORTED or draft.calculations:
            return draft
        found = rested_on(draft.text.strip(), support.citations, self._journal.evidence)
        scores = await self._sentence_scores(self._turn.question, found) if found else None
        if not scores or max(scores) >= least:
            return draft
        sentence = found[scores.index(max(scores))].text
        return replace(draft, supported=False, notes={**draft.notes, "off_question": sentence})

    async def _verified_by_model(self, draft: Draft) -> Draft:
        """The draft with what the bundle's verifier says of it, where it judges and the policy has not asked it."""
        verifier, answer = self._resources.models.deciders.get(VERIFIER), draft.text.strip()
        evidence = self._journal.evidence
        used = [item for item in evidence if item.used and item.origin is not Origin.READ_TEXT]
        nothing = draft.refused or abstains(answer, self._resources.tuning.abstain)
        wanted = self._resources.tuning.judged and not self.verified
        if verifier is None or not wanted or not used or nothing:
            return draft
        notes = {"evidence": [line(item) for item in used], "answer": answer, "certainty": draft.certainty}
        values = await self._context.values(State(self._turn.question), notes, verifier.needs)
        shown_with = await self._requests.pictures(State(self._turn.question), entries=False)
        tuning = self._resources.tuning
        matched = evidence_odds(self._turn.question, used, evidence, tuning)
        asked = shown_with, values, tuning, draft.p_min, matched
        return replace(draft, supported=await self._runner.run_on(verifier, is_supported, *asked))


def _among(evidence: Sequence[Evidence], named: Sequence[Evidence]) -> list[Evidence]:
    """The passages of the same entries."""
    entries = {item.entry_id for item in named}
    return [item for item in evidence if item.entry_id in entries]


def _likeliest(
    half: str,
    found: Sequence[NoteSentence],
    pieces: Sequence[NoteSentence],
    scores: Sequence[float],
    subject: str | None,
) -> NoteSentence | None:
    """What answers half a question best: a sentence, of one entry where its pronouns mean that, or a piece of printed
    words that does better."""
    meant = [at for at, sentence in enumerate(found) if sentence.evidence.entry_id == subject] or range(len(found))
    said = best_of(half, [found[at] for at in meant], [scores[at] for at in meant])
    read = best_piece(half, pieces, scores[len(found) :])
    if read is None or (said is not None and said.score > read.score):
        return said
    return replace(quoted_piece(read)[0], score=read.score)
