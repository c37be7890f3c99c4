-- Grain: school, band. The bands in force: a school's own as a whole, else the default ones.
{{ steps_in_force(ref('grade_bands'), 'lower_percent', 'upper_percent', open_below=true) }}
