"""The vocabulary of the synthetic hospital: names, regions, jobs and diagnoses with their tendencies.

Everything here is invented. A weight is relative to its neighbours;
no number is an estimate of anything real.
"""

from typing import NamedTuple


class Region(NamedTuple):
    """A part of the country: its zip codes (district -> last two digits) and who lives there."""

    name: str
    weight: float
    ageing: float  # above 0: older people than elsewhere, below 0: younger
    zips: dict[str, str]
    hazards: dict[str, float]  # diagnosis -> how much more frequent than elsewhere


class Occupation(NamedTuple):
    """An occupation, with the four corners (ages) of the trapezoid in which people have it."""

    name: str
    weight: float
    corners: tuple[int, int, int, int]
    men: float = 1.0
    women: float = 1.0
    manual: bool = False
    regions: tuple[str, ...] = ()  # where it is three times as frequent


class Diagnosis(NamedTuple):
    """A reason to be in hospital: its weight at the ``AGES``, and what follows from it."""

    name: str
    by_age: tuple[float, ...]
    men: float
    women: float
    manual: float  # factor for manual workers
    winter: float  # how much more frequent in midwinter than in midsummer
    days: float  # median length of stay
    again: float  # probability of readmission at the age of 50


REGIONS = (
    Region(
        "Capital",
        0.30,
        -0.35,
        {"100": "07 15 31 64", "101": "02 18 45 77", "104": "09 26 53 88"},
        {"HIV": 2.2, "depression": 1.5, "burn": 1.3},
    ),
    Region(
        "Harbour",
        0.21,
        -0.10,
        {"212": "03 19 40 66", "215": "11 27 58 90", "218": "05 34 61 82"},
        {"chronic bronchitis": 2.2, "lung cancer": 1.9, "asthma": 1.5},
    ),
    Region(
        "Plain",
        0.17,
        0.10,
        {"351": "04 22 47 71", "354": "13 29 55 86", "357": "08 36 60 93"},
        {"diabetes": 1.6, "hypertension": 1.4},
    ),
    Region(
        "Hills",
        0.12,
        0.20,
        {"470": "01 20 48 75", "473": "12 33 59 84"},
        {"hip fracture": 1.4, "concussion": 1.5},
    ),
    Region("Lakes", 0.11, 0.45, {"061": "06 24 42 79", "063": "14 37 56 91"}, {"stroke": 1.3, "gallstones": 1.4}),
    Region(
        "Coast",
        0.09,
        0.30,
        {"012": "10 21 49 68", "014": "16 38 57 95"},
        {"alcohol dependence": 1.6, "hypertension": 1.3},
    ),
)

JOBS = (
    Occupation("infant", 100, (-1, 0, 5, 6)),
    Occupation("pupil", 100, (5, 6, 17, 19)),
    Occupation("student", 40, (17, 19, 23, 30)),
    Occupation("unemployed", 6, (17, 20, 60, 68)),
    Occupation("homemaker", 6, (18, 26, 62, 72), men=0.2, women=1.8),
    Occupation("retired", 400, (60, 72, 99, 100)),
    Occupation("clerk", 7, (17, 22, 60, 67), women=1.5, regions=("Capital",)),
    Occupation("accountant", 3, (21, 27, 60, 68), regions=("Capital",)),
    Occupation("manager", 4, (24, 35, 60, 69), men=1.4, regions=("Capital",)),
    Occupation("teacher", 5, (22, 27, 60, 67), men=0.6, women=1.5),
    Occupation("engineer", 4, (22, 27, 60, 68), men=1.6, women=0.6, regions=("Harbour",)),
    Occupation("lawyer", 2, (24, 29, 62, 75), regions=("Capital",)),
    Occupation("programmer", 4, (18, 23, 50, 66), men=1.4, women=0.6, regions=("Capital",)),
    Occupation("nurse", 5, (18, 22, 58, 66), men=0.3, women=1.8),
    Occupation("physician", 2, (25, 29, 62, 75)),
    Occupation("cook", 3, (16, 19, 56, 66)),
    Occupation("waiter", 3, (16, 18, 45, 64), regions=("Capital", "Coast")),
    Occupation("cleaner", 4, (17, 22, 60, 68), men=0.4, women=1.6),
    Occupation("hairdresser", 2, (16, 18, 55, 66), men=0.3, women=1.7),
    Occupation("shop assistant", 7, (16, 19, 58, 67), women=1.4),
    Occupation("carpenter", 3, (16, 19, 56, 65), women=0.1, manual=True, regions=("Hills",)),
    Occupation("electrician", 3, (16, 20, 58, 66), women=0.1, manual=True),
    Occupation("bricklayer", 3, (16, 19, 53, 64), women=0.05, manual=True),
    Occupation("welder", 3, (16, 20, 55, 65), women=0.1, manual=True, regions=("Harbour",)),
    Occupation("truck driver", 5, (18, 23, 60, 67), women=0.2, manual=True, regions=("Harbour", "Plain")),
    Occupation("farmer", 4, (17, 25, 64, 78), manual=True, regions=("Plain", "Hills")),
    Occupation("fisher", 1, (16, 20, 60, 70), women=0.2, manual=True, regions=("Coast", "Lakes")),
)

AGES = (0, 5, 15, 25, 35, 45, 55, 65, 75, 90)

DIAGNOSES = (
    Diagnosis("heart attack", (0, 0, 0, 0.3, 1, 4, 7, 8, 8, 7), 1.4, 0.8, 1.0, 1.2, 6, 0.26),
    Diagnosis("heart failure", (0, 0, 0, 0, 0.5, 2, 4, 7, 10, 13), 1.0, 1.0, 1.0, 1.2, 8, 0.44),
    Diagnosis("stroke", (0, 0, 0, 0.2, 0.5, 2, 4, 6, 9, 11), 1.0, 1.0, 1.0, 1.1, 11, 0.27),
    Diagnosis("hypertension", (0, 0, 0, 0.5, 1.5, 4, 6, 6, 5, 4), 1.1, 1.0, 0.9, 1.0, 3, 0.18),
    Diagnosis("asthma", (6, 8, 6, 4, 3, 2, 2, 2, 2, 2), 1.0, 1.1, 1.1, 1.3, 3, 0.22),
    Diagnosis("pneumonia", (6, 3, 1, 1, 1, 2, 3, 4, 6, 9), 1.1, 1.0, 1.0, 2.5, 7, 0.20),
    Diagnosis("chronic bronchitis", (0, 0, 0, 0, 1, 3, 6, 8, 8, 6), 1.2, 0.9, 1.6, 1.8, 6, 0.40),
    Diagnosis("breast cancer", (0, 0, 0, 0.3, 2, 5, 7, 7, 5, 4), 0.0, 1.3, 1.0, 1.0, 5, 0.33),
    Diagnosis("prostate cancer", (0, 0, 0, 0, 0, 1, 6, 10, 11, 8), 1.2, 0.0, 1.0, 1.0, 6, 0.28),
    Diagnosis("lung cancer", (0, 0, 0, 0, 0.5, 2, 5, 7, 6, 3), 1.3, 0.9, 1.3, 1.0, 9, 0.42),
    Diagnosis("colon cancer", (0, 0, 0, 0.1, 0.5, 2, 4, 6, 7, 6), 1.1, 1.0, 1.0, 1.0, 10, 0.34),
    Diagnosis("influenza", (7, 5, 3, 2, 2, 2, 2, 3, 4, 6), 1.0, 1.0, 1.0, 8.0, 4, 0.08),
    Diagnosis("hepatitis", (0.3, 0.5, 1, 3, 4, 4, 3, 2, 1, 0.5), 1.3, 0.9, 1.0, 1.0, 6, 0.24),
    Diagnosis("HIV", (0, 0, 0.3, 3, 4, 3, 2, 1, 0, 0), 1.5, 0.7, 1.0, 1.0, 5, 0.30),
    Diagnosis("diabetes", (0.5, 2, 4, 3, 2, 3, 5, 6, 6, 5), 1.1, 1.0, 1.0, 1.0, 5, 0.28),
    Diagnosis("appendicitis", (1, 6, 10, 7, 4, 3, 2, 1, 1, 1), 1.1, 1.0, 1.0, 1.0, 3, 0.04),
    Diagnosis("gallstones", (0, 0, 0.5, 3, 5, 6, 5, 5, 4, 3), 0.7, 1.4, 1.0, 1.0, 3, 0.07),
    Diagnosis("depression", (0, 0, 5, 6, 6, 6, 5, 3, 2, 2), 0.8, 1.3, 0.8, 1.6, 17, 0.38),
    Diagnosis("alcohol dependence", (0, 0, 1, 4, 5, 6, 6, 4, 1, 0.5), 1.7, 0.6, 1.3, 1.1, 12, 0.46),
    Diagnosis("concussion", (7, 8, 9, 6, 4, 3, 2, 2, 3, 4), 1.3, 0.8, 2.0, 0.9, 2, 0.04),
    Diagnosis("burn", (8, 5, 3, 3, 3, 2, 2, 1, 1, 1), 1.2, 0.9, 2.2, 1.2, 8, 0.10),
    Diagnosis("hip fracture", (0, 0, 0.3, 0.5, 0.5, 1, 2, 5, 9, 13), 0.7, 1.3, 1.3, 1.4, 12, 0.16),
    Diagnosis("pregnancy complication", (0, 0, 0, 12, 13, 0, 0, 0, 0, 0), 0.0, 1.0, 1.0, 1.0, 4, 0.10),
)

# Names, separated by spaces.
WOMEN = (
    "Ada Aisha Amara Berta Carmen Chiara Dilek Edith Elena Fatima Freya Greta Hanna Ines Ingrid Joana "
    "Kamala Leila Lucia Mai Mei Nadia Noor Olga Paula Renata Rosa Sofia Tamar Ulla Vera Wanda Yuki Zofia"
)
MEN = (
    "Abel Ahmed Anders Bela Carlos Chidi Dario Emil Enzo Farid Goran Hugo Ibrahim Ivan Jonas Kofi Lars "
    "Luca Mateo Milan Nikos Omar Pavel Quentin Rafael Samir Stefan Tariq Tomas Umar Viktor Wei Yusuf "
    "Zoltan"
)
SURNAMES = (
    "Adeyemi Almeida Andersen Bakker Bianchi Castillo Chen Costa Demir Dubois Eriksen Farkas Fischer "
    "Garcia Haddad Horvat Ivanova Jansen Kaya Keller Kovacs Kumar Laine Lopez Mbeki Meyer Moreau Nakamura "
    "Nguyen Novak Okafor Olsen Park Petrov Quispe Ricci Rossi Sato Schmidt Silva Suzuki Tanaka Toth Usman "
    "Vargas Virtanen Weber Yilmaz Zhang Ziegler"
)
