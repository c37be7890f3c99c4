"""What is made: the assets, each joining what campus reads to what the warehouse keeps."""
