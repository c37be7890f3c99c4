"""The kinds of files that arrive: rosters, marks of lessons, swipes."""

KINDS = ROSTERS, ATTENDANCE, SWIPES = ("rosters", "attendance", "swipes")
