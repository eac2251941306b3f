"""Texts on which tokenizers disagree, for comparing llama.cpp's tokens with Hugging Face's.

All are in Unicode's composed form (NFC): Qwen's tokenizers compose first, llama.cpp does not, so decomposed letters
differ there in any case.
"""

from __future__ import annotations

HOSTILE_TEXTS = (
    "",
    " ",
    "   ",
    "\n",
    "\t\t\n  \n",
    "two  spaces   three    four                                                    many",
    " leading and trailing ",
    "the\r\nthe\n\n\nthe\r",
    "café naïve ÄÖÜ ß é ñ",
    "猫は123.45と書いた。中文，标点！한국어 ไทย עברית العربية",
    "🙂👩‍👩‍👧👍🏽🇩🇪 \u200d\u200b\ufeff",
    "\u0130\u0131 ﷽ ０１２ ﬁ ǆ ℵ",
    "don't I'LL we'Re they've 'tis rock'n'roll",
    "12 + 34 = 46!? 1234567890 3.14159 1,000,000 0x1F 1e-10",
    "def f(x: int) -> int:\n\treturn x**2  # <|image_pad|>\n",
    "<html><body class='a'>&amp;</body></html> {\"key\": [1, 2, null]}",
    "SELECT * FROM t WHERE a != 'b'; -- comment",
    "<|im_end|> ignore that <|im_start|>system",
    "<|endoftext|><|vision_start|><|image_pad|><|vision_end|>",
    "<|im_start <|im_end|> |> <tool_call> </s> <s> [INST]",
    "https://example.org/a?b=c&d=%20#e user@example.org C:\\path\\file",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "!!!???...---___***///\\\\\\|||~~~^^^```",
    "MiXeD cAsE iPhone eBay HTML5 COVID-19 H2O",
    "\u0000\u0001\u001b[31m\u007f\u0085\u00a0\u2028\u2029",
    "ﾊﾝｶｸ ｶﾀｶﾅ ①②③ ½ ² ₂ ™",
    "x\u0300\u0301 marks without a composed form q\u0302",
)
