"""Who is alone in the table of a job, by the columns that are quasi-identifiers now."""

from sfumato.adversary.uniqueness import PeopleTable, Uniqueness
from sfumato.errors import PolicyError
from sfumato.studio.job import Job

SINGLED = "singled"


def people_of(job: Job) -> PeopleTable:
    """The rows of a job's table as people, coded once as long as the table is open."""
    if job.frame is None:
        raise PolicyError("no table is open; open one first")
    known: tuple[object, PeopleTable] | None = job.extras.get(SINGLED)
    if known is None or known[0] is not job.frame:
        known = job.extras[SINGLED] = job.frame, PeopleTable(job.frame)
    return known[1]


def with_role(job: Job, role: str) -> list[str]:
    """The columns with a role, in the order of the table."""
    names = job.frame.columns if job.frame is not None else ()
    return [name for name in names if job.attributes.get(name, {}).get("role") == role]


def alone_now(job: Job) -> Uniqueness:
    """Who is unique by the present quasi-identifiers."""
    return people_of(job).unique_by(with_role(job, "quasi"))


def in_words(names: tuple[str, ...] | list[str]) -> str:
    """Names as a list in a sentence.

    >>> in_words(["age", "sex", "zip"]), in_words(["age"])
    ('age, sex and zip', 'age')
    """
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def alone_in_words(found: Uniqueness) -> str:
    """How many people are unique, as a sentence."""
    if not found.names:
        return "No column is a quasi-identifier, so there is nothing to look for people by."
    by = in_words(found.names)
    if not found.unique:
        return f"Nobody is alone: everyone shares {by} with somebody else."
    who = "1 person is" if found.unique == 1 else f"{found.unique:,} people are"
    return f"{who} alone with their {by}, of {found.rows:,} in the table."


def example(job: Job, found: Uniqueness) -> str:
    """What that means, by an example of these columns."""
    if not found.unique:
        return ""
    private = with_role(job, "sensitive")
    reads = f"reads the {in_words(private)}" if private else "reads everything else in that row"
    return (
        f"Think of a neighbour, a colleague or a public register. Anyone who knows the {in_words(found.names)} of "
        f"such a person finds exactly one row and {reads}."
    )
