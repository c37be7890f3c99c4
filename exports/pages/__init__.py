"""Pages: one template, one stylesheet and one script for boards and sites, and the tables of both."""
