-- Grain: school, label. The labels in force: a school's own labels replace the default labels as a whole.
{{ steps_in_force(ref('discrimination_labels'), 'lower_correlation', 'upper_correlation', open_below=true) }}
