"""What a question asks for, where that is no fact: a thing's name, all that is known of it, or nothing (small talk).

English, by its words. A question that is not recognised here is an ordinary one; so every form below has to cover the
whole question, and none may match one that asks for something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

_LONGEST = 120
"""Characters; a longer text asks for more than a name."""


class Intent(StrEnum):
    """What a question asks for."""

    IDENTITY = "identity"
    """What something is, is called or shows."""
    SCENE = "scene"
    """What a picture shows, which its entry's title may be and a model that sees may say better."""
    WHICH = "which"
    """Which of a kind it is ("which car is this"): its name, and what its text says of that."""
    KIND = "kind"
    """Its kind, breed or species, which its title may be and its text may say better."""
    OWNER = "owner"
    """Whose it is, which its title may say: "Jonah's racket"."""
    OVERVIEW = "overview"
    """Whatever is known of it."""
    GREETING = "greeting"
    THANKS = "thanks"
    FAREWELL = "farewell"
    REMARK = "remark"
    """Something that is said of the assistant, not asked."""
    ABOUT_ASSISTANT = "about_assistant"
    """Who or what is answering."""
    FACT = "fact"
    """Anything else."""


_CONTRACTIONS = re.compile(r"\b(?:(what|who|that|where|how|here)'?s|(it|he|she|this|which)'s)\b")
_EMPHASIS = re.compile(r"\b(what|who|which|whose|how) (?:on earth|in the world|the (?:heck|hell|devil)|exactly)\b")
"""Words behind a question word that ask for nothing more."""
_PIECE_END = re.compile(r"[.,!?;:…]+")
_ARE = re.compile(r"\b(what|who|these|those|they|you)'?re\b")
_YOU_TELL = (
    r"(?:(?:can|could|would|will) (?:you|u) (?:please |kindly )?(?:tell|show|remind) (?:me|us)"
    r"|(?:please )?(?:tell|remind) (?:me|us)|do you (?:happen to )?(?:know|recogni[sz]e)"
    r"|(?:i am|i'm) wondering|i wonder|say|(?:i forgot|i forget|i have forgotten|i've forgotten)"
    r"|i (?:do not|don't|cannot|can't) remember|(?:can|could|would|will) (?:you|u)(?: please| kindly)?"
    r"|i(?: would|'d) like to know|i want to know|any (?:idea|clue)|(?:have you )?got any idea)"
)
_LEAD = re.compile(
    r"^(?:(?:ok|okay|hey|hi|hello|so|well|and|um|uh|please|excuse me|quick question|sorry) )*"
    rf"(?:{_YOU_TELL} )?(?:please )?"
)
_EXCLAIMED = re.compile(r"^(?:(?:a+w+|a+h+|o+h+|wo+w|ya+y|phew|h?m+|(?:ha)+|well|oh my) )+(?=\S)")
"""In front of small talk alone: "Aww, thank you"."""
_TAIL = re.compile(
    r"(?: (?:please|here|there|exactly|again|anyway|actually|for me|then|thanks"
    r"|(?:right )?in front of (?:me|us)|over (?:here|there)|on the (?:table|wall|shelf|floor|left|right)"
    r"|in (?:the|this|my) (?:picture|photo|photograph|image)"
    r"|(?:i am|i'm) (?:looking at|holding|seeing|pointing at)|do you think|supposed to be))*$"
)
_THIS = r"(?:this|that|it|these|those|he|she|they)"
_NOUN = r"(?:[\w-]+ ){0,2}[\w-]+"
_THE = r"(?:this|that|these|those|the|my|our|his|her|its|their)"
_THING = rf"(?:{_THIS}|him|her|them|{_THE} {_NOUN})"
_ABOUT = rf"(?: (?:about|on|of) {_THING})?"
_BE = r"(?:is|are|was|were)"
_SORT = (
    r"(?:thing|object|item|one|stuff|device|gadget|tool|animal|plant|place|building|person|guy|woman|man|flower|tree)"
)
_SHOWN = (
    r"(?:animal|dog|puppy|cat|kitten|bird|parrot|hen|chicken|cockerel|duck|goose|fish|horse|pony|foal|donkey|cow|calf"
    r"|bull|goat|sheep|lamb|pig|rabbit|hamster|guinea pig|mouse|ferret|tortoise|turtle|snake|lizard|frog|bear|monkey"
    r"|creature|plant|flower|tree|bush|cactus|mushroom|fruit|dish|cake|drink|thing|object|tool|device|gadget|machine"
    r"|instrument|toy|doll|teddy|game|car|boat|ship|bike|train|plane|tractor|building|house|church|castle|palace|tower"
    r"|bridge|monument|statue|sculpture|mountain|lake|island|place|painting|mural)s?"
)
"""What a picture may show, so that "what is the fish called" asks for its name, unlike "what is the street called"."""
_MINE = r"(?:the|my|our|your)(?: (?:little|old|young|big|small|new|white|black|brown|grey|red|green|blue|yellow))?"
_PROPER = r"(?:(?:proper|right|correct|full|exact) )?"
_PICTURE = r"(?:picture|photo|photograph|image|screen|display)"
_ATTRIBUTE = (
    r"(?:colou?r|size|price|brand|make|model|year|age|material|day|date|time|weight|length|height|width|depth|temperature"
    r"|number|amount|shape|side|way|language|country|city|street|address|use|good|purpose|problem|matter|version|currency"
    r"|floor|room|channel|setting|style|century|era|wood|metal|fabric|stone|flavou?r|smell|sound|voltage|wattage)s?"
)
"""What a thing has, so that "what colour is this" asks for no name."""
_NO_NOUN = (
    "for|of|made|worth|doing|like|used|about|in|on|at|from|with|by|to|good|bad|supposed|going|all"
    "|near|against|without|under|behind|after|before|beside|above|below|over|through|into|onto"
    "|missing|lacking|costing|weighing|measuring|saying|showing|playing|selling|serving|today|tomorrow|tonight"
)
"""What may follow "what is this" in a question about something else: "what is this for"."""
_KINDS = r"(?:exact )?(?:kind|sort|type|breed|species|variety|race)"

_KIND = (
    rf"(?:what|which) {_KINDS}(?: of (?:an? )?{_NOUN})?(?: {_BE} (?:{_THIS}|{_THE} {_NOUN}))?",
    rf"what {_BE} (?:its|his|her|their|the) {_KINDS}",
)
_OWNER = (rf"whose(?: (?!turn\b){_NOUN})? {_BE} {_THIS}", rf"(?:who|whom) does {_THIS}(?: [\w-]+)? belong to")
_NONE = rf"(?!(?:{_ATTRIBUTE}|one|thing|exactly|of)\b)"
"""Not before a noun that asks for more, or for no kind."""
_OF_THEM = r"(?: of (?:them|these|those))"
_MEASURED = (
    r"(?:pressure|speed|dose|dosage|percentage|value|season|month|rating|level|gear|power|grade|page|chapter|position"
    r"|platform|score|strength|frequency)s?"
)
"""What a thing has or is at: "what pressure is this", unlike "what pressure cooker is this"."""
_WHICH = (rf"(?:what|which) (?!(?:[\w-]+ )?{_MEASURED} {_BE}\b){_NONE}(?:[\w-]+ )?{_NONE}[\w-]+ {_BE} {_THIS}",)
_IDENTITY = (
    rf"(?:what|who) {_BE} (?:this|that|these|those) (?!(?:{_ATTRIBUTE}|{_NO_NOUN})\b)[\w-]+",
    r"who (?:is|are|was|were) (?:this|that|these|those) (?:little|old|young|big|small|nice) [\w-]+",
    rf"(?:which|what) (?:one|thing) {_BE} {_THIS}",
    rf"(?:what|who|which){_OF_THEM}? {_BE} {_THIS}(?: {_SORT}| one)?(?: called| named)?",
    rf"(?:what|who) {_THIS} {_BE}(?: called)?",
    rf"what (?:do you|does one|do they|do we|do people|do i|would you) call {_THIS}(?: {_NOUN})?",
    rf"what {_BE} (?:{_THIS}|(?:this|that|these|those) {_NOUN}) (?:called|named)",
    rf"what {_BE} (?:the )?{_PROPER}(?:names?|word|term|title) (?:of|for) (?:{_THIS}(?: {_NOUN})?|{_MINE} {_SHOWN})",
    rf"what {_BE} (?:its|his|her|their|the|(?:this|that) [\w-]+'s|{_MINE} {_SHOWN}'s?) {_PROPER}names?",
    rf"what {_BE} {_MINE} {_SHOWN}(?: called| named)?|who {_BE} {_MINE} {_SHOWN}",
    rf"(?:which|what) (?!{_ATTRIBUTE}\b)[\w-]+ {_BE} {_THIS} one",
    rf"(?:which|what) (?!{_ATTRIBUTE}\b)[\w-]+ (?:am|are) (?:i|we) (?:looking at|holding|pointing at)",
    rf"(?:which|what) (?:one )?of (?:the|my|our|your|these|those|his|her|their) {_NOUN} {_BE} {_THIS}",
    rf"how (?:{_BE} {_THIS} called|do (?:you|we|i|they|people) call {_THIS})",
    rf"what (?:do|did) (?:i|we|you|they) (?:call|name) (?:{_THIS}|him|her|them)",
    r"(?:what|who) (?:have|do) we (?:have )?here|what would (?:this|that|it) be",
    r"what is (?:right )?in front of (?:me|us)|what is in my hands?",
    r"what (?:did i|have i)(?: just)? (?:photograph(?:ed)?|take a (?:picture|photo) of|taken a (?:picture|photo) of)",
    rf"(?:name|identify|recogni[sz]e) (?:this|that|it|these)(?: {_SORT})?(?: for (?:me|us))?",
    r"(?:what|who) (?:am|are) (?:i|we) (?:looking at|seeing|holding|pointing at|facing|standing (?:in front of|at))",
    r"what (?:have i|have we|did i|do i have|do we have)(?: got| find| found)?(?: in my hands?)?",
    rf"(?:the )?name of (?:this|that|it)(?: {_SORT})?",
    r"what (?:might|could|can) (?:this|that|it) be",
)
_SCENE = (
    rf"what {_BE} (?:in|on) (?:the|this|my) {_PICTURE}",
    r"(?:what|who) (?:do|can) (?:i|you|we) see",
    rf"what does (?:this|the|my) {_PICTURE} show",
    rf"what {_BE} shown(?: in (?:the|this) {_PICTURE})?",
)
_OVERVIEW = (
    rf"(?:about|(?:something|more|everything|all|anything|a bit|a little)(?: more)? (?:about|of|on)) {_THING}",
    rf"(?:everything|all|anything|what|whatever)(?: that)? you know{_ABOUT}",
    rf"what (?:can|do|could) you (?:tell me|tell us|know|say|have){_ABOUT}",
    rf"what (?:is known|do we know|do i know|should i know|is there to know){_ABOUT}",
    rf"what (?:did i|have i)(?: just)? (?:write|written|note|noted|put|jot|jotted)(?: down)?(?: here)?{_ABOUT}",
    rf"what (?:does my note say|do my notes say|is in my notes|notes do i have|do i have){_ABOUT}",
    rf"(?:do i have|have i got|have i|do we have|have we got|got|is there) (?:anything|something|(?:any |some )?notes?)"
    rf"(?: noted| written(?: down)?)? (?:about|on) {_THING}(?: in my notes?)?",
    rf"(?:describe|explain|summari[sz]e) {_THING}",
    rf"(?:more |any |some |give me )*(?:info|information|details|facts|notes){_ABOUT}",
    r"(?:read|show)(?: me| out)? (?:my|the|your) notes?(?: (?:about|on) (?:this|that|it))?",
    r"(?:tell me )?more|it all|all|everything|anything",
    rf"(?:is there )?anything (?:else )?(?:i should know|to know|worth knowing){_ABOUT}",
    rf"(?:what is |(?:give|tell) me )?(?:the |a |some )?(?:short |quick |whole |full )?"
    rf"(?:story|background|summary|overview|rundown)(?: (?:about|of|behind|with|on|to) {_THING})?",
    rf"what is (?:the deal with {_THING}|{_THIS} all about)",
    rf"fill me in (?:on|about) {_THING}|(?:talk|speak)(?: to (?:me|us))? about {_THING}",
    rf"(?:a few words|let me hear) about {_THING}",
    rf"(?:i would like|i'd like|i want) to hear (?:something |more )?about {_THING}",
    rf"read(?: me| us)?(?: out)? what i (?:wrote|noted|have noted|have written|put)(?: down)?{_ABOUT}",
    rf"what is (?:special|interesting) about {_THING}",
    r"what (?:has )?happened (?:here|there)",
)
_TALK = {
    Intent.GREETING: (
        r"(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day))"
        r"(?: there| you| again| everyone| quizglass)?",
        r"(?:hi |hello |hey )?how (?:are|r) (?:you|u)(?: doing)?(?: today)?|how is it going|what is up|sup",
        r"(?:(?:hi|hello|hey)(?: there)? )?(?:are you|you) (?:there|on|awake|ready|listening|ok|okay)",
        r"(?:can|do) you hear me|nice to meet you",
        r"test(?:ing)?(?: one two(?: three)?)?",
    ),
    Intent.THANKS: (
        r"(?:many |ok |okay |great |cool )?(?:thanks|thank you|thx|ty|cheers)(?: (?:so|very) much| a lot| a bunch)?"
        r"(?: (?:for|that|this) .{1,40})?",
        r"(?:ok|okay|great|good|cool|nice|perfect|awesome|alright|all right|got it|i see|understood|well done"
        r"|never ?mind|sure|wow|fine)(?: (?:cool|great|thanks|thank you|job|work|one))*",
    ),
    Intent.FAREWELL: (
        r"(?:good)?bye(?: bye)?(?: (?:for )?now)?|see you(?: later| soon| tomorrow)?|good night|farewell",
        r"talk to you later|that is all|that will be all|stop",
    ),
    Intent.REMARK: (
        r"you are(?: (?:so|very|really|quite|just|the|an?|such an?))* [\w-]+(?: you know(?: that)?)?",
        r"(?:that|this) (?:is|was)(?: (?:very|really|not))* (?:helpful|useful|right|wrong|nonsense)",
    ),
    Intent.ABOUT_ASSISTANT: (
        r"(?:who|what) are you|what is your name|what are you called|who (?:made|built|created|wrote|programmed) you",
        r"(?:are|r) you (?:an? )?(?:robot|human|person|ai|real|machine|bot|computer|alive)",
        r"what (?:can|do) you do|how do you work|what (?:can|should|may) i ask(?: you)?|help(?: me)?",
        r"how can you help(?: me)?|what are you for|where are you from|how old are you",
        r"tell me a joke|sing(?: me)? a song|do you (?:like|love) me|i love you",
    ),
}


def _whole(forms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms))


_TALKING = {intent: _whole(forms) for intent, forms in _TALK.items()}
SMALL_TALK = frozenset(_TALKING)
"""What asks for nothing, or about the assistant."""
_ASKING = {
    Intent.OVERVIEW: _whole(_OVERVIEW),
    Intent.KIND: _whole(_KIND),
    Intent.OWNER: _whole(_OWNER),
    Intent.WHICH: _whole(_WHICH),
    Intent.SCENE: _whole(_SCENE),
    Intent.IDENTITY: _whole(_IDENTITY),
}


_OWN_NAME = re.compile(
    r"\b(?:his|her|their)\b(?: [\w-]+){0,2} names?\b|\b(?:is|are) (?:he|she|they) (?:called|named)\b", re.IGNORECASE
)


def asks_own_name(question: str) -> bool:
    """Whether a name is asked for that is given to one alone, as to a pet: no kind of thing is an answer."""
    return _OWN_NAME.search(question) is not None


def intent_of(question: str) -> Intent:
    """What a question asks for.

    Args:
        question: as it was asked; politeness around it does not count.
    """
    if len(question) > _LONGEST:
        return Intent.FACT
    if (talk := _talk_of(question)) is not None:
        return talk
    asked = _EMPHASIS.sub(r"\1", _LEAD.sub("", _plain(question), count=1))
    for text in (asked, _TAIL.sub("", asked)):
        if (intent := _matching(text, _ASKING)) is not None:
            return intent
    return Intent.FACT


def bare(question: str) -> str:
    """A question without the politeness around it, in small letters, without contractions and punctuation.

    Empty for a long one, which asks for more than a short form says.
    """
    if len(question) > _LONGEST:
        return ""
    return _TAIL.sub("", _EMPHASIS.sub(r"\1", _LEAD.sub("", _plain(question), count=1)))


def _talk_of(question: str) -> Intent | None:
    """What small talk a text is: as a whole, or piece by piece, by its last ("Okay, never mind")."""
    whole = _matching(_EXCLAIMED.sub("", _plain(question)), _TALKING)
    if whole is not None:
        return whole
    pieces = [_matching(piece, _TALKING) for piece in map(_plain, _PIECE_END.split(question)) if piece]
    return pieces[-1] if pieces and None not in pieces else None


def _matching(text: str, forms: Mapping[Intent, re.Pattern[str]]) -> Intent | None:
    return next((intent for intent, form in forms.items() if form.fullmatch(text)), None)


def _plain(text: str) -> str:
    """A text in small letters with straight apostrophes, without punctuation at the ends of its sentences."""
    text = text.casefold().replace("\u2019", "'").replace("`", "'")
    text = re.sub(r"[?!.,;:…\"“”()]+", " ", text)
    text = _CONTRACTIONS.sub(lambda match: f"{match[1] or match[2]} is", " ".join(text.split()))
    return _ARE.sub(r"\1 are", text)
