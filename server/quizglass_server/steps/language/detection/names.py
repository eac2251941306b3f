"""What languages are called in English."""

from __future__ import annotations

from collections.abc import Sequence

_NAMES = dict(
    pair.split("=")
    for pair in """
af=Afrikaans am=Amharic ar=Arabic az=Azerbaijani be=Belarusian bg=Bulgarian bn=Bengali bs=Bosnian ca=Catalan cs=Czech
cy=Welsh da=Danish de=German el=Greek en=English eo=Esperanto es=Spanish et=Estonian eu=Basque fa=Persian fi=Finnish
fr=French ga=Irish gl=Galician gu=Gujarati he=Hebrew hi=Hindi hr=Croatian hu=Hungarian hy=Armenian id=Indonesian
is=Icelandic it=Italian ja=Japanese ka=Georgian kk=Kazakh km=Khmer kn=Kannada ko=Korean la=Latin lb=Luxembourgish
lt=Lithuanian lv=Latvian mk=Macedonian ml=Malayalam mn=Mongolian mr=Marathi ms=Malay mt=Maltese my=Burmese ne=Nepali
nl=Dutch nn=Norwegian no=Norwegian pa=Punjabi pl=Polish pt=Portuguese ro=Romanian ru=Russian si=Sinhala sk=Slovak
sl=Slovenian so=Somali sq=Albanian sr=Serbian sv=Swedish sw=Swahili ta=Tamil te=Telugu th=Thai tl=Filipino tr=Turkish
uk=Ukrainian ur=Urdu uz=Uzbek vi=Vietnamese yue=Cantonese zh=Chinese zu=Zulu
""".split()  # noqa: SIM905, a list of pairs reads better
)


def named(languages: Sequence[str]) -> str:
    """Languages as a sentence has them: "English", "English and German"; a tag without a name here stands as it is."""
    names = list(dict.fromkeys(_NAMES.get(tag, tag) for tag in languages))
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
