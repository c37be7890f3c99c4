"""What a file that is handed over may be: a roster, marks of lessons, or swipes."""

KINDS = ROSTERS, ATTENDANCE, SWIPES = ("rosters", "attendance", "swipes")
