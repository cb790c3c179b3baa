"""What a column of a table about people looks like, and the signs of its role.

A profile is taken from distinct values and their counts, so that a million rows cost one counting pass per
column; patterns see a bounded sample of short strings, since values are untrusted. All knowledge is
in tables: `SIGNS` (names), `SHAPES` and `HABITS` (values), `LADDERS` (levels), `RULES` (which comes first).
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.engine.local import tally_of
from sfumato.table.encode import DATE, has_codes
from sfumato.table.missing_markers import means_missing

SAMPLE, LONGEST = 500, 300  # the distinct values, and of each the characters, that patterns see


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What one column looks like: its distinct values with their counts, and what they parse as."""

    markers: tuple[str, ...]  # values that seem to stand for a missing one
    numbers: bool  # all values except the markers are numbers
    numeric: bool  # all values are numbers: a marker such as `?` turns a column into text
    date: bool  # dates in ISO 8601, or of a date type
    name: str
    rows: int
    nulls: int
    distinct: int
    values: pl.Series  # distinct, without nulls
    counts: pl.Series
    sample: tuple[str, ...]  # all distinct values in their order, if there are at most SAMPLE
    opaque: bool  # nested or binary values, which a policy cannot name

    @property
    def share(self) -> float:
        """Distinct values per filled cell: 1 if every row has its own."""
        return self.distinct / max(1, self.rows - self.nulls)

    def looks(self, pattern: str, least: float = 0.9) -> bool:
        """Whether at least this share of the sample matches a pattern."""
        passed = sum(1 for value in self.sample if re.fullmatch(pattern, value[:LONGEST].strip()))
        return passed >= max(1, least * len(self.sample))


def profile(column: pl.Series) -> Profile:
    """The profile of a column; typed columns and text columns give the same."""
    return profile_of(column.name, tally_of(column))


def profile_of(name: str, tally: pl.DataFrame) -> Profile:
    """The profile of a column, given how many rows have each value (`Engine.tally`)."""
    dtype, rows = tally["value"].dtype, int(tally["rows"].sum())
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        none = pl.Series([], dtype=pl.String)
        return Profile(*_parse(none), name, rows, 0, 0, none, none.cast(pl.Int64), (), opaque=True)
    filled = tally.filter(pl.col("value").is_not_null())
    values = filled["value"].to_physical() if dtype == pl.Duration else filled["value"]
    if not (values.dtype.is_numeric() or values.dtype in (pl.Date, pl.Datetime)):
        values = values.cast(pl.String)
    if values.dtype.is_float() and _whole(values):  # as workbooks keep them
        values = values.cast(pl.Int64)
    spread = values if len(values) <= SAMPLE else values.sort().gather_every(len(values) // SAMPLE)
    sizes = rows, rows - int(filled["rows"].sum()), len(values)
    return Profile(*_parse(values), name, *sizes, values, filled["rows"], texts(spread), opaque=False)


def _whole(values: pl.Series) -> bool:
    """Whether all numbers are whole and exact."""
    return bool(values.is_finite().all()) and bool(((values == values.round(0)) & (values.abs() < 2.0**53)).all())


def texts(values: pl.Series) -> tuple[str, ...]:
    """The values as a policy writes them, in their own order."""
    return tuple(values.sort().cast(pl.String).to_list())


def _parse(values: pl.Series) -> tuple[tuple[str, ...], bool, bool, bool]:
    """The markers among distinct values, whether the others are numbers, whether all are, or ISO dates.

    Digits with a leading zero are a code, not a number. A look at the head settles most text columns.
    """
    if values.dtype.is_numeric():
        return ("NaN",) if values.dtype.is_float() and values.is_nan().any() else (), True, True, False
    if values.dtype != pl.String:
        return (), False, False, True
    marked = means_missing(values)
    told = values.filter(~marked)
    numbers, date = (len(told) > 0 and test(told.head(20)) and test(told) for test in (_number, _iso))
    return texts(values.filter(marked)), numbers, numbers and not marked.any(), date and not marked.any()


def _number(told: pl.Series) -> bool:
    finite = told.cast(pl.Float64, strict=False).is_finite().fill_null(value=False).all()
    return finite and not has_codes(told)


def _iso(told: pl.Series) -> bool:
    shaped = told.str.contains(DATE).all()
    return shaped and not told.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).has_nulls()


def dated(seen: Profile) -> bool:
    """Whether values are dates, in any notation."""
    written = r"(?:\d{4}([./-])\d{1,2}\1\d{1,2}|\d{1,2}([./-])\d{1,2}\2(?:\d{4}|\d{2}))(?:[ T].{0,20})?"
    return seen.date or seen.looks(written)


def _texty(seen: Profile) -> bool:
    """Whether values are sentences, or many words that are not a list: not codes, numbers or dates."""
    return not seen.numbers and not dated(seen) and (_varied(seen) or seen.looks(r"(?s)\S+(?:\s+\S+){2,}", 0.3))


def _varied(seen: Profile) -> bool:
    """Whether values may be personal at all: a few values shared by many rows are not."""
    return seen.distinct > 10 or seen.distinct * 4 > seen.rows


def _worded(seen: Profile) -> bool:
    return _varied(seen) and not seen.numbers and not dated(seen)


@dataclass(frozen=True, slots=True)
class Sign:
    """What a column seems to be, and why; the roles `sensitive` and `class` mean candidates only."""

    role: str
    why: str
    words: str = ""  # of column names; =word must be the whole name
    fits: Callable[[Profile], bool] = lambda seen: not dated(seen)  # what its values must be
    hint: str = "auto"  # of its kind: auto | categorical | mask
    rank: int = 0  # among candidates: the lowest is best
    entity: int = 0  # whether one value is one person: 0 no, 1 likely, 2 by its name
    unsure: bool = False  # not recognized, only treated as known to outsiders to be safe


WEIGHT = "a sampling weight"
# fmt: off
SIGNS = (
    Sign("identifier", "the name of a person", """=name =names =nom =nombre fullname firstname lastname
        surname givenname familyname middlename maidenname forename patientname customername clientname
        employeename vorname nachname familienname prenom apellido nombrecompleto =nome cognome
        nomecompleto sobrenome apelido imie nazwisko voornaam achternaam fornamn efternamn fornavn efternavn
        etunimi sukunimi jmeno prijmeni""", _worded),
    Sign("identifier", "a way to reach a person", """email mail emailaddress correo courriel phone telephone
        phonenumber mobile fax tel telefon telefonnummer handy telefono address street streetaddress strasse
        anschrift adresse direccion calle rue ip ipaddress macaddress url website deviceid""", _varied),
    Sign("identifier", "a number that identifies one person", """ssn socialsecuritynumber nationalid passport
        taxid steuernummer steuerid sozialversicherungsnummer nir dni curp cpf insurancenumber mrn matricule
        versichertennummer iban accountnumber kontonummer creditcard cardnumber username login licenseplate
        kennzeichen""", _varied, entity=1),
    Sign("drop", WEIGHT, """samplingweight sampleweight surveyweight designweight populationweight pweight wgt pweights
        finalweight personweight hochrechnungsfaktor hochrechnung gewichtungsfaktor personengewicht stichprobengewicht
        hrf ponderation coefficientdeponderation factorexpansion factordeexpansion ponderacion
        pesocampionario""", lambda seen: seen.numeric),
    Sign("drop", "free text, which may contain anything", """note comment remark freetext description annotation
        memo anamnesis anamnese epikrise befund befundtext arztbrief verlauf freitext bemerkung anmerkung kommentar
        notiz hinweis commentaire remarque observation texte observacion observaciones comentario nota notas
        descripcion osservazioni commento opmerking toelichting uwagi komentarz observacao observacoes anteckning
        bemærkning bemerkning kommentti poznamka poznamky notat anmærkning""", lambda seen: _texty(seen)),
    Sign("quasi", "an age", """age ageatdiagnosis agegroup alter lebensalter edad =eta idade wiek leeftijd alder
        =ika =vek"""),
    Sign("quasi", "a sex", """sex sexatbirth gender geschlecht sexe sexo genre genero sesso genere geslacht płec
        plec =kon køn kjønn pohlavi sukupuoli""", hint="categorical"),
    Sign("quasi", "a birth date", """birth birthdate birthday dob birthyear naissance geburtsdatum geburtstag
        geburtsjahr nacimiento nascita nascimento urodzenia geboortedatum geboortejaar fodelsedatum fodelsear
        fødselsdato fødselsar narozeni syntymaaika""", lambda seen: True),
    Sign("quasi", "a date, which outsiders may know", """date datum fecha jour timestamp datetime admission
        discharge aufnahme entlassung""", dated),
    Sign("quasi", "a postal code", """zip zipcode postcode postalcode plz postleitzahl codepostal
        codigopostal =cap cappostale kodpocztowy postnummer postnr codicepostale postinumero psc""", hint="mask"),
    Sign("quasi", "a place", """city town village municipality county district region province =state country
        location residence neighborhood birthplace placeofbirth ort stadt wohnort land gemeinde kreis
        bundesland ville commune departement pays ciudad provincia pais""", hint="categorical"),
    Sign("quasi", "an origin", """race ethnicity ethnic hispanic origin foreign nationality citizenship
        language staatsangehorigkeit nationalitat herkunft sprache nationalite langue nacionalidad etnia
        idioma""", hint="categorical"),
    Sign("quasi", "a family situation", """marital maritalstatus civilstatus personalstatus relationship
        children household housing familysize familienstand kinder etatcivil enfants estadocivil hijos"""),
    Sign("quasi", "an education", """education degree school university bildung abschluss schulabschluss
        ausbildung diplome etudes educacion estudios"""),
    Sign("quasi", "a kind of work", """occupation job profession workclass industry classofworker employment
        employer company department sector beruf branche arbeitgeber abteilung metier emploi profesion
        ocupacion empleo nace isco isco08 isco88 isic naics kldb kldb2010 wz wz08 wz2008 noga""", hint="categorical"),
    Sign("quasi", "a measure", """height weight bmi latitude longitude lat lon hoursperweek weeksworked grosse
        groesse gewicht korpergrosse taille poids altura estatura peso"""),
    Sign("sensitive", "about health: private", """diagnosis diagnose diagnoses diagnostic diagnostico disease
        illness icd =condition disorder hiv aids medication drug medicine prescription treatment therapy
        symptom depression psychiatric disability cancer genetic allergy pregnancy krankheit hauptdiagnose
        medikament behandlung maladie medicament traitement enfermedad medicamento tratamiento diagnosi malattia
        farmaco rozpoznanie choroba =lek diagnos sjukdom sygdom ziekte doenca sairaus diagnoosi diagnoza"""),
    Sign("sensitive", "a belief, an intimate matter or a crime: private", """religion religious faith =party
        political politicalparty vote sexualorientation sexuality criminal conviction arrest offense offence
        konfession glaube partei vorstrafe politica"""),
    Sign("sensitive", "about money: private", """income householdincome salary wage earning balance debt loan
        saving networth
        creditamount capitalgain capitalloss gehalt lohn einkommen kontostand revenu salaire solde ingreso
        salario sueldo saldo""", rank=1),
    Sign("sensitive", "a judgement of a person: private", "score creditscore grade gpa iq", rank=2),
    Sign("class", "an outcome, which analysts want to predict", """readmitted readmission =outcome churn
        churned =default defaulted =target =label =class =y =risk =result =response survived approved died
        fraud wiederaufnahme""", lambda seen: 2 <= seen.distinct <= 10, "categorical"),
    Sign("insensitive", "not known to outsiders, and of little risk", """lengthofstay los daysinhospital
        timeinhospital hospitaldays staydays numprocedures nummedications verweildauer liegedauer liegetage
        aufenthaltsdauer krankenhaustage belegungstage dureesejour dureedesejour dureedusejour joursdhospitalisation
        duracionestancia duraciondelaestancia diasestancia diasdeestancia estanciahospitalaria degenza giornididegenza
        giornatedegenza durataricovero duratadegenza ligduur opnameduur verblijfsduur ligdagen verpleegdagen
        diasinternacao tempodeinternacao tempointernamento czaspobytu dlugoscpobytu liczbadnipobytu vardtid
        indlaeggelsestid liggetid hoitoaika hoitopaivat delkahospitalizace osetrovacidoba apolasinapok
        =stay =stays =vwd =belegtage =aufenthalt =aufenthaltstage =sejour =estancia =estadia =permanenza =internamento
        dureehospitalisation dureedhospitalisation diasingreso diashospitalizacion diashospitalizados
        giorniricovero nightsinhospital inpatientdays stayindays =split =fold"""),
)
FREE_TEXT = "free text, which may contain anything"
REACH = re.compile(r"[\w.+-]{1,64}@[\w-]{1,60}\.\w{2}|(?<!\d)(?:\+|0)\d[\d ()/-]{6,18}\d(?!\d)")
SHAPES = (  # what values are, whether one is one person (entity), how they look
    ("e-mail addresses", 1, r"[^@\s]{1,64}@[^@\s]{1,190}\.[^@\s.]{2,24}"),
    ("web addresses", 0, r"(?:[a-z]{3,6}://|www\.)\S+"),
    ("network addresses", 0, r"(?:\d{1,3}\.){3}\d{1,3}|[\dA-Fa-f]{1,4}(?:::?[\dA-Fa-f]{1,4}){3,7}"),
    ("UUIDs or hashes", 1, r"\{?[\dA-Fa-f]{8}-?(?:[\dA-Fa-f]{4}-?){4,14}\}?"),
    ("social security numbers", 1, r"\d{3}-\d{2}-\d{4}"),
    ("bank accounts (IBAN)", 1, r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{0,4}"),
    ("card numbers", 1, r"\d{4}([ -]?)\d{4}\1\d{4}\1\d{3,7}"),
    ("phone numbers", 0, r"(?=(?:\D{0,3}\d){9})(?:[+(]|0|\d{1,5}[ ./-])[\d ()./-]{6,22}"),
)
HABITS = (  # values unique to each row: least distinct values per row, and in all; how they look
    (FREE_TEXT, 0.5, 3, r"(?s)(?=.{30})\S+(?:\s+\S+){4,}"),
    ("apparently names of people", 0.5, 3, r"[^\W\d_a-z][\w'’.-]*(?:,? [^\W\d_a-z][\w'’.-]*){1,3}"),
    ("codes unique to each row", 0.9, 3, r"(?=\D*\d)[\w./-]{3,20}"),
    ("values unique to each row", 0.9, 20, r"(?s).*"),
)
LADDERS = tuple(tuple(rung.split("|") for rung in ladder.split(", ")) for ladder in (
    "very low, low|niedrig|gering|bas|bajo, medium|middle|moderate|mittel|moyen|medio, high|hoch|haut|alto, "
    "very high",
    "never|nie|jamais|nunca, rarely|seldom|selten|rarement, sometimes|manchmal|parfois|a veces, "
    "often|oft|souvent|a menudo, usually|meistens, always|immer|toujours|siempre",
    "strongly disagree, disagree, neutral, agree, strongly agree",
    "none|keine, minimal, mild|leicht|leve, moderate|mittel|moderado, severe|schwer|grave, critical",
    "very poor|very bad, poor|bad|schlecht, fair|average, good|gut, very good|sehr gut, excellent",
    "xs, s|small|klein, m|medium|mittel, l|large|gross|groß, xl, xxl",
    "preschool, primary|1st 4th, 5th 6th, 7th 8th, 9th, 10th, 11th, 12th, secondary|hs grad|high school, "
    "some college, assoc voc, assoc acdm, bachelor|bachelors, master|masters, prof school, doctorate|phd",
    "january|jan|januar, february|feb|februar, march|mar|märz, april|apr, may|mai, june|jun|juni, "
    "july|jul|juli, august|aug, september|sep, october|oct|oktober, november|nov, december|dec|dezember",
    "monday|mon|montag, tuesday|tue|dienstag, wednesday|wed|mittwoch, thursday|thu|donnerstag, "
    "friday|fri|freitag, saturday|sat|samstag, sunday|sun|sonntag",
))
# fmt: on
NUMBERS = ("identifier", "nummer", "number", "numero", "uuid", "guid", "key", "nr", "no", "id")
PERSONS = """patient person customer client user member employee subject student participant respondent
 patienten personen kunde kunden mitarbeiter versicherten paciente cliente usuario persona empleado"""


def tokens(name: str) -> list[str]:
    """The words of a column name in snake, kebab or camel case, without accents: ICD10Code, icd_10_code."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", name[:200]) if not unicodedata.combining(c))
    ends = r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])"
    return [word.casefold() for word in re.split(ends, bare) if word]


def order(seen: Profile) -> tuple[str, ...] | None:
    """The values in order, if all of them are different levels of one scale."""
    levels = {value: " ".join(re.findall(r"\w+", value.casefold())) for value in seen.sample[:30]}
    for ladder in LADDERS if 3 <= seen.distinct == len(levels) else ():
        rungs = {value: i for value, word in levels.items() for i, rung in enumerate(ladder) if word in rung}
        if len(set(rungs.values())) == seen.distinct:
            return tuple(sorted(rungs, key=rungs.__getitem__))
    return None


def _named(seen: Profile, *, fitting: bool = True) -> Sign | None:
    """The sign with the longest word in the column's name, among those that fit its values."""
    name = tokens(seen.name)
    grams = {"".join(name[i : i + n]) for i in range(len(name)) for n in (1, 2, 3, 4)}
    grams |= {gram.removesuffix("s") for gram in grams} | {"=" + "".join(name)}
    hits = [(max(map(len, found)), s) for s in SIGNS if (found := grams.intersection(s.words.split()))]
    hits.sort(key=lambda hit: -hit[0])
    return next((sign for _, sign in hits if not fitting or sign.fits(seen)), None)


def _plain(seen: Profile) -> Sign | None:
    """Constant columns may stay, unless they reveal something about everyone."""
    if seen.opaque:
        return Sign("drop", "nested or binary values, which cannot be generalized: left out")
    if seen.rows < 2 or seen.distinct + (seen.nulls > 0) > 1:
        return None
    sign = _named(seen, fitting=False)
    if sign and seen.distinct and sign.role in ("identifier", "sensitive"):
        return Sign("identifier", f"{sign.why}, and the same for everyone: left out")
    return Sign("insensitive", "the same in every row" if seen.distinct else "empty")


def _written(seen: Profile) -> Sign | None:
    """Text with a way to reach somebody: a phone number or an address inside a sentence, however rare."""
    if seen.numbers or dated(seen):
        return None
    sentences = (value[:LONGEST] for value in seen.sample if len(value.split()) > 2)
    found = any(REACH.search(sentence) for sentence in sentences)
    return Sign("drop", "free text with ways to reach people (a phone number or an address)") if found else None


def _shaped(seen: Profile) -> Sign | None:
    """Identifiers recognized by how they are written; decimal fractions look like phone numbers."""
    table = SHAPES if _varied(seen) and not dated(seen) and seen.numbers <= seen.looks(r"\d+") else ()
    found = (Sign("identifier", what, entity=sure) for what, sure, how in table if seen.looks(how, 0.5))
    return next(found, None)


def _numbered(seen: Profile) -> Sign | None:
    """Record numbers: always those of people; those of other things unless many rows share one."""
    name = tokens(seen.name)
    first, whole = name[:1] in (["id"], ["numero"], ["nummer"]), "".join(name)
    end = next((end for end in NUMBERS if whole.endswith(end)), "")
    owner = "".join(name[1:]) if first else whole.removesuffix(end)
    if {owner, owner.removesuffix("s")} & set(PERSONS.split()) and (first or end or _varied(seen)):
        return Sign("identifier", "the number or name of a person", entity=2)
    if not name or name[-1] not in NUMBERS or seen.distinct < 3:
        return None
    if seen.distinct * 20 < seen.rows:
        return Sign(
            "quasi", "unsure: a code of some kind; treated as known to outsiders", hint="categorical", unsure=True
        )
    known = _named(seen)
    alone = Sign("identifier", "the number of a record", entity=int(len(name) == 1))
    return known if known and known.role == "identifier" else alone


def _own(seen: Profile) -> Sign | None:
    """Text that differs in nearly every row, and whole numbers that are consecutive or of one length."""
    if seen.numbers and seen.distinct >= 20 and seen.share == 1 and seen.looks(r"\d+", 1):
        span = np.ptp(seen.values.cast(pl.Float64, strict=False).to_numpy())
        lengths = {len(value) for value in seen.sample}
        if span < 2 * seen.distinct or (len(lengths) == 1 and min(lengths) > 4):
            return Sign("identifier", "a different number in every row")
    for what, share, distinct, pattern in HABITS if _worded(seen) else ():
        if seen.share >= share and seen.distinct >= distinct and seen.looks(pattern, 0.5):
            return Sign("drop" if what == FREE_TEXT else "identifier", what)
    return None


def says_nothing(seen: Profile) -> bool:
    """Whether the name of a column means nothing, such as `v012`."""
    return _named(seen) is None and _numbered(seen) is None


RULES = (_plain, _shaped, _written, _numbered, _named, _own)


def recognize(seen: Profile) -> Sign:
    """What a column seems to be, by the first rule that applies; if none does, known to outsiders."""
    found = next((sign for rule in RULES if (sign := rule(seen))), None)
    if found or dated(seen):
        return found or Sign("quasi", "a date; outsiders may know it")
    return Sign("quasi", "unsure what it is: treated as known to outsiders", unsure=True)
