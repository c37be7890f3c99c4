"""The folder where files arrive, and which of its files need a run."""
