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
        Who's that woman?
        What's this button?
        What's the fish called?
        What's the dog's name?
        What is the name of the cat?
        What's this guy's name?
        Which of them is this?
        Who is he?
        Who is she again?
        Who have we here?
        What have we got here?
        What's that over there?
        What would this be?
        Tell me what this is
        Any idea what this is?
        What is this supposed to be?
        I forgot what this is called
        What's it called again?
        What is the thing called?
        What was this called again?
        what is this plant's name
        Which plant is this one?
        Which plant am I looking at?
        Who's that lady?
        What's the title of this?
        What's this painting called?
        What is the name of this building?
        What exactly is this?
        What on earth is that thing?
        What the heck is this fruit?
        what is this one called
        How is this called?
        How do you call this?
        What's its proper name?
        What's the right name for this?
        What's the word for this?
        What does one call this?
        What is in front of me?
        What's in my hand?
        What did I just photograph?
        What did I take a picture of?
        Say what this is
        Identify it for me
        What is it?
        What are they called?
        What is the cat called?
        What is our cat called?
        What was her name again?
        What's the name of that bird again?
        What's his name please
        Could you identify this for me?
        What are we looking at?
        What's the proper name of this plant?
        Who is the dog?
        What is the building?
        What's this little fellow called?
        What do we call her?
        What did we call him?
        What did I name it?
        what's this guy called
        What is that creature?
        Who is it?
        Who are these two?
        What are these flowers?
        Which of our hens is this?
        Which of my plants is this?
    """,
    Intent.WHICH: """
        Which plant is this?
        which mill is that
        What building is that over there?
        Which horse is it?
        What painting is this?
        Which church is this?
        What place is this?
        Which bus is this?
        Which pressure cooker is this?
        What animal is that?
        Which tool is this?
        Which tree is that over there?
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
        Tell me about this
        Do I have anything on this?
        What have I noted here?
        What do my notes say?
        Is there anything about this in my notes?
        Give me a summary
        What should I know?
        Anything about it?
        Fill me in on this
        Talk to me about her
        Read me what I wrote about it
        Remind me about him
        Say something about this.
        What's the deal with this?
        I want to know more about this.
        What's this all about?
        What do I have on this?
        What do we know about her?
        What did I write down about this?
        Tell me a bit about this house
        Tell me everything you know about it
        tell me everything
        What can you say about him?
        Got anything on this?
        Could you tell me about this?
        Is there anything I should know about this?
        What's there to know?
        Tell me the story of this
        Can you tell me something about the lamp?
        What notes do I have on this?
        Do you know anything about this?
        Do you know anything about him?
        Let me hear about this one
        Please describe this
        Tell us about that
        Give me some background on this
        What's the background of this?
        I'd like to hear about this
    """,
    Intent.GREETING: """
        Hello
        hi there
        Good morning!
        How are you?
        Are you there?
        hi there, are you on?
        Oh, hello!
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
        Aww... thanks so much!
        oh wow thank you
    """,
    Intent.REMARK: """
        Haha, you're the best, you know that?
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
        Oh, how old is he?
        What pressure is this?
        What dose is it?
        Which platform is this?
        What water level is this?
        What month is it?
        Whose turn is it?
        What is this near?
        What was this before?
        Are you on the left in this picture?
        What is the fish's food?
        What's the dog's age?
        What is the name of the vet?
        What's the vet's name?
        What is the name of her doctor?
        What's the owner's name?
        What is the name of the shop?
        What's the neighbour called?
        What is the password?
        What is the code?
        What is the price?
        Who is the vet?
        Who is the owner?
        Who is the artist?
        Who is the maker?
        What is the recipe?
        What is the problem?
        Which day is it?
        What's the dose?
        What is the street called?
        Who is it from?
        What is it for?
        What is the plant's food?
        What do we call the vet on?
        What did I pay?
        What did I take out?
        What's in the box?
        What's in my tea?
        Who are these from?
        Which of them is older?
        What is the material?
        What's the word on the back?
        What's the date?
        What is the limit?
        What is the best place for it?
        Which of my keys opens this?
        Which of our hens lays most?
        What was my landlady called?
        What was our guide's name?
        And this?
        What about it?
        What is written on the sign?
        Tell me about the history of this mill.
        who made it
        What is this for?
        What is this missing?
        What's this costing?
        What is that playing?
        What is this today?
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
