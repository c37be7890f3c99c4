"""The site of a school: static pages from the board down to each cohort, class, course class and student."""
