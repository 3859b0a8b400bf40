"""How people label: questions and leases, answers, and requests that are sent twice."""
