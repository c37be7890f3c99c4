-- Grain: school, band. The bands in force: a school's own bands replace the default bands as a whole.
{{ steps_in_force(ref('grade_bands'), 'lower_percent', 'upper_percent', open_below=true) }}
