-- Grain: school, lowest percentage of a step. The scale in force: a school's own scale replaces the default scale as a
--   whole.
{{ steps_in_force(ref('gpa_scale'), 'lower_percent', 'upper_percent') }}
