"""Opens the lake that the settings name, and checks that it belongs to this home or district."""
