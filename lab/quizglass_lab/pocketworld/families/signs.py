"""Numbers to be read from a sign and worked out. Format 2."""

from quizglass_lab.pocketworld import phrasing, workings
from quizglass_lab.pocketworld.asker import Asker, Pointed
from quizglass_lab.pocketworld.families.hops import aliases_of_result
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.words import NUMBER_DOMAIN
from quizglass_lab.pocketworld.world import Thing

_NOTES = (10, 20, 50, 100)


def today_price(asker: Asker, thing: Thing) -> Question:
    """What some cost at the day's price, or how much change there is from a note; the sign says the price."""
    rng = asker.rng
    if rng.random() < 0.5:
        price, count = rng.randint(2, 30), rng.randint(2, 5)
        text, number = phrasing.ask_total(count, rng), price * count
        working = workings.product(count, price, "crowns")
        gold = f"What do {phrasing.NUMBER_WORDS[count]} cost at {price} crowns each?"
    else:
        note = rng.choice(_NOTES)
        price = rng.randint(max(2, note // 4), note - 1)
        text, number = phrasing.ask_change(f"{note} crowns", rng), note - price
        working = workings.difference(note, price, "crowns")
        gold = f"How much change do I get from {note} crowns at a price of {price} crowns?"
    scene, subject = asker.scene(thing, sign=f"Today {price} Crowns")
    return asker.build(
        "calculation",
        Pointed(thing, scene, subject),
        text,
        f"{number} crowns",
        gold,
        aliases=aliases_of_result(number, "crowns"),
        domain=NUMBER_DOMAIN,
        working=working,
    )
