"""Meanings of column names, in the languages of offices that hold such tables.

A name is cut into words, in lower case and without accents; a stem matches the beginning of a word
from four letters on, otherwise a whole word. Words without a meaning of their own are not here.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

Meaning = Literal["contact", "person", "date", "place", "trait", "sensitive", "text"]

_STEMS: Mapping[Meaning, str] = {
    # identifies a person, or is a way to reach them
    "contact": (
        "name surname firstname lastname forename vorname nachname familienname voornaam "
        "achternaam prenom nom apellido nombre cognome mail email phone telefon telephone "
        "telefoon tel mobile fax street strasse straat rue address adresse adres iban account "
        "konto rekening bic ssn bsn nino passport reisepass versicherungsnummer insuranceno "
        "taxid steuerid licence license username login ip url facebook"
    ),
    # numbers people
    "person": (
        "id uid uuid guid pid individual person patient subject respondent participant client "
        "customer employee member student case record proband kunde mitarbeiter klant medewerker "
        "matricule idnr personid patientid subjid caseid respid pnr mrn nhs"
    ),
    "date": (
        "date datum fecha birth birthday dob born geburt geboren naissance nacimiento geboorte "
        "admission discharge visit aufnahme entlassung"
    ),
    "place": (
        "zip postcode postal plz cp city town village place ort wohnort stadt gemeinde gemeente "
        "woonplaats ville commune ciudad region province provincie kanton canton county state "
        "country land pays pais district popul residence"
    ),
    "trait": (
        "age alter leeftijd edad sex gender geschlecht geslacht sexe race ethnic nationality "
        "nation citizenship marital married familienstand burgerlijk civil educ education school "
        "schule bildung opleiding degree occup occupation job profession beruf beroep emploi "
        "workclass employ industry branche household haushalt huishouden children kids kinder "
        "kinderen enfants psize hhsize family height weight size relationship language sprache"
    ),
    # protected by law or decency: health, money, opinions, sexual life, offences
    "sensitive": (
        "income inc hinc salary wage wages earning gehalt lohn einkommen loon inkomen revenu "
        "salaire ingreso debt schuld credit wealth loss gain cost kosten charge expense spending "
        "diagnos disease illness icd krankheit ziekte maladie drug medication therapy hiv cancer "
        "disability mental depress pain result religion religious relig glaube faith church polit "
        "party vote voting wahl union sexual orientation affair abuse crime offence offense arrest "
        "convict sentence grade score rating opinion attitude satisf choice"
    ),
    # notes about a person
    "text": (
        "note notes notiz remark comment kommentar bemerkung anmerkung freitext freetext anamnes "
        "opmerking remarque commentaire observacion commento"
    ),
}
_WORDS = {word: meaning for meaning, words in _STEMS.items() for word in words.split()}
_LONG = 4
_HOUSEHOLD_NUMBERS = ("hhid", "hid", "hhnr", "hhno", "hhnum", "hholdid", "householdid", "famid")
_HOMES = ("hh", "hhold", "foyer", "menage", "hogar", "gezin")
_LONG_HOMES = ("household", "haushalt", "huishoud")
_NUMBERING = ("id", "nr", "no", "num", "number", "nummer", "numero", "key", "uid", "ident")
_OF_SAMPLES = ("fnlwgt", "finalwgt", "finalweight", "wgt", "pwgt", "hochrechn", "ponder", "expans")
_SHORT_OF_SAMPLES = ("wt", "perwt", "hhwt", "hwt", "pwt", "asecwt", "wtfinl", "samplewt", "sampwt")
_HEAVY = ("weight", "gewicht", "poids", "peso", "wt")
_SAMPLED = ("sampl", "survey", "design", "stichprob", "analys", "calibrat", "nonresp", "person")
_POSTAL = ("zip", "plz", "postcode", "postal")


def sense_of(name: str) -> Meaning | None:
    """Return the meaning of a column's name, or None if it has none here.

    >>> sense_of("yrs_married"), sense_of("Patient-ID"), sense_of("Straße"), sense_of("x2")
    ('trait', 'person', 'contact', None)
    >>> sense_of("birthDate"), sense_of("town name")
    ('date', 'place')
    """
    meanings = [meaning for word in words_of(name) if (meaning := _sense_of(word))]
    order: tuple[Meaning, ...] = (
        "sensitive",
        "date",
        "place",
        "person",
        "trait",
        "contact",
        "text",
    )
    return next((meaning for meaning in order if meaning in meanings), None)


def is_postal(name: str) -> bool:
    """Decide whether a column's name is that of postcodes: codes, though they look like numbers.

    >>> is_postal("PLZ"), is_postal("zip code"), is_postal("place")
    (True, True, False)
    """
    return any(word.startswith(_POSTAL) for word in words_of(name))


def is_household(name: str) -> bool:
    """Decide whether a column's name is that of a number of households.

    >>> is_household("HHID"), is_household("household_id"), is_household("Haushalts-Nr")
    (True, True, True)
    >>> is_household("household size"), is_household("hhsize"), is_household("id")
    (False, False, False)
    """
    words = words_of(name)
    if any(word in _HOUSEHOLD_NUMBERS for word in words):
        return True
    homes = [word for word in words if word in _HOMES or word.startswith(_LONG_HOMES)]
    return bool(homes) and any(word in _NUMBERING for word in words)


def is_weight(name: str) -> bool:
    """Decide whether a column's name is that of weights of a sample, and not of bodies.

    >>> is_weight("fnlwgt"), is_weight("sample_weight"), is_weight("Hochrechnungsfaktor")
    (True, True, True)
    >>> is_weight("weight"), is_weight("birth weight"), is_weight("sample")
    (False, False, False)
    """
    words = words_of(name)
    if any(word.startswith(_OF_SAMPLES) or word in _SHORT_OF_SAMPLES for word in words):
        return True
    return any(word.startswith(_HEAVY) for word in words) and any(
        word.startswith(_SAMPLED) for word in words
    )


def is_numbering(word: str) -> bool:
    """Decide whether a word says that a column numbers something, as in `customer_id`."""
    return word in _NUMBERING


def is_known(name: str) -> bool:
    """Decide whether a text is a name that columns have."""
    return len(name) <= 40 and sense_of(name) is not None


def words_of(name: str) -> list[str]:
    """Return the words of a name: in lower case, without accents and digits.

    >>> words_of("PatientNr 2"), words_of("customer_id")
    (['patient', 'nr'], ['customer', 'id'])
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    ascii_ = plain.encode("ascii", "ignore").decode()
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", ascii_).lower()
    return re.findall(r"[a-z]+", spaced)


def _sense_of(word: str) -> Meaning | None:
    if word in _WORDS:
        return _WORDS[word]
    stems = [stem for stem in _WORDS if len(stem) >= _LONG and word.startswith(stem)]
    return _WORDS[max(stems, key=len)] if stems else None
