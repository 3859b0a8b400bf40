"""The history of the tables, run by app.db.migrate."""
