"""HTTP: routes, the shapes of requests and answers, and of errors. Knows services, never SQL or core."""
