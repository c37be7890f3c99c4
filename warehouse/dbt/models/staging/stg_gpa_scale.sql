-- Grain: school, lowest percentage of a step. The scale in force: a school's own as a whole, else the
--   default.
{{ steps_in_force(ref('gpa_scale'), 'lower_percent', 'upper_percent') }}
