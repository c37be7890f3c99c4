"""Rounds half up, away from zero, as the marts do (`numbers.sql`) and as people do on paper.

Python's own `round` and formats round halves to the even digit, and a float holds few halves."""

from decimal import ROUND_HALF_UP, Context, Decimal

#: Room for each digit of a double, so a quotient cut at 400 digits never looks like a half.
CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)
#: The shortest text of a double is rounded to these decimals first, as by `rounded` in SQL, so that a half
#: with wrong last bits rounds up.
DECIMALS_OF_DOUBLE = 12


def half_up(number: Decimal | float, places: int = 2) -> Decimal:
    """The finite number with so many decimals. No number becomes -0.

    >>> half_up(2.675), half_up(Decimal("-0.125"))
    (Decimal('2.68'), Decimal('-0.13'))
    """
    exact = number if isinstance(number, Decimal) else _rounded(Decimal(repr(number)), DECIMALS_OF_DOUBLE)
    return _rounded(exact, places) or _rounded(Decimal(0), places)


def percent(count: int, whole: int, places: int = 2) -> Decimal:
    """The percentage that a count is of a whole above 0, rounded once."""
    return half_up(CONTEXT.divide(Decimal(100 * count), Decimal(whole)), places)


def _rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), context=CONTEXT)
