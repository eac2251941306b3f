"""How CLIP was shown pixels, which most encoders since are shown alike: Qwen's vision towers, BLIP-2's, OWLv2.

Means and standard deviations of red, green and blue, 0 to 1, as OpenAI published them with CLIP (Radford et al. 2021).
"""

from quizglass_bundle.fields import Channels

CLIP_MEAN: Channels = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD: Channels = (0.26862954, 0.26130258, 0.27577711)
