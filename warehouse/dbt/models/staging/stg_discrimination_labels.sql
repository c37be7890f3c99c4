-- Grain: school, label. The labels in force: a school's own as a whole, else the default ones.
{{ steps_in_force(ref('discrimination_labels'), 'lower_correlation', 'upper_correlation', open_below=true) }}
