"""Small tables as people bring them, each messy in its own way; `messy_policies.json` has what `init` must propose.

Every file is written from scratch by the tests. After a change of what is proposed, look at the difference that
``PYTHONPATH=src:tests python -m publisher.messy_files`` makes in the json, line by line, before you commit it.
"""

import csv
import datetime as dt
import io
import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import xlsxwriter

from sfumato.publisher.inspection import inspect

ROWS = 60
POLICIES = Path(__file__).parent / "messy_policies.json"
Columns = dict[str, list[Any]]
Writer = Callable[[Path], str]
"""Writes files into a folder and says what to give to `init`."""


def cycle(*values: Any, rows: int = ROWS) -> list[Any]:
    return [values[i * 7 % len(values)] if len(values) % 7 else values[i % len(values)] for i in range(rows)]


def days(form: str, first: int = 1930, years: int = 80) -> list[str]:
    start = dt.datetime(first, 1, 1, 9, 5)
    return [(start + dt.timedelta(days=i * 7919 % (365 * years), minutes=i * 37)).strftime(form) for i in range(ROWS)]


AGES = [18 + i * 13 % 70 for i in range(ROWS)]
ILL = cycle("flu", "asthma", "cancer", "stroke", "burn", "ulcer", "gout", "angina")
MOSTLY = ["positive" if i % 9 == 4 else "negative" for i in range(ROWS)]
STAYS = [1 + i * 5 % 21 for i in range(ROWS)]
SIZES = [1.5 + i * 7 % 50 / 100 for i in range(ROWS)]
PAY = [1200.5 + i * 997 % 9000 for i in range(ROWS)]


def text(
    columns: Columns, *, encoding: str = "utf-8", separator: str = ",", name: str = "t.csv", end: str = "\n"
) -> Writer:
    def write(folder: Path) -> str:
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=separator, lineterminator=end)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(out.getvalue().encode(encoding))
        return name

    return write


def several(columns: Columns, source: str, **form: Any) -> Writer:
    def write(folder: Path) -> str:
        for part in (0, 1):
            half = {n: v[part * ROWS // 2 : (part + 1) * ROWS // 2] for n, v in columns.items()}
            text(half, name=f"parts/{part}.csv", **form)(folder)
        return source

    return write


def workbook(
    columns: Columns, *, sheet: str = "Data", above: Sequence[Sequence[Any]] = (), cover: bool = False
) -> Writer:
    def write(folder: Path) -> str:
        book = xlsxwriter.Workbook(folder / "t.xlsx")
        if cover:
            book.add_worksheet("Cover").write(0, 0, "Quarterly report")
        page = book.add_worksheet(sheet)
        rows = [*above, list(columns), *map(list, zip(*columns.values(), strict=True))]
        for place, row in enumerate(rows):
            page.write_row(place, 0, row)
        if above and len(above[0]) == 1:
            page.merge_range(0, 0, 0, len(columns) - 1, above[0][0])
        book.close()
        return "t.xlsx"

    return write


def statistics(columns: Columns, suffix: str, **more: Any) -> Writer:
    def write(folder: Path) -> str:
        import pandas as pd
        import pyreadstat

        writer = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}[suffix]
        writer(pd.DataFrame(columns), folder / f"t{suffix}", **more)
        return f"t{suffix}"

    return write


def parquet(columns: Columns) -> Writer:
    def write(folder: Path) -> str:
        pl.DataFrame(columns).write_parquet(folder / "t.parquet")
        return "t.parquet"

    return write


def comma(numbers: Sequence[float], places: int = 2, group: str = "", unit: str = "") -> list[str]:
    """Numbers with a decimal comma."""
    return [f"{n:,.{places}f}".replace(",", "\0").replace(".", ",").replace("\0", group) + unit for n in numbers]


def remarks(*few: str) -> list[str]:
    return cycle(*few)


def clinic(
    id_: str, born: str, sex: str, code: str, stay: str, ill: str, note: str, *, sexes: str, codes: Sequence[str],
    words: Sequence[str],
) -> Columns:  # fmt: skip
    """A ward's table with the column names of a language."""
    return {
        id_: [f"{100000 + i * 13}" for i in range(ROWS)], born: days("%Y-%m-%d"), sex: cycle(*sexes),
        code: cycle(*codes), stay: STAYS, ill: ILL, note: remarks(*words),
    }  # fmt: skip


FIVE = ("01067", "04103", "10115", "80331", "99084")
# fmt: off
CLINICS: dict[str, Columns] = {
    "german": clinic("Patientennummer", "Geburtsdatum", "Geschlecht", "PLZ", "Verweildauer", "Hauptdiagnose",
                     "Bemerkung",
                     sexes="mwd", codes=FIVE,
                     words=("fühlt sich gut, kommt zurecht", "bitte bald noch einmal anrufen")),
    "french": clinic("numero_patient", "date_naissance", "sexe", "code_postal", "durée_de_séjour", "diagnostic",
                     "commentaire", sexes="MF", codes=("75001", "69002", "13003"),
                     words=("va très bien chez elle", "à revoir dans un mois")),
    "spanish": clinic("id_paciente", "fecha_nacimiento", "sexo", "código_postal", "días_de_estancia", "diagnóstico",
                      "observaciones", sexes="HM", codes=("28001", "08002", "41003"),
                     words=("está muy bien en casa", "debe volver en mayo otra vez")),
    "italian": clinic("paziente_id", "data_nascita", "sesso", "cap", "giornate_degenza", "diagnosi", "osservazioni",
                      sexes="MF", codes=("00118", "20121", "50122"),
                     words=("sta molto bene a casa", "da rivedere tra un mese")),
    "dutch": clinic("patientnummer", "geboortedatum", "geslacht", "postcode", "ligduur", "diagnose", "opmerking",
                    sexes="MV", codes=("1012 AB", "3511 XY", "9711 KL"),
                     words=("gaat het goed thuis nu", "graag over een maand terug")),
    "polish": clinic("nr_pacjenta", "data_urodzenia", "płeć", "kod_pocztowy", "czas_pobytu", "rozpoznanie", "uwagi",
                     sexes="KM", codes=("00-950", "30-001", "80-180"),
                     words=("czuje się dobrze w domu", "kontrola za jeden miesiąc")),
    "portuguese": clinic("id_paciente", "data_nascimento", "sexo", "codigo_postal", "dias_internacao", "diagnostico",
                         "observacao", sexes="MF", codes=("01310", "20040", "30130"),
                     words=("está bem em casa agora", "voltar daqui a um mês")),
    "swedish": clinic("patient_id", "födelsedatum", "kön", "postnummer", "vårdtid", "diagnos", "anteckning",
                      sexes="MK", codes=("11120", "41104", "21119"),
                     words=("mår bra hemma nu igen", "återbesök om en månad igen")),
    "danish": clinic("patient_id", "fødselsdato", "køn", "postnr", "liggetid", "diagnose", "bemærkning",
                     sexes="MK", codes=("1050", "8000", "5000"),
                     words=("har det godt hjemme nu", "kontrol om en måned igen")),
}


def ward(**more: list[Any]) -> Columns:
    return {"age": AGES, "sex": cycle("F", "M"), **more}


def dated(form: str, **options: Any) -> Writer:
    return text(ward(admitted=days(form, 2023, 2), diagnosis=ILL), **options)


def coded(name: str, *codes: str) -> Writer:
    return text(ward(**{name: cycle(*codes)}, diagnosis=ILL))


SEX = {1: "male", 2: "female", 9: "refused"}
SURVEY: Columns = {"idno": [float(i + 1) for i in range(ROWS)], "sex": cycle(1.0, 2.0, 9.0, 2.0, 1.0),
                   "age": [float(a) for a in AGES], "income": cycle(1.0, 2.0, 3.0, 4.0)}
INCOME = {1: "low", 2: "medium", 3: "high", 4: "very high"}

FILES: dict[str, Writer] = {
    **{f"{language} clinic": text(columns) for language, columns in CLINICS.items()},
    "german clinic in cp1252": text(CLINICS["german"], encoding="cp1252", separator=";", end="\r\n"),
    "french clinic in latin-1": text(CLINICS["french"] | {"nom": ["\x81é"] * ROWS}, encoding="latin-1", separator=";"),
    "polish clinic in utf-16": text(CLINICS["polish"], encoding="utf-16", separator="\t"),
    "german clinic in utf-16 without a mark": text(CLINICS["german"], encoding="utf-16-le", separator="\t"),
    "spanish clinic with a mark": text(CLINICS["spanish"], encoding="utf-8-sig", separator=";"),
    "pipes": text(ward(diagnosis=ILL), separator="|", name="t.txt"),
    "tabs": text(ward(diagnosis=ILL), separator="\t", name="t.tsv"),
    # numbers
    "dollars": text(ward(salary=[f"${n:,.0f}" for n in PAY])),
    "euros": text(ward(Gehalt=comma(PAY, 2, ".", " €")), separator=";"),
    "euros before": text(ward(Gehalt=["€ " + n for n in comma(PAY)]), separator=";"),
    "swiss": text(ward(Lohn=[f"{n:,.2f}".replace(",", "'") for n in PAY]), separator=";"),
    "french spaces": text(ward(salaire=comma(PAY, 2, "\u202f")), separator=";"),
    "decimal comma": text({"Alter": AGES, "Größe": comma(SIZES), "Diagnose": ILL}, separator=";"),
    "negative balances": text(ward(balance=[f"{n - 5000:.2f}" for n in PAY])),
    "thousands or decimals": text(ward(Saldo=[f"{i % 9 + 1},{i * 37 % 900 + 100}" for i in range(ROWS)]),
                                  separator=";"),
    # dates
    "german dates": dated("%d.%m.%Y"),
    "american dates": dated("%m/%d/%Y"),
    "british dates": dated("%d/%m/%Y", separator=";"),
    "named months": dated("%d-%b-%Y"),
    "long dates": dated("%B %d, %Y"),
    "slashed iso": dated("%Y/%m/%d"),
    "iso times": dated("%Y-%m-%dT%H:%M:%S"),
    "german times": dated("%d.%m.%Y %H:%M"),
    "american times": dated("%m/%d/%Y %I:%M %p"),
    "two digits": dated("%d.%m.%y"),
    # codes
    "icd codes": text(ward(ward_icd=cycle("I21.4", "I10", "E11.90", "E11.2", "J44.1"), religion=cycle(*"abcdefg"))),
    "nace codes": coded("nace", "47.11", "47.19", "86.10", "86.21", "01.11"),
    "nace codes with sections": coded("branche", "G47.11", "G47.19", "Q86.10", "A01.11"),
    "isco codes": coded("ISCO-08", "2211", "2212", "5120", "5131", "9111"),
    "kldb codes": coded("Beruf_KldB2010", "43124", "71402", "81302", "62102"),
    "british postcodes": coded("postcode", "SW1A 1AA", "M1 1AE", "B33 8TH", "EC1A 1BB"),
    "canadian postal codes": coded("postal_code", "K1A 0B1", "H0H 0H0", "V6B 4Y8"),
    "zip plus four": coded("zip", "02138", "02139-1234", "10115"),
    "codes of regions": coded("region_code", "DE-BY-091", "DE-BE-100", "AT-09-012", "CH-ZH-261"),
    "zips that kept their zero": coded("zip", "02138", "02139", "90210"),
    # missing values
    "many markers": text(ward(job=cycle("nurse", "N/A", "cook", "?", "-", " NA ", "Null", "clerk"), diagnosis=ILL)),
    "german markers": text(ward(Beruf=cycle("Koch", "k.A.", "keine Angabe", "FEHLT", "Wirt"), Diagnose=ILL),
                           separator=";"),
    "markers among numbers": text(ward(height=[*("n/a", "."), *(f"{s:.2f}" for s in SIZES[2:])], diagnosis=ILL)),
    # workbooks
    "cover sheet": workbook(ward(diagnosis=ILL), cover=True, sheet="Patients"),
    "merged title": workbook(ward(diagnosis=ILL), above=[["All patients"], []]),
    "lost zeros": workbook({"PLZ": cycle(1067, 4103, 10115, 80331, 99084), "Alter": AGES, "Diagnose": ILL}),
    "cover, title and lost zeros": workbook({"Fall": list(range(1, ROWS + 1)), "PLZ": cycle(1067, 99084, 80331),
                                             "Diagnose": ILL}, cover=True, sheet="Fälle", above=[["Fälle 2024"], []]),
    # statistics packages
    "spss with labels": statistics(SURVEY, ".sav", variable_value_labels={"sex": SEX, "income": INCOME},
                                   missing_ranges={"sex": [9]}),
    "spss with cryptic names": statistics(
        {"v001": SURVEY["idno"], "v002": SURVEY["sex"], "v003": SURVEY["age"], "v004": SURVEY["income"]}, ".sav",
        column_labels=["Respondent number", "Sex of respondent", "Age in years", "Household income"],
        variable_value_labels={"v002": SEX, "v004": INCOME}),
    "stata": statistics(SURVEY, ".dta", variable_value_labels={"sex": SEX, "income": INCOME}),
    "sas": statistics(SURVEY, ".xpt"),
    "survey weights": statistics(SURVEY | {"pweight": [100 + p / 10 for p in PAY]}, ".sav",
                                 variable_value_labels={"income": INCOME}),
    # several files, and typed ones
    "folder": several(CLINICS["german"], "parts", encoding="cp1252", separator=";"),
    "pattern": several(ward(diagnosis=ILL), "parts/*.csv"),
    "typed": parquet({"age": AGES, "born": [dt.date(1950, 1, 1) + dt.timedelta(days=i * 97) for i in range(ROWS)],
                      "smoker": cycle(True, False), "diagnosis": ILL}),
    # what must not be inferred, and who
    "mostly negative": text(ward(hiv_status=MOSTLY)),
    "hiv and a diagnosis": text(ward(**{"HIV-Status": MOSTLY}, diagnosis=ILL)),
    "religion": text(ward(religion=cycle("catholic", "protestant", "none", "muslim", "jewish"))),
    "a class": text(ward(diagnosis=ILL, readmitted=cycle("no", "yes", "no"))),
    "several rows each": text({"patient_id": [f"P{i // 3}" for i in range(ROWS)], "age": AGES, "diagnosis": ILL}),
    "remarks with a phone number": text(ward(remark=remarks("fine", "call 0351 4567890 for results", "no change"),
                                             diagnosis=ILL)),
    "names, mails and accounts": text(
        {"Name": [f"Ann Bell{i}" for i in range(ROWS)], "mail": [f"a{i}@example.org" for i in range(ROWS)],
         "iban": [f"DE{10 + i}500105175407324{i:03}" for i in range(ROWS)], "age": AGES, "diagnosis": ILL}),
    "levels": text(ward(pain=cycle("low", "high", "medium"), diagnosis=ILL)),
    "constant and empty columns": text(ward(hospital=["St. Mary"] * ROWS, empty=[""] * ROWS, diagnosis=ILL)),
}
# fmt: on


def proposed(name: str, folder: Path) -> dict[str, Any]:
    """The policy that `init` proposes for a file, without the reasons."""
    found = inspect(str(folder / FILES[name](folder)), seen_from=folder).proposal
    policy = tomllib.loads(found.to_toml())
    for entry in policy["attributes"].values():
        del entry["reason"]
    return policy


def _all() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in FILES:
        with tempfile.TemporaryDirectory() as folder:
            yield name, proposed(name, Path(folder))


if __name__ == "__main__":
    POLICIES.write_text(json.dumps(dict(_all()), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
