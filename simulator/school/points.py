"""Points as integers in hundredths, which are exact and fast to add."""

from functools import lru_cache


@lru_cache(maxsize=20_000)
def text(points: int | None) -> str | None:
    """Points in the platform's format, without trailing zeros: 8.5 and 0."""
    if points is None:
        return None
    sign, (whole, rest) = "-" * (points < 0), divmod(abs(points), 100)
    return f"{sign}{whole}.{rest:02d}".rstrip("0") if rest else f"{sign}{whole}"


def ratio(part: int, whole: int, scale: int) -> int:
    """part / whole in units of 1 / scale, halves rounded up. `whole` must be positive."""
    return (2 * part * scale + whole) // (2 * whole)


def min_ranks(points: list[int | None]) -> list[int | None]:
    """The ranks of points, greatest first. Ties share the smallest rank; None has no rank."""
    place: dict[int, int] = {}
    for position, value in enumerate(sorted((p for p in points if p is not None), reverse=True), 1):
        place.setdefault(value, position)
    return [None if p is None else place[p] for p in points]
