"""What a question asks for where that is no fact: names, overviews, small talk."""

import pytest

from quizglass_server.steps.language.intents import Intent, intent_of

ASKED = {
    Intent.IDENTITY: """
        Who is this little one?
        What is this?
        What's this?
        whats this
        What's that thing called?
        Can you tell me what this is?
        What is this plant called?
        Which plant is this?
        Who is this?
        What am I looking at?
        What's the name of this dog?
        What is his name?
        What's its name?
        who are these people?
        Which one is this?
        Do you know what this is?
        What is that over there?
        Any idea what that is?
        What might this be?
        What have I got here?
        Remind me what this is
        Please identify this object
        What's this on the left?
        What are these?
        What's this dog's name?
        which mill is that
        What building is that over there?
        Who's that woman?
        What's this button?
    """,
    Intent.SCENE: """
        What's in this photo?
        What do I see here?
        What does this picture show?
    """,
    Intent.KIND: """
        What kind of tree is this?
        What breed is he?
        what species
        What type of pan is that?
        What's his breed?
    """,
    Intent.OWNER: """
        Whose dog is this?
        Whose is this?
        Whose are these?
        Who does this racket belong to?
    """,
    Intent.OVERVIEW: """
        Tell me about this.
        Tell me about this pan.
        Tell me more.
        What do you know about it?
        Anything I should know about this?
        What can you tell me about her?
        Describe this.
        What does my note say?
        What's the story behind this clock?
        What's the story here?
        Read me my note about this
        What did I write about this?
    """,
    Intent.GREETING: """
        Hello
        hi there
        Good morning!
        How are you?
        Are you there?
    """,
    Intent.THANKS: """
        Thanks a lot, that helped.
        thanks
        Thank you!
        ok cool thanks
        Great, thanks a lot
        Okay, never mind.
        You're brilliant, thanks!
        got it
    """,
    Intent.REMARK: """
        You're brilliant!
        Thanks, you're a genius.
        you are wrong
        That was really helpful
    """,
    Intent.FAREWELL: """
        Bye for now
        Bye
        stop
        See you later
    """,
    Intent.ABOUT_ASSISTANT: """
        Who made you?
        What can you do?
        Help
        how old are you
        What's your name?
    """,
    Intent.FACT: """
        What was my landlady called?
        What was our guide's name?
        And this?
        What about it?
        What is written on the sign?
        Tell me about the history of this mill.
        who made it
        What is this for?
        What is it made of?
        What is this plant's Latin name?
        What's this worth?
        What does it say?
        Is this a dog?
        Help me find the key
        How old is it?
        What's my note say about cleaning it?
        What is the password for this?
        What colour is this?
        What year is this?
        what brand is it
        What is this smell?
        What day is it?
        What is this button for?
        What time is it?
        What is the point of this?
        What is wrong with this?
        what does this do
        When do I water this?
        Whose was the house before?
        What is the name of its founder?
        What is this made of?
        Hello Kitty costs how much?
        Okay, what does it eat?
        Are you sure it's deaf?
        Is that right?
        Who made the thing you see?
    """,
}


@pytest.mark.parametrize(
    ("intent", "question"),
    [(intent, each.strip()) for intent, several in ASKED.items() for each in several.strip().splitlines()],
)
def test_questions_ask_for_what_they_ask_for(intent: Intent, question: str) -> None:
    assert intent_of(question) is intent


def test_a_long_text_is_an_ordinary_question() -> None:
    assert intent_of("What is this " + "very " * 100 + "thing?") is Intent.FACT
