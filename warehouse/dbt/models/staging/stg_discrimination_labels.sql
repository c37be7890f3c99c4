-- Grain: school, label. The labels in force: a school's own as a whole, else the default ones.
{{ steps_in_force(ref('discrimination_labels'), 'lower_discrimination', 'upper_discrimination', open_below=true) }}
