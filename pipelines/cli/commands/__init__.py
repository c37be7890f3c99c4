"""The declarations of the commands of `campus`, one module a command. They import nothing heavy."""
