"""After a compaction no file of a store has anything of what was deleted or replaced, wherever its rows once stood."""

import random
from pathlib import Path

from quizglass_server.knowledge.repair.inspection import inspect
from tests.support.knowledge.fakes import open_base, pictured, stream


async def test_nothing_deleted_is_left_where_its_rows_stood_before_they_moved(tmp_path: Path) -> None:
    rng, alive, gone, number = random.Random(0), dict[str, str](), set[str](), 0
    base = await open_base(tmp_path / "store")
    for _ in range(60):
        entries = []
        for _ in range(rng.randint(1, 12)):
            name, word = f"e{rng.randint(0, 120)}", f"zq0v{number:06d}x"
            number += 1
            gone |= {alive[name]} if name in alive else set()
            alive[name] = word
            text = "\n\n".join(f"{word} {'word ' * rng.randint(0, 60)}" for _ in range(rng.randint(1, 12)))
            facts = {"k": f"{word} {'v' * rng.randint(0, 300)}"}
            shown = [f"{word}{'p' * rng.randint(0, 9000)}".encode()]
            entries.append(pictured(name, title=f"T {word}", text=text, attributes=facts, pictures=shown))
        await base.add(stream(entries))
        for name in rng.sample(sorted(alive), min(len(alive), rng.randint(0, 8))):
            await base.delete(name)
            gone.add(alive.pop(name))
    await base.compact()
    left = {
        path.name: [word for word in gone if word.encode() in path.read_bytes()]
        for path in (tmp_path / "store").rglob("*")
        if path.is_file()
    }
    assert {name: words for name, words in left.items() if words} == {}
    await base.add(stream([pictured("last", text="It is still written.")]))
    await base.delete(min(alive))
    assert (await base.get("last")).text == "It is still written."
    await base.close()
    assert inspect(tmp_path / "store") == []
