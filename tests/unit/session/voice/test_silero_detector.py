"""Silero's detector holds its weights only while there is something to hear.

In a process of its own: its library and llama.cpp's, which other tests load, are of one name and not of one version.
"""

import json
import subprocess
import sys

PROGRAM = """
import json
import numpy as np
from quizglass_server.session.voice.endpoint import SileroDetector

noise = np.random.default_rng(59)

def windows(loudness, count):
    size = SileroDetector.window_bytes // 2
    return [(noise.normal(0, loudness, size) * 32767).astype("<i2").tobytes() for _ in range(count)]

detector, told = SileroDetector(), {}
told["quiet"] = max(detector.probability(each) for each in windows(0.0008, 300)), detector.loaded
told["sound"] = detector.probability(windows(0.05, 1)[0]), detector.loaded
for name in ("pause", "silence"):
    for each in windows(0.0008, 60):
        detector.probability(each)
    told[name] = 0.0, detector.loaded
quiet, loud = windows(0.0008, 88), windows(0.05, 4)
awake = SileroDetector()
awake.probability(loud[0])
for each in quiet:
    detector.probability(each)
    awake.probability(each)
told["alike"] = max(abs(detector.probability(each) - awake.probability(each)) for each in loud), detector.loaded
print(json.dumps(told))
"""


def test_weights_are_held_from_the_first_sound_until_some_quiet() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    told = json.loads(done.stdout)
    assert told["quiet"] == [0.0, False]
    assert {name: loaded for name, (_, loaded) in told.items()} == {
        "quiet": False,
        "sound": True,
        "pause": True,
        "silence": False,
        "alike": True,
    }
    assert told["alike"][0] < 0.05  # what came before the sound has been heard
