"""Points as integers in hundredths: exact, and cheap to add up."""

from functools import lru_cache


@lru_cache(maxsize=20_000)
def text(points: int | None) -> str | None:
    """As the platform writes it: no needless zeros, so 8.5 and 0."""
    if points is None:
        return None
    sign, (whole, rest) = "-" * (points < 0), divmod(abs(points), 100)
    return f"{sign}{whole}.{rest:02d}".rstrip("0") if rest else f"{sign}{whole}"


def ratio(part: int, whole: int, scale: int) -> int:
    """part / whole in units of 1 / scale, halves rounded up; whole must be positive."""
    return (2 * part * scale + whole) // (2 * whole)


def min_ranks(points: list[int | None]) -> list[int | None]:
    """Each one's place, the greatest first: ties share the smallest place, who has no points has none."""
    place: dict[int, int] = {}
    for position, value in enumerate(sorted((p for p in points if p is not None), reverse=True), 1):
        place.setdefault(value, position)
    return [None if p is None else place[p] for p in points]
