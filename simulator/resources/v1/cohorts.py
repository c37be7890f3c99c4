"""The cohorts of v1, which are years; in v3 cohorts are terms."""

from simulator.store.store import Store


def cohort_year(store: Store, school_id: int, term_id: object) -> int | None:
    """The graduating year of a term of the type system.graduates_in."""
    term = store.index("terms", school_id).get(term_id) if isinstance(term_id, int) else None
    name = term.values["name"] if term else None
    return int(name) if isinstance(name, str) and name.isascii() and name.isdigit() else None


def cohort_term(store: Store, school_id: int, year: int) -> int | None:
    """The term of a graduating year, if the school has the term."""
    terms = store.rows("terms", school_id)
    return next((row.key for row in terms if cohort_year(store, school_id, row.key) == year), None)
