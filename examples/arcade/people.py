"""Countries that players may choose, and the bots."""

from __future__ import annotations

from typing import NamedTuple


class Person(NamedTuple):
    """Who a bot is."""

    name: str
    country: str


COUNTRIES = {
    "AR": "Argentina",
    "BR": "Brazil",
    "CA": "Canada",
    "CZ": "Czechia",
    "DE": "Germany",
    "DK": "Denmark",
    "ES": "Spain",
    "FR": "France",
    "GR": "Greece",
    "IE": "Ireland",
    "IN": "India",
    "IS": "Iceland",
    "IT": "Italy",
    "JP": "Japan",
    "KE": "Kenya",
    "MX": "Mexico",
    "NG": "Nigeria",
    "NL": "Netherlands",
    "PL": "Poland",
    "PT": "Portugal",
    "SE": "Sweden",
    "TR": "Türkiye",
    "UA": "Ukraine",
    "US": "United States",
    "VN": "Viet Nam",
    "ZA": "South Africa",
}

BOTS = [
    Person(name, country)
    for country, names in {
        "AR": "Ñandú",
        "BR": "João Cometa",
        "CA": "Maple Moxie",
        "CZ": "Žofie",
        "DE": "Jörg Überschall",
        "DK": "Søren",
        "ES": "Begoña",
        "FR": "Chloé|Éclair",
        "GR": "Νίκη",
        "IE": "Niamh",
        "IN": "Asha|Ravi",
        "IS": "Þórdís",
        "IT": "Niccolò",
        "JP": "美咲",
        "KE": "Wanjirũ",
        "MX": "Ximena",
        "NG": "Adébáyọ̀",
        "NL": "Zoë|Mary1934",
        "PL": "Łukasz",
        "PT": "Inês",
        "SE": "Åsa",
        "TR": "Işık",
        "UA": "Оксана",
        "US": "Rusty Rocket|Nova",
        "VN": "Nguyễn",
        "ZA": "Thandi",
    }.items()
    for name in names.split("|")
]
