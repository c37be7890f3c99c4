"""The ready-made workbooks: what their sheets show, and in which words."""
