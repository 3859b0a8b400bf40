"""What people read of a project, from the database and the published state, in nobody's way."""
