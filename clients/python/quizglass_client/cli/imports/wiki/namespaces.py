"""Namespaces of wikis, and words for redirects: old dumps say neither, so that titles and texts have to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

ARTICLES, PROJECT, FILE, CATEGORY = 0, 4, 6, 14
"""Numbers of namespaces that every wiki has."""
_NAMES = (
    "Media -2, Special -1, Talk 1, User 2, User talk 3, Project 4, Project talk 5, File 6, Image 6, File "
    "talk 7, Image talk 7, MediaWiki 8, MediaWiki talk 9, Template 10, Template talk 11, Help 12, Help talk "
    "13, Category 14, Category talk 15"
)
_NAMES_BY_LANGUAGE = {  # besides those that every wiki has
    "de": "Diskussion 1, Benutzer 2, Benutzer Diskussion 3, Datei 6, Bild 6, Datei Diskussion 7, Vorlage "
    "10, Vorlage Diskussion 11, Hilfe 12, Hilfe Diskussion 13, Kategorie 14, Kategorie Diskussion 15, "
    "Spezial -1",
    "fr": "Discussion 1, Utilisateur 2, Discussion utilisateur 3, Fichier 6, Discussion fichier 7, Modèle "
    "10, Discussion modèle 11, Aide 12, Discussion aide 13, Catégorie 14, Discussion catégorie 15, "
    "Spécial -1",
    "es": "Discusión 1, Usuario 2, Usuario discusión 3, Usuario Discusión 3, Archivo 6, Imagen 6, Archivo "
    "discusión 7, Plantilla 10, Plantilla discusión 11, Ayuda 12, Ayuda discusión 13, Categoría 14, "
    "Categoría discusión 15, Especial -1",
    "it": "Discussione 1, Utente 2, Discussioni utente 3, Immagine 6, Discussioni file 7, Discussioni "
    "template 11, Aiuto 12, Discussioni aiuto 13, Categoria 14, Discussioni categoria 15, Speciale -1",
    "nl": "Overleg 1, Gebruiker 2, Overleg gebruiker 3, Bestand 6, Afbeelding 6, Overleg bestand 7, "
    "Sjabloon 10, Overleg sjabloon 11, Overleg help 13, Categorie 14, Overleg categorie 15, Speciaal "
    "-1",
    "pt": "Discussão 1, Usuário 2, Usuário Discussão 3, Utilizador 2, Utilizador Discussão 3, Ficheiro 6, "
    "Arquivo 6, Imagem 6, Predefinição 10, Predefinição Discussão 11, Ajuda 12, Ajuda Discussão 13, "
    "Categoria 14, Categoria Discussão 15, Especial -1",
    "pl": "Dyskusja 1, Wikipedysta 2, Użytkownik 2, Dyskusja użytkownika 3, Plik 6, Grafika 6, Dyskusja "
    "pliku 7, Szablon 10, Dyskusja szablonu 11, Pomoc 12, Dyskusja pomocy 13, Kategoria 14, Dyskusja "
    "kategorii 15, Specjalna -1",
    "ru": "Обсуждение 1, Участник 2, Обсуждение участника 3, Файл 6, Изображение 6, Обсуждение файла 7, "
    "Шаблон 10, Обсуждение шаблона 11, Справка 12, Обсуждение справки 13, Категория 14, Обсуждение "
    "категории 15, Служебная -1",
    "sv": "Diskussion 1, Användare 2, Användardiskussion 3, Fil 6, Bild 6, Fildiskussion 7, Mall 10, "
    "Malldiskussion 11, Hjälp 12, Hjälpdiskussion 13, Kategori 14, Kategoridiskussion 15",
    "ja": "ノート 1, 利用者 2, 利用者‐会話 3, ファイル 6, 画像 6, ファイル‐ノート 7, テンプレート 10, "
    "ヘルプ 12, カテゴリ 14",
    "zh": "讨论 1, 討論 1, 用户 2, 用戶 2, 文件 6, 檔案 6, 图像 6, 模板 10, 帮助 12, 說明 12, 分类 14, 分類 14",
}
_NOT_IN_IDS, _LONGEST_SITE = re.compile(r"[^A-Za-z0-9._:-]+"), 100
_MOST_NAMESPACES = 1_000  # of one wiki, that it names; the largest have some hundred
_REDIRECT = re.compile(r"\s*#\s*(?P<word>[^\W\d]+)\s*:?\s*\[\[[^\[\]]+\]\](?P<rest>[^\n]*)")
_REDIRECTS = re.compile(
    "redirect|weiterleitung|redirection|redirección|rinvia|doorverwijzing|redirecionamento|patrz|przekieruj|"
    "перенаправление|перенаправлення|omdirigering|omdiriger|ohjaus|přesměruj|átirányítás|yönlendirme|ανακατευθυνση|"
    "転送|リダイレクト|重定向|넘겨주기|تحويل|הפניה",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Site:
    """What a dump says of its wiki."""

    base: str = ""
    """Address of its articles, without the last "/"."""
    database: str = ""
    """What the wiki's own farm calls it, such as "enwiki"."""
    name: str = ""
    language: str = ""
    namespaces: dict[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What tells its pages from another wiki's of the same numbers; empty where the dump says nothing of itself."""
        said = self.database or urlsplit(self.base).netloc
        return _NOT_IN_IDS.sub("-", said)[:_LONGEST_SITE].strip("-")

    def add_namespace(self, name: str, number: int) -> None:
        """The dump says a name of a namespace."""
        if len(self.namespaces) < _MOST_NAMESPACES:
            self.namespaces[_plain(name)] = number

    def namespace(self, title: str, said: int | None) -> int:
        """The number of the namespace that a page is in; where the dump does not say it, its title does."""
        if said is not None:
            return said
        prefix, colon, _ = title.partition(":")
        return self._known().get(_plain(prefix), ARTICLES) if colon else ARTICLES

    def called(self, namespace: int) -> str:
        """A name of a namespace, for people."""
        names = (*self.namespaces.items(), *self._known().items())
        return next((name.capitalize() for name, number in names if number == namespace), "other namespaces")

    def names_of(self, *numbers: int) -> list[str]:
        """All names of some namespaces."""
        return [name for name, number in self._known().items() if number in numbers]

    def _known(self) -> dict[str, int]:
        names = _parsed(_NAMES)
        if not self.namespaces:
            names |= _parsed(_NAMES_BY_LANGUAGE.get(self.language.partition("-")[0].lower(), ""))
            names |= {_plain(self.name): PROJECT, _plain(f"{self.name} talk"): PROJECT + 1} if self.name else {}
        return names | self.namespaces


def is_redirect(text: str) -> bool:
    """Whether a page is one by its text, as in "#REDIRECT [[Velmora]]", in whatever language."""
    match = _REDIRECT.match(text)
    if match is None:
        return False
    word = match["word"]
    return _REDIRECTS.fullmatch(word) is not None or (word == word.upper() and not match["rest"].strip())


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _parsed(names: str) -> dict[str, int]:
    pairs = (name.strip().rpartition(" ") for name in names.split(",") if name.strip())
    return {_plain(name): int(number) for name, _, number in pairs}
